/**
 * The generic cell rate algorithm: one number of state a limit, exact waiting times, and never more than
 * `burst + rate × time` let through. `reachedAt` is the moment (in monotonic microseconds) at which everything taken so
 * far has been earned back.
 */
export interface RateRule {
  readonly perMinute: number
  readonly burst: number
}

export type RateDecision =
  | { readonly kind: 'taken'; readonly reachedAt: number }
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** More than the burst: no waiting would ever let it through. */
  | { readonly kind: 'too-large' }

const MINUTE_MICROS = 60_000_000
/** Sums of doubles drift by less than this over years of uptime. */
const EPSILON_MICROS = 0.01

const microsPerUnit = (rule: RateRule) => MINUTE_MICROS / rule.perMinute

export function takeFromRate(rule: RateRule, reachedAt: number, cost: number, ticks: number): RateDecision {
  if (cost > rule.burst) return { kind: 'too-large' }
  const next = Math.max(reachedAt, ticks) + cost * microsPerUnit(rule)
  const over = next - ticks - rule.burst * microsPerUnit(rule)
  // The first whole tick at which it is let through: drift alone must not make a second of it when that is rounded up.
  if (over > EPSILON_MICROS) return { kind: 'wait', waitMs: Math.ceil(over - EPSILON_MICROS) / 1000 }
  return { kind: 'taken', reachedAt: next }
}

/** Takes back one that was taken a moment ago and does not count after all. */
export const takeBackOne = (rule: RateRule, reachedAt: number): number => reachedAt - microsPerUnit(rule)

/** Takes without asking: what was looked at just before, or what was used beyond a reservation, which delays the next one. */
export const addToRate = (rule: RateRule, reachedAt: number, cost: number, ticks: number): number =>
  Math.max(reachedAt, ticks) + cost * microsPerUnit(rule)

/**
 * Corrects what was reserved to what was used. A debt counts from now; what was not used comes back, but never to before
 * now: time that nobody used is not saved up.
 */
export const correctRate = (
  rule: RateRule,
  reachedAt: number,
  { reserved, used }: { readonly reserved: number; readonly used: number },
  ticks: number,
): number => Math.max(ticks, addToRate(rule, reachedAt, used - reserved, ticks))

/** What is left now, and how long until all of it is back. */
export function standingOfRate(
  rule: RateRule,
  reachedAt: number,
  ticks: number,
): { remaining: number; resetMs: number } {
  const owed = Math.max(0, reachedAt - ticks)
  const remaining = Math.floor(rule.burst - (owed - EPSILON_MICROS) / microsPerUnit(rule))
  return { remaining: Math.max(0, remaining), resetMs: owed / 1000 }
}
