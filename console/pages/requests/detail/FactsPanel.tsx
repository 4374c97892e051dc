import { Link } from '@tanstack/react-router'
import { CopyButton } from '../../../ui/CopyButton.tsx'
import { Facts } from '../../../ui/Facts.tsx'
import { Panel } from '../../../ui/Panel.tsx'
import { Time } from '../../../ui/Time.tsx'
import { useFormats, useWords } from '../../../words/WordsProvider.tsx'
import type { RequestDetail, Whose } from '../RequestDetailView.tsx'

/** What it was, and with which bounds it was sent. */
export function FactsPanel({ request, whose }: { request: RequestDetail; whose: Whose }) {
  const { detail: words, noLaneEver, noLane } = useWords().requests
  const formats = useFormats()
  const { id, model, lane, key, opened_at, closed_at, output_cap, input_estimate, state, idempotency } = request
  return (
    <Panel title={words.facts}>
      <Facts
        facts={[
          {
            name: words.id,
            value: (
              <span className="inline-flex max-w-full items-center gap-1">
                <code className="min-w-0 break-all">{id}</code>
                <CopyButton text={id} label={words.copyId} />
              </span>
            ),
          },
          { name: words.model, value: <code>{model}</code> },
          { name: words.lane, value: lane === null ? state === 'open' ? noLane : noLaneEver : <code>{lane}</code> },
          {
            name: words.key,
            value:
              whose === 'own' ? (
                <Link to="/keys/$key" params={{ key: key.id }} className="text-accent hover:underline">
                  {key.name}
                </Link>
              ) : (
                key.name
              ),
          },
          { name: words.began, value: <Time at={opened_at} as="time" /> },
          ...(closed_at === null ? [] : [{ name: words.ended, value: <Time at={closed_at} as="time" /> }]),
          { name: words.inputEstimate, value: formats.count(input_estimate) },
          { name: words.outputCap, value: formats.count(output_cap) },
          ...(idempotency === null
            ? []
            : [{ name: words.idempotency, value: words.repeated[idempotency.state](formats.time(idempotency.until)) }]),
        ]}
      />
    </Panel>
  )
}
