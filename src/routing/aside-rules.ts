import { createSlidingCount } from '../lib/sliding-count.ts'

/** Why nobody is sent to a lane, or with a credential, for a while. */
export type AsideReason = 'failing' | 'busy' | 'overloaded' | 'locked-out'

/** How long somebody stays aside: longer each time in a row. */
export interface AsideTimes {
  readonly firstMs: number
  readonly longestMs: number
}

/** How long, how often in a row. */
export interface TimeAside {
  /** In microseconds. `toldMs`: what the provider asked for itself. */
  next(reason: AsideReason, toldMs: number | undefined): number
  forgive(...reasons: readonly AsideReason[]): void
}

interface TimeDeps {
  readonly random: () => number
  /** For one that fails. */
  readonly failing: () => AsideTimes
}

const BUSY: AsideTimes = { firstMs: 1_000, longestMs: 30_000 }
const LOCKED_OUT: AsideTimes = { firstMs: 60_000, longestMs: 600_000 }
/** Nodes that have seen the same outage must not all come back in the same moment. */
const JITTER = 0.2

export function createTimeAside({ random, failing }: TimeDeps): TimeAside {
  const inARow: Record<AsideReason, number> = { failing: 0, busy: 0, overloaded: 0, 'locked-out': 0 }
  const timesOf = (reason: AsideReason): AsideTimes =>
    reason === 'failing' ? failing() : reason === 'locked-out' ? LOCKED_OUT : BUSY
  return {
    next(reason, toldMs) {
      const { firstMs, longestMs } = timesOf(reason)
      const ms = Math.min(firstMs * 2 ** inARow[reason], longestMs) * (1 - JITTER * random())
      inARow[reason]++
      // Less than a second is no rest: who says so again and again would be asked by everybody.
      return Math.ceil(1000 * (toldMs === undefined || toldMs < BUSY.firstMs ? Math.max(toldMs ?? 0, ms) : toldMs))
    },
    forgive(...reasons) {
      for (const reason of reasons) inARow[reason] = 0
    },
  }
}

/** Whether somebody fails too often to be asked: five times one after the other, or half of ten or more within a while. */
export interface FailureCount {
  /** True when this one was too many. `by`: the account whose call it was. */
  add(failed: boolean, by: unknown): boolean
  /** The only account whose calls have failed within that time; undefined if several have. */
  readonly failedBy: unknown
  clear(): void
}

const CONSECUTIVE_MAX = 5
const CALLS_MIN = 10
const FAILED_SHARE_MAX = 0.5
const CALLS_MICROS = 30_000_000

export function createFailureCount(ticks: () => number): FailureCount {
  const calls = createSlidingCount(ticks, CALLS_MICROS)
  const failures = createSlidingCount(ticks, CALLS_MICROS)
  let consecutive = 0
  let failedBy: unknown
  return {
    get failedBy() {
      return failedBy
    },
    add(failed, by) {
      calls.add()
      consecutive = failed ? consecutive + 1 : 0
      if (!failed) return false
      failedBy = failures.total() === 0 || failedBy === by ? by : undefined
      failures.add()
      const total = calls.total()
      return consecutive >= CONSECUTIVE_MAX || (total >= CALLS_MIN && failures.total() >= total * FAILED_SHARE_MAX)
    },
    clear() {
      calls.clear()
      failures.clear()
      consecutive = 0
    },
  }
}
