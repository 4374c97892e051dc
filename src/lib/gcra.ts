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

/**
 * Corrects what was reserved once the true cost is known. Less gives back; more puts the limit into debt, which simply
 * delays the next one. It counts from now when everything was earned back meanwhile: from a moment in the past a debt
 * would be paid before it was made.
 */
export const correctRate = (rule: RateRule, reachedAt: number, costDelta: number, ticks: number): number =>
  Math.max(reachedAt, ticks) + costDelta * microsPerUnit(rule)

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
