import { Link } from '@tanstack/react-router'
import { dayIn } from '../../../lib/zone-days.ts'
import { Panel } from '../../../ui/Panel.tsx'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import type { RequestDetail, Whose } from '../RequestDetailView.tsx'

type Period = RequestDetail['paid_by']['windows'][number]

/** Whose money it was, and in which windows and caps it counts. */
export function PayerPanel({ request, whose }: { request: RequestDetail; whose: Whose }) {
  const { paid: messages } = useMessages().receipt
  const { paid_by, movement, state } = request
  const isWallet = paid_by.kind === 'wallet'
  const payer = isWallet ? messages.wallet : paid_by.plan === null ? messages.planEnded : messages.plan(paid_by.plan)
  return (
    <Panel title={messages.title}>
      <div className="grid gap-3">
        <p className="font-medium">
          {whose === 'own' ? (
            <Link to={isWallet ? '/wallet' : '/plan'} className="text-accent hover:underline">
              {payer}
            </Link>
          ) : (
            payer
          )}
        </p>
        {isWallet && (
          <p className="text-sm text-soft">
            {movement === null ? (
              state === 'open' ? (
                messages.noMovement
              ) : (
                messages.notMoved
              )
            ) : (
              <StatementLine request={request} movement={movement} whose={whose} />
            )}
          </p>
        )}
        <Periods title={messages.windows} periods={paid_by.windows} />
        <Periods title={messages.caps} periods={paid_by.caps} />
        {whose === 'own' && paid_by.caps.length > 0 && (
          <Link to="/keys/$key" params={{ key: request.key.id }} className="text-sm text-accent hover:underline">
            {request.key.name}
          </Link>
        )}
      </div>
    </Panel>
  )
}

/** Where it stands in the statement: among the charges of the day on which it ended. */
function StatementLine({ request, movement, whose }: { request: RequestDetail; movement: number; whose: Whose }) {
  const { paid: messages } = useMessages().receipt
  const { zone } = useFormats()
  const text = messages.movement(String(movement))
  if (whose !== 'own' || request.closed_at === null) return text
  const day = dayIn(zone, Date.parse(request.closed_at))
  return (
    <Link to="/wallet" search={{ kind: 'charge', from: day, to: day }} className="text-accent hover:underline">
      {text}
    </Link>
  )
}

function Periods({ title, periods }: { title: string; periods: readonly Period[] }) {
  const { paid: messages } = useMessages().receipt
  const formats = useFormats()
  if (periods.length === 0) return null
  return (
    <div className="grid gap-0.5 text-sm">
      <p className="text-faint">{title}</p>
      <ul className="grid gap-0.5">
        {periods.map(({ name, start, end }) => (
          <li key={`${name}-${start}`} title={`${formats.utc(start)} – ${formats.utc(end)}`}>
            {messages.period(formats.window(name), formats.time(start), formats.time(end))}
          </li>
        ))}
      </ul>
    </div>
  )
}
