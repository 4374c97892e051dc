/**
 * The only file that reads the time (`lib/loop-strain.ts` measures the event loop delay). All others get a Clock, so tests control
 * the time.
 *
 * `now` is wall time in milliseconds and may step either way; `steady-clock.ts` derives ledger time from it. `nowMicros` is
 * monotonic, in microseconds, for limits and deadlines.
 */
export interface Clock {
  now(): number
  nowMicros(): number
}

/** Between two moments in microseconds. */
export const msBetween = (fromMicros: number, toMicros: number): number => Math.round((toMicros - fromMicros) / 1000)

export const systemClock: Clock = {
  now: Date.now,
  nowMicros: () => Math.floor(performance.now() * 1000),
}

/** A waiting time in whole seconds, rounded up, at least one. */
export const wholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000))
