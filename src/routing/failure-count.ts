import { createSlidingCount } from '../lib/sliding-count.ts'

/** Whether somebody fails too often to be asked: five times one after the other, or half of ten or more within a while. */
export interface FailureCount {
  /** True when this one was too many. */
  add(failed: boolean): boolean
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
  return {
    add(failed) {
      calls.add()
      consecutive = failed ? consecutive + 1 : 0
      if (!failed) return false
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
