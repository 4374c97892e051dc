import { readDay } from './day-range.ts'
import { done, type Outcome, refused } from './outcome.ts'

/** Days as they are asked for, either of them left open; in UTC when no zone is named. */
export interface AskedDays {
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
  const first = from === undefined ? undefined : readDay({ day: from, zone })
  const end = to === undefined ? undefined : readDay({ day: to, zone })
  if (first?.kind === 'refused') return first
  if (end?.kind === 'refused') return end
  const range = { from: first?.value, before: end?.value }
  if (range.from !== undefined && range.before !== undefined && range.from > range.before) {
    return refused('invalid_range', `The range ends on ${to}, before it begins on ${from}.`)
  }
  return done(range)
}
