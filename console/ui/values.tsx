import { now as clock, useNow } from '../lib/clock.ts'
import { cx } from '../lib/cx.ts'
import { isZero, shareOf, sumMoney } from '../lib/money.ts'
import { useFormats, useMessages } from '../messages/MessagesProvider.tsx'

interface MoneyProps {
  /** A decimal string of the API. */
  readonly amount: string
  /** `moves`: incoming amounts are green with a plus. `held`: a reserved amount. */
  readonly as?: 'plain' | 'moves' | 'held'
  /** `exact` where lines add up; `column`: four decimals, which line up. */
  readonly digits?: 'short' | 'column' | 'exact'
}

/** A short amount with its exact value on hover and for screen readers. */
export function Money({ amount, as = 'plain', digits = 'short' }: MoneyProps) {
  const formats = useFormats()
  const { common } = useMessages()
  const exact = formats.exactMoney(amount)
  const isOut = amount.startsWith('-')
  const isNothing = isZero(amount)
  const isIn = as === 'moves' && !isOut && !isNothing
  const shown = `${isIn ? '+' : ''}${digits === 'exact' ? exact : digits === 'column' ? formats.columnMoney(amount) : formats.money(amount)}`
  const valueText = isOut ? `${common.minus} ${formats.exactMoney(amount.slice(1))}` : exact
  return (
    <span
      title={exact}
      className={cx(
        'figures whitespace-nowrap',
        isIn && 'text-good',
        isOut && 'text-bad',
        as === 'held' && !isNothing && 'text-held',
      )}
    >
      <span aria-hidden="true">{shown}</span>
      <span className="sr-only">{valueText}</span>
    </span>
  )
}

interface MoneyTextProps {
  /** A message that contains the amounts. */
  readonly message: (...amounts: string[]) => string
  /** Decimal strings of the API. */
  readonly amounts: readonly string[]
  readonly className?: string
}

export function MoneyText({ message, amounts, className }: MoneyTextProps) {
  const formats = useFormats()
  return (
    <span title={message(...amounts.map(formats.exactMoney))} className={className}>
      {message(...amounts.map(formats.money))}
    </span>
  )
}

interface TimeProps {
  /** ISO 8601. */
  readonly at: string
  readonly as?: 'relative' | 'time' | 'day' | 'clock' | 'precise'
}

/** Younger times update every few seconds. */
const YOUNG_MS = 90_000

/** A time with its exact value on hover, local and in UTC. */
export function Time({ at, as = 'relative' }: TimeProps) {
  const formats = useFormats()
  const now = useNow(clock() - Date.parse(at) < YOUNG_MS ? 5_000 : 30_000)
  const shown = as === 'relative' ? formats.relative(at, now) : formats[as](at)
  return (
    <time dateTime={at} title={`${formats.exactTime(at)}\n${formats.utc(at)}`} className="figures whitespace-nowrap">
      {shown}
    </time>
  )
}

interface TimeTextProps {
  /** A message that contains the time. */
  readonly message: (at: string) => string
  /** ISO 8601. */
  readonly at: string
  readonly as?: 'time' | 'day' | 'relative'
}

export function TimeText({ message, at, as = 'time' }: TimeTextProps) {
  const formats = useFormats()
  const now = useNow()
  return (
    <time dateTime={at} title={`${formats.exactTime(at)}\n${formats.utc(at)}`}>
      {message(as === 'relative' ? formats.relative(at, now) : formats[as](at))}
    </time>
  )
}

/** A short count with its exact value on hover and for screen readers. */
export function Tokens({ count }: { count: number }) {
  const formats = useFormats()
  return (
    <span title={formats.count(count)} className="figures whitespace-nowrap">
      <span aria-hidden="true">{formats.short(count)}</span>
      <span className="sr-only">{formats.count(count)}</span>
    </span>
  )
}

interface MeterProps {
  readonly label: string
  readonly used: string
  readonly held?: string
  readonly limit: string
  readonly left: string
  /** What it counts. */
  readonly as?: 'money' | 'count'
}

const NEARLY = 0.9

export function Meter({ label, used, held = '0.00', limit, left, as = 'money' }: MeterProps) {
  const formats = useFormats()
  const { common } = useMessages()
  const usedShare = shareOf(used, limit)
  const takenShare = shareOf(sumMoney(used, held), limit)
  const [usedText, heldText, limitText, leftText] = [used, held, limit, left].map((amount) =>
    as === 'money' ? formats.money(amount) : formats.count(Number(amount)),
  )
  const valueText = isZero(held)
    ? common.meter(usedText ?? '', limitText ?? '', leftText ?? '')
    : common.meterHeld(usedText ?? '', heldText ?? '', limitText ?? '', leftText ?? '')
  return (
    // biome-ignore lint/a11y/useSemanticElements: a native meter cannot show what is held beside what is used.
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(takenShare * 100)}
      aria-valuetext={valueText}
      className="flex h-2.5 overflow-hidden rounded-full bg-sunken ring-1 ring-line ring-inset"
    >
      <div className={takenShare >= NEARLY ? 'bg-bad' : 'bg-accent'} style={{ inlineSize: `${usedShare * 100}%` }} />
      <div className="bg-held opacity-75" style={{ inlineSize: `${(takenShare - usedShare) * 100}%` }} />
    </div>
  )
}

interface Input {
  readonly uncached_input: number
  readonly cached_input: number
  readonly cache_write: number
}

/** The input classes do not overlap. */
export const inputTokens = ({ uncached_input, cached_input, cache_write }: Input): number =>
  uncached_input + cached_input + cache_write
