import { Link } from '@tanstack/react-router'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { Facts } from '../../../ui/Facts.tsx'
import { Panel } from '../../../ui/Panel.tsx'
import { Time } from '../../../ui/Time.tsx'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import type { RequestDetail, Whose } from '../RequestDetailView.tsx'

/** What it was, and with which bounds it was sent. */
export function FactsPanel({ request, whose }: { request: RequestDetail; whose: Whose }) {
  const { detail: messages, noLaneEver, noLane } = useMessages().requests
  const formats = useFormats()
  const { id, model, lane, key, opened_at, closed_at, output_cap, input_estimate, state, idempotency } = request
  return (
    <Panel title={messages.facts}>
      <Facts
        facts={[
          {
            name: messages.id,
            value: (
              <span className="inline-flex max-w-full items-center gap-1">
                <code className="min-w-0 break-all">{id}</code>
                <CopyButton text={id} label={messages.copyId} />
              </span>
            ),
          },
          { name: messages.model, value: <code>{model}</code> },
          { name: messages.lane, value: lane === null ? state === 'open' ? noLane : noLaneEver : <code>{lane}</code> },
          {
            name: messages.key,
            value:
              whose === 'own' ? (
                <Link to="/keys/$key" params={{ key: key.id }} className="text-accent hover:underline">
                  {key.name}
                </Link>
              ) : (
                key.name
              ),
          },
          { name: messages.began, value: <Time at={opened_at} as="time" /> },
          ...(closed_at === null ? [] : [{ name: messages.ended, value: <Time at={closed_at} as="time" /> }]),
          { name: messages.inputEstimate, value: formats.count(input_estimate) },
          { name: messages.outputCap, value: formats.count(output_cap) },
          ...(idempotency === null
            ? []
            : [{ name: messages.idempotency, value: messages.repeated[idempotency.state](formats.time(idempotency.until)) }]),
        ]}
      />
    </Panel>
  )
}
