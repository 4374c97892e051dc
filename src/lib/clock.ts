/**
 * The only file that reads the time (`lib/loop-strain.ts` asks Node how late it is). Everybody else is handed a Clock, so tests
 * decide what time it is.
 *
 * `now` is wall time in milliseconds and may step either way; `steady-clock.ts` makes ledger time of it. `nowMicros` is monotonic
 * microseconds and is what limits and deadlines are computed from.
 */
export interface Clock {
  now(): number
  nowMicros(): number
}

/** Of moments in microseconds. */
export const msBetween = (fromTicks: number, toTicks: number): number => Math.round((toTicks - fromTicks) / 1000)

export const systemClock: Clock = {
  now: () => Date.now(),
  nowMicros: () => Math.floor(performance.now() * 1000),
}

/** How long somebody is asked to wait: never less than it takes, and never none at all. */
export const wholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000))
