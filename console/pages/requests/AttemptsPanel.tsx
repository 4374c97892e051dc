import { cx } from '../../lib/cx.ts'
import { messageFor, useFormats, useMessages } from '../../messages/MessagesProvider.tsx'
import type { RequestDetail } from '../../queries/requests.ts'
import { Panel } from '../../ui/layout.tsx'
import { Time } from '../../ui/values.tsx'

export function AttemptsPanel({ request }: { request: RequestDetail }) {
  const { attempts: messages } = useMessages().receipt
  const { attempts, opened_at, closed_at, first_byte_ms, total_ms, state } = request
  const whole = laterOf(attempts, total_ms)
  return (
    <Panel title={messages.title} about={messages.about}>
      <ol className="grid gap-2.5">
        <Moment label={messages.opened} at={opened_at} />
        {attempts.length === 0 && (
          <li className="ps-6 text-soft">{state === 'open' ? messages.none : messages.noneEver}</li>
        )}
        {placeAttempts(attempts, whole).map((placed) => (
          <Attempt key={placed.number} placed={placed} firstByteAt={shareOfTime(first_byte_ms, whole)} />
        ))}
        {closed_at === null ? (
          <li className="grid grid-cols-[1rem_minmax(0,1fr)] gap-x-2">
            <span aria-hidden="true" className={cx(DOT, 'breathe bg-accent')} />
            <span className="text-accent">{messages.waiting}</span>
          </li>
        ) : (
          <Moment label={messages.closed} at={closed_at} />
        )}
      </ol>
    </Panel>
  )
}

const shareOfTime = (ms: number | null, whole: number): number | undefined =>
  ms === null || whole === 0 ? undefined : Math.min(1, ms / whole)

type Tone = 'well' | 'stopped' | 'failed'

/** Ended from outside, so the lane is not to blame. */
const STOPPED = new Set(['stopped', 'client-gone', 'draining', 'ledger-gone', 'cancelled'])

const toneOf = (outcome: string): Tone =>
  outcome === 'finished' ? 'well' : STOPPED.has(outcome) ? 'stopped' : 'failed'

const DOTS: Readonly<Record<Tone, string>> = { well: 'bg-good', stopped: 'bg-held', failed: 'bg-bad' }
const TEXTS: Readonly<Record<Tone, string>> = { well: 'text-good', stopped: 'text-held', failed: 'text-bad' }
const BARS: Readonly<Record<Tone, string>> = {
  well: 'bg-accent',
  stopped: 'bg-held opacity-75',
  failed: 'bg-bad opacity-60',
}

const DOT = 'mt-1.5 size-2.5 rounded-full justify-self-center'

const Moment = ({ label, at }: { label: string; at: string }) => (
  <li className="grid grid-cols-[1rem_minmax(0,1fr)] gap-x-2">
    <span aria-hidden="true" className={cx(DOT, 'border-2 border-edge')} />
    <span className="flex flex-wrap justify-between gap-x-4">
      <span className="font-medium">{label}</span>
      <span className="text-sm text-soft">
        <Time at={at} as="precise" />
      </span>
    </span>
  </li>
)

function Attempt({ placed, firstByteAt }: { placed: PlacedAttempt; firstByteAt: number | undefined }) {
  const { attempts: messages } = useMessages().receipt
  const formats = useFormats()
  const { attempt, begins, share, isLast } = placed
  const tone = toneOf(attempt.outcome)
  const notes = [
    ...(attempt.status === null ? [] : [messages.status(String(attempt.status))]),
    formats.duration(attempt.ms),
  ]
  return (
    <li className="grid grid-cols-[1rem_minmax(0,1fr)] gap-x-2">
      <span aria-hidden="true" className={cx(DOT, DOTS[tone])} />
      <div className="grid gap-1">
        <div className="flex flex-wrap items-baseline justify-between gap-x-4">
          <span className="min-w-0 break-all">
            <code>{attempt.lane}</code>
          </span>
          <span className="text-sm">
            <span className={cx('font-medium', TEXTS[tone])}>{messageFor(messages.outcomes, attempt.outcome)}</span>
            <span className="figures text-faint"> · {notes.join(' · ')}</span>
          </span>
        </div>
        <div aria-hidden="true" className="relative h-2 rounded-full bg-sunken">
          <div
            className={cx('absolute inset-y-0 min-w-1 rounded-full', BARS[tone])}
            style={{ insetInlineStart: `${begins * 100}%`, inlineSize: `${share * 100}%` }}
          />
          {isLast && firstByteAt !== undefined && (
            <div
              title={messages.firstByte}
              className="absolute -inset-y-1 w-0.5 bg-ink"
              style={{ insetInlineStart: `${firstByteAt * 100}%` }}
            />
          )}
        </div>
      </div>
    </li>
  )
}

type LaneAttempt = RequestDetail['attempts'][number]

interface PlacedAttempt {
  readonly number: number
  readonly attempt: LaneAttempt
  /** The start and length of its bar as shares of the total time. */
  readonly begins: number
  readonly share: number
  readonly isLast: boolean
}

/** The attempts can add up to more than the total because of rounding. */
export const laterOf = (attempts: readonly LaneAttempt[], totalMs: number | null): number =>
  Math.max(
    totalMs ?? 0,
    attempts.reduce((sum, { ms }) => sum + ms, 0),
  )

/** Lanes are tried one after another. */
export function placeAttempts(attempts: readonly LaneAttempt[], wholeMs: number): PlacedAttempt[] {
  let before = 0
  return attempts.map((attempt, index) => {
    const begins = wholeMs === 0 ? 0 : before / wholeMs
    before += attempt.ms
    const share = wholeMs === 0 ? 1 : attempt.ms / wholeMs
    return { number: index + 1, attempt, begins, share, isLast: index === attempts.length - 1 }
  })
}
