/**
 * A rate limit by the generic cell rate algorithm (GCRA): one number of state for each limit, exact waiting times, and never more than
 * `burst + rate × time`. `reachedAt` is the moment, in monotonic microseconds, at which everything taken so far is earned back.
 */
export interface RateLimit {
  readonly perMinute: number
  readonly burst: number
}

type RateLimitDecision =
  | { readonly kind: 'taken'; readonly reachedAt: number }
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** More than the burst: waiting would never help. */
  | { readonly kind: 'too-large' }

const MINUTE_MICROS = 60_000_000
/** Sums of doubles drift by less than this over years of uptime. */
const EPSILON_MICROS = 0.01

/** Changes nothing: the caller keeps the new `reachedAt`. */
export function decideRateLimit(
  rule: RateLimit,
  reachedAt: number,
  cost: number,
  nowMicros: number,
): RateLimitDecision {
  if (cost > rule.burst) return { kind: 'too-large' }
  const microsPerUnit = MINUTE_MICROS / rule.perMinute
  const next = Math.max(reachedAt, nowMicros) + cost * microsPerUnit
  const over = next - nowMicros - rule.burst * microsPerUnit
  // The first whole microsecond at which it passes. Drift alone must not round up to a second.
  if (over > EPSILON_MICROS) return { kind: 'wait', waitMs: Math.ceil(over - EPSILON_MICROS) / 1000 }
  return { kind: 'taken', reachedAt: next }
}

/** Gives back one that was just taken and does not count. */
export const takeBackOne = (rule: RateLimit, reachedAt: number): number => reachedAt - MINUTE_MICROS / rule.perMinute

/**
 * Takes without a check: after a check, or for use beyond a reservation, which delays the next one. A negative cost gives back
 * what was reserved and not used, but never to before now.
 */
export const addToRateLimit = (rule: RateLimit, reachedAt: number, cost: number, nowMicros: number): number =>
  Math.max(nowMicros, Math.max(reachedAt, nowMicros) + cost * (MINUTE_MICROS / rule.perMinute))

/** What is left now, and the time until all of it is back. */
export function rateLimitStatusOf(
  rule: RateLimit,
  reachedAt: number,
  nowMicros: number,
): { remaining: number; resetMs: number } {
  const owed = Math.max(0, reachedAt - nowMicros)
  const remaining = Math.floor(rule.burst - (owed - EPSILON_MICROS) / (MINUTE_MICROS / rule.perMinute))
  return { remaining: Math.max(0, remaining), resetMs: owed / 1000 }
}

/** A count over a sliding window. Older items leave in steps of a tenth of the window. */
export interface SlidingCount {
  add(): void
  total(): number
  clear(): void
}

const STEPS = 10

export function createSlidingCount(nowMicros: () => number, spanMicros: number): SlidingCount {
  const stepMicros = spanMicros / STEPS
  const counts = new Array<number>(STEPS).fill(0)
  let newest = Math.floor(nowMicros() / stepMicros)
  let sum = 0
  const moveOn = () => {
    const now = Math.floor(nowMicros() / stepMicros)
    for (let step = Math.max(newest + 1, now - STEPS + 1); step <= now; step++) {
      sum -= counts[step % STEPS] ?? 0
      counts[step % STEPS] = 0
    }
    newest = Math.max(newest, now)
  }
  return {
    add() {
      moveOn()
      counts[newest % STEPS] = (counts[newest % STEPS] ?? 0) + 1
      sum++
    },
    total() {
      moveOn()
      return sum
    },
    clear() {
      counts.fill(0)
      sum = 0
    },
  }
}
