import { Link } from '@tanstack/react-router'
import { dayIn } from '../../../lib/zone-days.ts'
import { Panel } from '../../../ui/Panel.tsx'
import { useFormats, useWords } from '../../../words/WordsProvider.tsx'
import type { RequestDetail, Whose } from '../RequestDetailView.tsx'

type Period = RequestDetail['paid_by']['windows'][number]

/** Whose money it was, and in which windows and caps it counts. */
export function PayerPanel({ request, whose }: { request: RequestDetail; whose: Whose }) {
  const { paid: words } = useWords().receipt
  const { paid_by, movement, state } = request
  const isWallet = paid_by.kind === 'wallet'
  const payer = isWallet ? words.wallet : paid_by.plan === null ? words.planEnded : words.plan(paid_by.plan)
  return (
    <Panel title={words.title}>
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
                words.noMovement
              ) : (
                words.notMoved
              )
            ) : (
              <StatementLine request={request} movement={movement} whose={whose} />
            )}
          </p>
        )}
        <Periods title={words.windows} periods={paid_by.windows} />
        <Periods title={words.caps} periods={paid_by.caps} />
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
  const { paid: words } = useWords().receipt
  const { zone } = useFormats()
  const text = words.movement(String(movement))
  if (whose !== 'own' || request.closed_at === null) return text
  const day = dayIn(zone, Date.parse(request.closed_at))
  return (
    <Link to="/wallet" search={{ kind: 'charge', from: day, to: day }} className="text-accent hover:underline">
      {text}
    </Link>
  )
}

function Periods({ title, periods }: { title: string; periods: readonly Period[] }) {
  const { paid: words } = useWords().receipt
  const formats = useFormats()
  if (periods.length === 0) return null
  return (
    <div className="grid gap-0.5 text-sm">
      <p className="text-faint">{title}</p>
      <ul className="grid gap-0.5">
        {periods.map(({ name, start, end }) => (
          <li key={`${name}-${start}`} title={`${formats.utc(start)} – ${formats.utc(end)}`}>
            {words.period(formats.window(name), formats.time(start), formats.time(end))}
          </li>
        ))}
      </ul>
    </div>
  )
}
