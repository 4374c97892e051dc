import { createSlidingCount } from '../lib/sliding-count.ts'

/** Why the circuit of a lane or a credential is open. */
export type OpenReason = 'failing' | 'busy' | 'overloaded' | 'locked-out'

/** How long a circuit stays open: longer each time in a row. */
export interface OpenInterval {
  readonly firstMs: number
  readonly longestMs: number
}

/** The intervals of one circuit, which grow while it keeps opening. */
export interface OpenIntervals {
  /** In microseconds. `retryAfterMs`: what the provider asked for itself. */
  next(reason: OpenReason, retryAfterMs: number | undefined): number
  forgive(...reasons: readonly OpenReason[]): void
}

interface TimeDeps {
  readonly random: () => number
  /** The interval after failures. */
  readonly failing: () => OpenInterval
}

const BUSY: OpenInterval = { firstMs: 1_000, longestMs: 30_000 }
const LOCKED_OUT: OpenInterval = { firstMs: 60_000, longestMs: 600_000 }
/** Nodes that saw the same outage must not all retry in the same moment. */
const JITTER = 0.2

export function createOpenIntervals({ random, failing }: TimeDeps): OpenIntervals {
  const inARow: Record<OpenReason, number> = { failing: 0, busy: 0, overloaded: 0, 'locked-out': 0 }
  const timesOf = (reason: OpenReason): OpenInterval =>
    reason === 'failing' ? failing() : reason === 'locked-out' ? LOCKED_OUT : BUSY
  return {
    next(reason, retryAfterMs) {
      const { firstMs, longestMs } = timesOf(reason)
      const ms = Math.min(firstMs * 2 ** inARow[reason], longestMs) * (1 - JITTER * random())
      inARow[reason]++
      // A Retry-After of less than a second is no rest: the backoff goes on growing.
      return Math.ceil(
        1000 *
          (retryAfterMs === undefined || retryAfterMs < BUSY.firstMs ? Math.max(retryAfterMs ?? 0, ms) : retryAfterMs),
      )
    },
    forgive(...reasons) {
      for (const reason of reasons) inARow[reason] = 0
    },
  }
}

/** Decides when failures open the circuit: five in a row, or half of ten or more within half a minute. */
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
