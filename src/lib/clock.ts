/**
 * The only file that reads the time (`lib/loop-strain.ts` asks Node how late it is). Everybody else is handed a Clock, so tests
 * decide what time it is.
 *
 * `now` is wall time in milliseconds and may be set back by an administrator; `ticks` is monotonic microseconds and is
 * what limits and deadlines are computed from.
 */
export interface Clock {
  now(): number
  ticks(): number
}

/** Of moments in ticks. */
export const msBetween = (fromTicks: number, toTicks: number): number => Math.round((toTicks - fromTicks) / 1000)

export const systemClock: Clock = {
  now: () => Date.now(),
  ticks: () => Math.floor(performance.now() * 1000),
}

/** Wall time that never goes back: what the ledger stamps its rows with, even when the machine's clock is set back. */
export function createNeverDecreasing(clock: Clock, floor = 0): () => number {
  let last = floor
  return () => {
    last = Math.max(last, clock.now())
    return last
  }
}
