import type { KeyRow } from './ids.ts'
import type { NanoUsd } from './money.ts'

/** A dollar of the wallet and a dollar of a plan's allowance are different units: no transfer joins them. */
export type Unit = 'usd' | 'quota'

/** An amount that may be used in each of its periods: a window of a plan, or a key's spend cap. */
export interface Allowance {
  /** The name of its counter, e.g. `window:5h` or `cap:17:day`, unique per account. */
  readonly subject: string
  readonly unit: 'quota' | 'cap'
  /** `5h`, `week`, `month`, `day`. */
  readonly name: string
  readonly cycle: Cycle
  readonly amount: NanoUsd
}

/** How an allowance renews. All but the first kind renew at 00:00 UTC. */
export type Cycle =
  /** Starts with the first use after the last one has ended. */
  | { readonly kind: 'anchored'; readonly ms: number }
  | { readonly kind: 'day' }
  /** From Monday. */
  | { readonly kind: 'week' }
  /** From this day of the month, or from the last one of a shorter month. */
  | { readonly kind: 'month'; readonly day: number | 'billing' }

/** From `start` on, until just before `end`. */
export interface Period {
  readonly start: number
  readonly end: number
}

const DAY_MS = 86_400_000
/** 1970-01-05 was a Monday. */
const FIRST_MONDAY_MS = 4 * DAY_MS

/** The period that holds `at`. `billingDay` is the day of the month on which the subscription began. */
export function periodAt(cycle: Cycle, at: number, billingDay: number): Period {
  switch (cycle.kind) {
    case 'anchored':
      return { start: at, end: at + cycle.ms }
    case 'day':
      return evenPeriod(at, DAY_MS, 0)
    case 'week':
      return evenPeriod(at, 7 * DAY_MS, FIRST_MONDAY_MS)
    case 'month':
      return monthAt(at, cycle.day === 'billing' ? billingDay : cycle.day)
  }
}

export const dayOfMonth = (at: number): number => new Date(at).getUTCDate()

function evenPeriod(at: number, ms: number, origin: number): Period {
  const start = Math.floor((at - origin) / ms) * ms + origin
  return { start, end: start + ms }
}

/** Computed from `day` itself, so that a short month does not shift the later ones. */
function monthAt(at: number, day: number): Period {
  const date = new Date(at)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  const start = monthStart(year, month, day)
  return at >= start
    ? { start, end: monthStart(year, month + 1, day) }
    : { start: monthStart(year, month - 1, day), end: start }
}

function monthStart(year: number, month: number, day: number): number {
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return Date.UTC(year, month, Math.min(day, lastDay))
}

/** The spend caps of a key, per day and calendar month of UTC. */
interface SpendCaps {
  readonly day?: bigint | null | undefined
  readonly month?: bigint | null | undefined
}

/** The spend caps of a key as allowances. */
export function allowancesOfCaps(key: KeyRow, { day, month }: SpendCaps): Allowance[] {
  const caps: Allowance[] = []
  if (day != null) caps.push({ ...capOf(key, 'day', day), cycle: { kind: 'day' } })
  if (month != null) caps.push({ ...capOf(key, 'month', month), cycle: { kind: 'month', day: 1 } })
  return caps
}

const capOf = (key: KeyRow, name: 'day' | 'month', amount: bigint) => ({
  subject: subjectOfCap(key, name),
  unit: 'cap' as const,
  name,
  amount: amount as NanoUsd,
})

export const subjectOfCap = (key: KeyRow, name: string): string => `cap:${key}:${name}`
