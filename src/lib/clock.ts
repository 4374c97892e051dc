/**
 * The only file that reads the time (`lib/loop-strain.ts` asks Node how late it is). Everybody else is handed a Clock, so tests
 * decide what time it is.
 *
 * `now` is wall time in milliseconds and may step either way; `steady-clock.ts` makes ledger time of it. `ticks` is monotonic
 * microseconds and is what limits and deadlines are computed from.
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
