import type { KeyRow } from './ids.ts'
import type { NanoUsd } from './money.ts'

/**
 * What the ledger counts in. A dollar of the wallet and a dollar's worth of a plan's allowance are two different things: no
 * transfer ever joins them.
 */
export type Unit = 'usd' | 'quota'

/** An amount that may be used in each of its periods: a window of a plan, or a key's spend cap. */
export interface Allowance {
  /** Names the state that it is counted on, e.g. `window:5h` or `cap:17:day`; one an account. */
  readonly subject: string
  readonly unit: 'quota' | 'cap'
  /** What people call it: `5h`, `week`, `month`, `day`. */
  readonly name: string
  readonly cycle: Cycle
  readonly amount: NanoUsd
}

/** How an allowance renews. All but the first turn at 00:00 UTC. */
export type Cycle =
  /** Starts with the first use after the last one has ended. */
  | { readonly kind: 'anchored'; readonly ms: number }
  | { readonly kind: 'day' }
  /** From Monday. */
  | { readonly kind: 'week' }
  /** From this day of the month, or from the last one of a month that is shorter. */
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

/** Always reckoned from the day itself, so that a short month does not pull the later ones with it. */
function monthAt(at: number, day: number): Period {
  const date = new Date(at)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  const turn = turnOf(year, month, day)
  return at >= turn
    ? { start: turn, end: turnOf(year, month + 1, day) }
    : { start: turnOf(year, month - 1, day), end: turn }
}

function turnOf(year: number, month: number, day: number): number {
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return Date.UTC(year, month, Math.min(day, lastDay))
}

/** What one key may spend at most, in a day and in a calendar month of UTC. Null or undefined: no such cap. */
interface SpendCaps {
  readonly day?: bigint | null | undefined
  readonly month?: bigint | null | undefined
}

/** The caps of a key as what a turn draws on. They count from 00:00 UTC, the month from its first day. */
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

/** Names the counter of a key's spend cap. */
export const subjectOfCap = (key: KeyRow, name: string): string => `cap:${key}:${name}`
