import { beginOfDay, openTimeZone, type TimeZone } from '../lib/time-zone.ts'
import { done, type Outcome, refuseOperation } from './outcome.ts'

/** Days (`2026-11-22`) in an IANA zone: from the first moment of `from` until before `to`. */
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
  if (zone === undefined) return unknownZone(name)
  const [firstDay, endDay] = [midnightOf(from), midnightOf(to)]
  if (firstDay === undefined) return unknownDay(from, 'from')
  if (endDay === undefined) return unknownDay(to, 'to')
  const range = { from: beginOfDay(zone, firstDay), to: beginOfDay(zone, endDay) }
  if (range.from < range.to) return done({ zone, firstDay, endDay, ...range })
  const message = `The range from ${from} until before ${to} is empty: \`to\` is the first day after the range.`
  return refuseOperation('invalid_range', message, { param: 'to' })
}

/** Midnight in UTC; undefined for invalid days and for years outside 1970 to 2999. */
function midnightOf(day: string): number | undefined {
  if (!/^(19[7-9]\d|2\d{3})-\d\d-\d\d$/.test(day)) return undefined
  const at = Date.parse(`${day}T00:00:00Z`)
  // Date.parse reads the 31st of February as the 3rd of March.
  return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== day ? undefined : at
}

export const unknownZone = (name: string) =>
  refuseOperation(
    'invalid_range',
    `${JSON.stringify(name)} is not a time zone. Use a name such as "Europe/Berlin" or "UTC".`,
    {
      param: 'zone',
    },
  )

const unknownDay = (text: string, param: 'from' | 'to') =>
  refuseOperation(
    'invalid_range',
    `${JSON.stringify(text)} is not a day from 1970 to 2999. Write it as in "2026-11-22".`,
    {
      param,
    },
  )

type OpenDays = { readonly [Name in keyof DaysInZone]?: DaysInZone[Name] | undefined }

/** Milliseconds since 1970: from, until just before. Undefined: no bound. */
export interface OpenRange {
  readonly from: number | undefined
  readonly before: number | undefined
}

/** Either end may be open. The default zone is UTC. */
export function readOpenRange({ from, to, zone = 'UTC' }: OpenDays): Outcome<OpenRange> {
  const first = from === undefined ? undefined : readDay(from, zone, 'from')
  const end = to === undefined ? undefined : readDay(to, zone, 'to')
  if (first?.kind === 'refused') return first
  if (end?.kind === 'refused') return end
  const range = { from: first?.value, before: end?.value }
  if (range.from !== undefined && range.before !== undefined && range.from > range.before) {
    return refuseOperation('invalid_range', `The range ends on ${to}, before it begins on ${from}.`, { param: 'to' })
  }
  return done(range)
}

function readDay(text: string, zoneName: string, param: 'from' | 'to'): Outcome<number> {
  const zone = openTimeZone(zoneName)
  if (zone === undefined) return unknownZone(zoneName)
  const day = midnightOf(text)
  return day === undefined ? unknownDay(text, param) : done(beginOfDay(zone, day))
}

export type RangeInterval = 'hour' | 'day' | 'month'

const DAY_MS = 86_400_000
export const HOUR_MS = 3_600_000

/**
 * The starts of the steps of a range, by the clock and calendar of its zone: days of 23 and 25 hours are one step each, and a
 * day that the zone skipped is none. Undefined if there are more than `max`.
 */
export function beginningsOf(range: DayRange, step: RangeInterval, max: number): number[] | undefined {
  const beginnings: number[] = []
  for (const at of step === 'hour' ? hoursOf(range) : daysOf(range, step)) {
    if (beginnings.length === max) return undefined
    beginnings.push(at)
  }
  return beginnings
}

/** The first month may begin in its middle. */
function* daysOf({ zone, from, firstDay, endDay }: DayRange, step: 'day' | 'month'): Generator<number> {
  const next = (day: number): number => {
    const date = new Date(day)
    return step === 'day' ? day + DAY_MS : Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
  }
  let last = from
  yield from
  for (let day = next(firstDay); day < endDay; day = next(day)) {
    const at = beginOfDay(zone, day)
    if (at > last) yield at
    last = at
  }
}

function* hoursOf({ zone, from, to }: DayRange): Generator<number> {
  for (let at = from; at < to; at = hourAt(zone, at) + HOUR_MS) yield at
}

/** The start of the hour that the zone's clock shows. */
export const hourAt = (zone: TimeZone, at: number): number => {
  const offset = zone.offsetMs(at)
  return Math.floor((at + offset) / HOUR_MS) * HOUR_MS - offset
}
