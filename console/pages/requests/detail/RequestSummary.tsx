import { Info } from 'lucide-react'
import type { ReactNode } from 'react'
import { inputTokens } from '../../../lib/input-of.ts'
import { isZero } from '../../../lib/money.ts'
import { Badge } from '../../../ui/Badge.tsx'
import { Money, MoneyText } from '../../../ui/Money.tsx'
import { StatTile } from '../../../ui/StatTile.tsx'
import { Tokens } from '../../../ui/Tokens.tsx'
import { useFormats, useMessages } from '../../../messages/MessagesProvider.tsx'
import type { RequestDetail } from '../RequestDetailView.tsx'
import { RunningFor, useOutcome } from '../request-facts.tsx'

/** How it ended, what that means, and the four numbers that are asked for first. */
export function RequestSummary({ request }: { request: RequestDetail }) {
  const { label, tone, text } = useOutcome()(request)
  return (
    <div className="grid gap-4">
      <div className="flex flex-wrap items-baseline gap-x-3 gap-y-1.5" aria-live="polite">
        <Badge tone={tone}>{label}</Badge>
        <p className="min-w-56 flex-1 text-soft">{text}</p>
      </div>
      <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
        <ChargeTile request={request} />
        <TokensTile request={request} />
        <FirstByteTile request={request} />
        <TotalTile request={request} />
      </div>
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
      note={<MoneyText say={requests.detail.ofHold} amounts={[hold]} />}
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
  // Of a few tokens within a few milliseconds it says nothing.
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

/** What is out of the ordinary about it, in sentences. */
export function RequestNotes({ request }: { request: RequestDetail }) {
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

function useNotes({ cache_lost, compaction, shortfall }: RequestDetail): Note[] {
  const { notes } = useMessages().receipt
  const formats = useFormats()
  const found: Note[] = []
  if (cache_lost !== null) {
    const say = (cost: string) => notes.cacheLost(formats.count(cache_lost.tokens), cost)
    found.push({ id: 'cache', note: <MoneyText say={say} amounts={[cache_lost.cost]} /> })
  }
  if (compaction !== null) {
    const [before, after] = [formats.count(compaction.tokens_before), formats.count(compaction.tokens_after)]
    found.push({ id: 'compaction', note: notes.compaction(before, after) })
  }
  if (shortfall !== null && !isZero(shortfall)) {
    found.push({ id: 'shortfall', note: <MoneyText say={notes.shortfall} amounts={[shortfall]} /> })
  }
  return found
}
