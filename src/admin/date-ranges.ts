import { beginOfDay, openTimeZone, type TimeZone } from '../lib/time-zone.ts'
import { done, type Outcome, refused } from './outcome.ts'

/** Days (`2026-11-22`) in a zone of the IANA list: from the first moment of `from` until before `to`. */
interface DaysInZone {
  readonly from: string
  readonly to: string
  readonly zone: string
}

/** The same as instants; `firstDay` and `endDay` are the midnights of the two days in UTC. */
export interface DayRange {
  readonly zone: TimeZone
  readonly from: number
  readonly to: number
  readonly firstDay: number
  readonly endDay: number
}

export function readDayRange({ from, to, zone: name }: DaysInZone): Outcome<DayRange> {
  const zone = openTimeZone(name)
  if (zone === undefined) return noSuchZone(name)
  const [firstDay, endDay] = [midnightOf(from), midnightOf(to)]
  if (firstDay === undefined) return noSuchDay(from, 'from')
  if (endDay === undefined) return noSuchDay(to, 'to')
  const range = { from: beginOfDay(zone, firstDay), to: beginOfDay(zone, endDay) }
  if (range.from < range.to) return done({ zone, firstDay, endDay, ...range })
  return refused(
    'invalid_range',
    `Nothing lies from ${from} until before ${to}: \`to\` is the first day behind the range.`,
    { param: 'to' },
  )
}

/** One of its two ends, where the other may be open. */
export function readDay(
  { day: text, zone: name }: { readonly day: string; readonly zone: string },
  param: 'from' | 'to',
): Outcome<number> {
  const zone = openTimeZone(name)
  if (zone === undefined) return noSuchZone(name)
  const day = midnightOf(text)
  return day === undefined ? noSuchDay(text, param) : done(beginOfDay(zone, day))
}

/** In UTC; undefined for what is no day of the calendar, or one before there were books or long after. */
function midnightOf(day: string): number | undefined {
  if (!/^(19[7-9]\d|2\d{3})-\d\d-\d\d$/.test(day)) return undefined
  const at = Date.parse(`${day}T00:00:00Z`)
  // The 31st of February would be taken for the 3rd of March.
  return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== day ? undefined : at
}

export const noSuchZone = (name: string) =>
  refused('invalid_range', `${JSON.stringify(name)} is no time zone. Name one as in "Europe/Berlin", or "UTC".`, {
    param: 'zone',
  })

const noSuchDay = (text: string, param: 'from' | 'to') =>
  refused(
    'invalid_range',
    `${JSON.stringify(text)} is no day from 1970 to 2999. Days are spelled as in "2026-11-22".`,
    { param },
  )

/** Days as they are asked for, either of them left open; in UTC when no zone is named. */
interface AskedDays {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly zone?: string | undefined
}

/** Milliseconds of UTC: from, until just before. Undefined: no bound. */
export interface OpenRange {
  readonly from: number | undefined
  readonly before: number | undefined
}

export function readOpenRange({ from, to, zone = 'UTC' }: AskedDays): Outcome<OpenRange> {
  const first = from === undefined ? undefined : readDay({ day: from, zone }, 'from')
  const end = to === undefined ? undefined : readDay({ day: to, zone }, 'to')
  if (first?.kind === 'refused') return first
  if (end?.kind === 'refused') return end
  const range = { from: first?.value, before: end?.value }
  if (range.from !== undefined && range.before !== undefined && range.from > range.before) {
    return refused('invalid_range', `The range ends on ${to}, before it begins on ${from}.`, { param: 'to' })
  }
  return done(range)
}

export type RangeInterval = 'hour' | 'day' | 'month'

const DAY_MS = 86_400_000
export const HOUR_MS = 3_600_000

/**
 * Where the steps of a range begin, by the clocks and calendars of its zone: days of 23 and 25 hours are one step each,
 * and a day that the zone skipped is none. Undefined when there are more than `max`.
 */
export function beginningsOf(range: DayRange, step: RangeInterval, max: number): number[] | undefined {
  const beginnings: number[] = []
  for (const at of walk(range, step)) {
    if (beginnings.length === max) return undefined
    beginnings.push(at)
  }
  return beginnings
}

function walk(range: DayRange, step: RangeInterval): Generator<number> {
  switch (step) {
    case 'hour':
      return hoursOf(range)
    case 'day':
      return daysOf(range, nextDay)
    case 'month':
      return daysOf(range, nextMonth)
  }
}

/** The first month may begin in its middle. */
function* daysOf({ zone, from, firstDay, endDay }: DayRange, next: (day: number) => number): Generator<number> {
  let last = from
  yield from
  for (let day = next(firstDay); day < endDay; day = next(day)) {
    const at = beginOfDay(zone, day)
    if (at > last) yield at
    last = at
  }
}

const nextDay = (day: number): number => day + DAY_MS

const nextMonth = (day: number): number => {
  const date = new Date(day)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}

function* hoursOf({ zone, from, to }: DayRange): Generator<number> {
  for (let at = from; at < to; at = nextHour(zone, at)) yield at
}

/** When the clocks of the zone show the next full hour, if nobody turns them until then. */
const nextHour = (zone: TimeZone, at: number): number => hourAt(zone, at) + HOUR_MS

/** When the hour began that its clocks show. */
export const hourAt = (zone: TimeZone, at: number): number => {
  const offset = zone.offsetMs(at)
  return Math.floor((at + offset) / HOUR_MS) * HOUR_MS - offset
}
