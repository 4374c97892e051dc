import type { StopSignal } from '../lib/stop-signal.ts'
import type { AccountRow } from '../model/ids.ts'

/** Lets a request wait for a lane that will soon be tried again, instead of failing with a `Retry-After`. */
export interface RetryAfter {
  /** The longest that one request waits in all, in milliseconds; 0: not at all. */
  mostMs(): number
  /** Resolves to true after `ms`; to false at once when too many wait already, or as soon as the turn is stopped. */
  wait(ms: number, by: AccountRow, signal: StopSignal): Promise<boolean>
}

/** Each waiting request keeps its hold, and most of its body in memory. */
const WAITING_MAX = 256
/** Leaves room for the requests of other accounts. */
const WAITING_OF_ACCOUNT_MAX = 64
/** Jitter, so that they do not all retry at the same moment. */
const SPREAD = 0.1

export function createRetryAfter({
  mostMs,
  random,
}: {
  readonly mostMs: () => number
  readonly random: () => number
}): RetryAfter {
  const waiting = new Map<AccountRow, number>()
  let waitingCount = 0
  const count = (by: AccountRow, change: 1 | -1): void => {
    waitingCount += change
    const own = (waiting.get(by) ?? 0) + change
    if (own === 0) waiting.delete(by)
    else waiting.set(by, own)
  }
  return {
    mostMs,
    async wait(ms, by, signal) {
      if (signal.stopped || waitingCount >= WAITING_MAX || (waiting.get(by) ?? 0) >= WAITING_OF_ACCOUNT_MAX)
        return false
      count(by, 1)
      const passed = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(true), Math.ceil(ms * (1 + SPREAD * random())))
        const forget = signal.onStop(() => {
          clearTimeout(timer)
          resolve(false)
        })
        timer.unref()
        if (signal.stopped) forget()
      })
      count(by, -1)
      return passed
    },
  }
}
