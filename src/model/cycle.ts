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
