import { beginOfDay, type TimeZone } from '../../lib/time-zone.ts'
import type { DayRange } from './day-range.ts'

export type RangeStep = 'hour' | 'day' | 'month'

const DAY_MS = 86_400_000
export const HOUR_MS = 3_600_000

/**
 * Where the steps of a range begin, by the clocks and calendars of its zone: days of 23 and 25 hours are one step each,
 * and a day that the zone skipped is none. Undefined when there are more than `max`.
 */
export function beginningsOf(range: DayRange, step: RangeStep, max: number): number[] | undefined {
  const beginnings: number[] = []
  for (const at of walk(range, step)) {
    if (beginnings.length === max) return undefined
    beginnings.push(at)
  }
  return beginnings
}

function walk(range: DayRange, step: RangeStep): Generator<number> {
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
