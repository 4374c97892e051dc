import { Link } from '@tanstack/react-router'
import { Info } from 'lucide-react'
import type { ReactNode } from 'react'
import { isZero } from '../../lib/money.ts'
import { dayIn } from '../../lib/time-zones.ts'
import { useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import type { RequestDetail } from '../../queries/requests.ts'
import { useMay } from '../../queries/session.ts'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { Badge, Facts, Panel, StatRow, StatTile } from '../../ui/layout.tsx'
import { inputTokens, Money, MoneyText, Time, Tokens } from '../../ui/values.tsx'
import { AttemptsPanel } from './AttemptsPanel.tsx'
import { ChargePanel } from './ChargePanel.tsx'
import { RunningFor, useOutcome } from './RequestTable.tsx'

/** A request of another account must not link to its key or wallet. */
type Whose = 'own' | 'of-another'

export function RequestDetailView({ request, whose = 'own' }: { request: RequestDetail; whose?: Whose }) {
  return (
    <div className="grid gap-5">
      <RequestSummary request={request} />
      <RequestNotes request={request} />
      <AttemptsPanel request={request} />
      <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <div className="grid gap-5">
          <ChargePanel request={request} />
          <TokensPanel request={request} />
        </div>
        <div className="grid gap-5">
          <PayerPanel request={request} whose={whose} />
          <FactsPanel request={request} whose={whose} />
        </div>
      </div>
    </div>
  )
}

/** A sentence: what happened, how long it took and what it cost. */
export function useTitle(): (request: RequestDetail) => string {
  const { titles } = useMessages().requests
  const formats = useFormats()
  return ({ model, state, outcome, charge, total_ms }) => {
    if (state === 'open') return titles.running(model)
    if (outcome !== 'completed' && state === 'released') return titles.free(model)
    const write = outcome === 'completed' ? titles.completed : titles.partial
    return write(model, formats.duration(total_ms ?? 0), formats.money(charge ?? '0.00'))
  }
}

function RequestSummary({ request }: { request: RequestDetail }) {
  const { label, tone, text } = useOutcome()(request)
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1.5" aria-live="polite">
        <Badge tone={tone}>{label}</Badge>
        <p className="min-w-56 flex-1 text-soft">{text}</p>
      </div>
      <StatRow>
        <ChargeTile request={request} />
        <TokensTile request={request} />
        <FirstByteTile request={request} />
        <TotalTile request={request} />
      </StatRow>
    </div>
  )
}

function ChargeTile({ request: { state, kind, charge, hold } }: { request: RequestDetail }) {
  const { requests } = useMessages()
  return state === 'open' ? (
    <StatTile label={requests.detail.chargeSoFar} value={<Money amount={hold} as="held" />} />
  ) : (
    <StatTile
      label={requests.detail.charge[kind]}
      value={<Money amount={charge ?? '0.00'} />}
      note={<MoneyText message={requests.detail.ofHold} amounts={[hold]} />}
    />
  )
}

function TokensTile({ request: { tokens } }: { request: RequestDetail }) {
  const { requests } = useMessages()
  const formats = useFormats()
  if (tokens === null) return <StatTile label={requests.detail.tokens} value={NOTHING} />
  const input = inputTokens(tokens)
  return (
    <StatTile
      label={requests.detail.tokens}
      value={<Tokens count={input + tokens.output} />}
      note={requests.inOut(formats.short(input), formats.short(tokens.output))}
    />
  )
}

function FirstByteTile({ request: { first_byte_ms } }: { request: RequestDetail }) {
  const { requests } = useMessages()
  const formats = useFormats()
  const value = first_byte_ms === null ? NOTHING : formats.duration(first_byte_ms)
  return <StatTile label={requests.detail.firstByte} value={value} />
}

function TotalTile({ request }: { request: RequestDetail }) {
  const { requests } = useMessages()
  return request.total_ms === null ? (
    <RunningTile since={request.opened_at} label={requests.detail.total} note={requests.detail.since} />
  ) : (
    <EndedTile request={request} ms={request.total_ms} label={requests.detail.total} />
  )
}

function EndedTile({ request, ms, label }: { request: RequestDetail; ms: number; label: string }) {
  const { requests } = useMessages()
  const formats = useFormats()
  const writing = ms - (request.first_byte_ms ?? ms)
  const output = request.tokens?.output ?? 0
  // A speed makes no sense for a few tokens within milliseconds.
  const speed = writing >= 200 && output > 0 ? Math.round(output / (writing / 1_000)) : undefined
  return (
    <StatTile
      label={label}
      value={formats.duration(ms)}
      note={speed === undefined ? undefined : requests.detail.perSecond(formats.count(speed))}
    />
  )
}

const RunningTile = ({ since, label, note }: { since: string; label: string; note: string }) => (
  <StatTile label={label} value={<RunningFor since={since} />} note={note} />
)

const NOTHING = '–'

function RequestNotes({ request }: { request: RequestDetail }) {
  const { receipt } = useMessages()
  const notes = useNotes(request)
  if (notes.length === 0) return null
  return (
    <section aria-label={receipt.notes.title} className="rounded-xl bg-held-wash px-4 py-3 text-held">
      <ul className="grid gap-1.5">
        {notes.map(({ id, note }) => (
          <li key={id} className="flex gap-2.5">
            <Info aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
            <span className="min-w-0">{note}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

interface Note {
  readonly id: string
  readonly note: ReactNode
}

function useNotes({ cache_lost, compaction, shortfall, tags }: RequestDetail): Note[] {
  const { notes } = useMessages().receipt
  const formats = useFormats()
  const found: Note[] = []
  const asked = tags?.['stepped-down']
  if (asked !== undefined) found.push({ id: 'stepped-down', note: notes.steppedDown(asked) })
  if (cache_lost !== null) {
    const message = (cost: string) => notes.cacheLost(formats.count(cache_lost.tokens), cost)
    found.push({ id: 'cache', note: <MoneyText message={message} amounts={[cache_lost.cost]} /> })
  }
  if (compaction !== null) {
    const [before, after] = [formats.count(compaction.tokens_before), formats.count(compaction.tokens_after)]
    found.push({ id: 'compaction', note: notes.compaction(before, after) })
  }
  if (shortfall !== null && !isZero(shortfall)) {
    found.push({ id: 'shortfall', note: <MoneyText message={notes.shortfall} amounts={[shortfall]} /> })
  }
  return found
}

function FactsPanel({ request, whose }: { request: RequestDetail; whose: Whose }) {
  const { detail: messages, noLaneEver, noLane } = useMessages().requests
  const formats = useFormats()
  const { id, model, lane, key, opened_at, closed_at, output_cap, input_estimate, state, tags, idempotency } = request
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
          ...(tags === null ? [] : [{ name: messages.tags, value: <Tags tags={tags} whose={whose} /> }]),
          ...(idempotency === null
            ? []
            : [
                {
                  name: messages.idempotency,
                  value: messages.repeated[idempotency.state](formats.time(idempotency.until)),
                },
              ]),
        ]}
      />
    </Panel>
  )
}

/** Each leads to the requests that have it too, a run to its page. */
function Tags({ tags, whose }: { tags: Readonly<Record<string, string>>; whose: Whose }) {
  return (
    <ul className="flex flex-wrap justify-end gap-1">
      {Object.entries(tags).map(([name, value]) => (
        <li key={name} className="max-w-full rounded-md bg-sunken px-1.5 text-xs">
          {whose === 'own' && name === 'run' ? (
            <Link
              to="/runs/$run"
              params={{ run: value }}
              className="break-all text-accent hover:underline"
            >{`${name}=${value}`}</Link>
          ) : whose === 'own' ? (
            <Link
              to="/requests"
              search={{ tag: `${name}:${value}` }}
              className="break-all text-accent hover:underline"
            >{`${name}=${value}`}</Link>
          ) : (
            <span className="break-all">{`${name}=${value}`}</span>
          )}
        </li>
      ))}
    </ul>
  )
}

type Period = RequestDetail['paid_by']['windows'][number] | RequestDetail['paid_by']['caps'][number]

function PayerPanel({ request, whose }: { request: RequestDetail; whose: Whose }) {
  const { paid: messages } = useMessages().receipt
  const { paid_by, movement, state } = request
  const isWallet = paid_by.kind === 'wallet'
  const seesAccount = useMay()('viewer')
  const payer = isWallet ? messages.wallet : paid_by.plan === null ? messages.planEnded : messages.plan(paid_by.plan)
  return (
    <Panel title={messages.title}>
      <div className="grid gap-3">
        <p className="font-medium">
          {whose === 'own' && seesAccount ? (
            <Link to={isWallet ? '/wallet' : '/plan'} className="text-accent hover:underline">
              {payer}
            </Link>
          ) : (
            payer
          )}
        </p>
        {isWallet && (whose !== 'own' || seesAccount) && (
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

/** Links to the charges of the day on which the request ended. */
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
  const { receipt } = useMessages()
  const { paid: messages } = receipt
  const formats = useFormats()
  const names: Readonly<Record<string, string>> = receipt.capNames
  const labelOf = ({ name, ...period }: Period) =>
    'holder' in period ? messages.cap(names[name] ?? name, messages.holders[period.holder]) : formats.window(name)
  if (periods.length === 0) return null
  return (
    <div className="grid gap-0.5 text-sm">
      <p className="text-faint">{title}</p>
      <ul className="grid gap-0.5">
        {periods.map((period) => {
          const { name, start, end } = period
          return (
            <li
              key={`${name}-${'holder' in period ? period.holder : ''}-${start}`}
              title={start === null || end === null ? undefined : `${formats.utc(start)} – ${formats.utc(end)}`}
            >
              {start === null || end === null
                ? labelOf(period)
                : messages.period(labelOf(period), formats.time(start), formats.time(end))}
            </li>
          )
        })}
      </ul>
    </div>
  )
}

const CLASSES = ['uncached_input', 'cached_input', 'cache_write', 'output'] as const

/** The token classes do not overlap, so they add up. */
function TokensPanel({ request: { tokens, state } }: { request: RequestDetail }) {
  const { receipt, requests } = useMessages()
  const { tokens: messages } = receipt
  const formats = useFormats()
  if (tokens === null) {
    return (
      <Panel title={messages.title}>
        <p className="text-soft">{state === 'open' ? messages.none : messages.noneEver}</p>
      </Panel>
    )
  }
  return (
    <Panel title={messages.title} {...(tokens.estimated && { about: requests.estimated })}>
      <table className="w-full text-sm">
        <caption className="sr-only">{messages.title}</caption>
        <thead className="sr-only">
          <tr>
            <th scope="col">{messages.kind}</th>
            <th scope="col">{messages.count}</th>
          </tr>
        </thead>
        <tbody>
          {CLASSES.map((name) => (
            <Row key={name} name={messages[name]} count={formats.count(tokens[name])} />
          ))}
          <Row name={messages.reasoning} count={formats.count(tokens.reasoning)} inside />
        </tbody>
        <tfoot>
          <tr className="border-t border-line font-medium">
            <th scope="row" className="pt-1.5 text-start font-medium">
              {messages.total}
            </th>
            <td className="figures pt-1.5 text-end">{formats.count(inputTokens(tokens) + tokens.output)}</td>
          </tr>
        </tfoot>
      </table>
    </Panel>
  )
}

const Row = ({ name, count, inside = false }: { name: string; count: string; inside?: boolean }) => (
  <tr className={inside ? 'text-faint' : undefined}>
    <th scope="row" className={inside ? 'py-1 ps-4 text-start font-normal' : 'py-1 text-start font-normal'}>
      {name}
    </th>
    <td className="figures py-1 text-end">{count}</td>
  </tr>
)
