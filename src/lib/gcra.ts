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

/** A rate from which more may be reserved than is used in the end. Its numbers are microseconds of earning. */
export interface Rate {
  /** The moment at which everything taken so far has been earned back. */
  reachedAt: number
  /** Everything that was ever taken, whatever became of it. */
  taken: number
  /** Of those whose use is not known yet, in the order in which they came. */
  readonly open: Set<Reservation>
}

export interface Reservation {
  readonly cost: number
  /** All that had been taken by then, and what those who came later have given back since: the rest up to `taken` is theirs. */
  takenUpTo: number
}

export const rateReaching = (reachedAt: number): Rate => ({ reachedAt, taken: 0, open: new Set() })

/**
 * Takes without asking: what was looked at just before, or what was used beyond a reservation, which simply delays the next
 * one. It counts from now when everything was earned back meanwhile: from a moment in the past a debt would be paid before
 * it was made.
 */
export function addToRate(rule: RateRule, rate: Rate, cost: number, ticks: number): void {
  const micros = cost * microsPerUnit(rule)
  rate.reachedAt = Math.max(rate.reachedAt, ticks) + micros
  rate.taken += micros
}

export function reserveFromRate(rule: RateRule, rate: Rate, cost: number, ticks: number): Reservation {
  addToRate(rule, rate, cost, ticks)
  const reservation = { cost, takenUpTo: rate.taken }
  rate.open.add(reservation)
  return reservation
}

/**
 * Gives back what was reserved and not used. Whoever came later keeps their room, as if they had all come now: else what was
 * earned back long ago, and taken again by them, would be given a second time, and more than the burst be let through at once.
 */
export function giveBackToRate(
  rule: RateRule,
  rate: Rate,
  reservation: Reservation,
  used: number,
  ticks: number,
): void {
  rate.open.delete(reservation)
  const reachedAt = Math.max(rate.reachedAt, ticks)
  const roomOfLater = ticks + rate.taken - reservation.takenUpTo
  const unused = (reservation.cost - used) * microsPerUnit(rule)
  rate.reachedAt = Math.max(reachedAt - unused, Math.min(reachedAt, roomOfLater))
  for (const earlier of rate.open) {
    if (earlier.takenUpTo > reservation.takenUpTo) break
    earlier.takenUpTo += reachedAt - rate.reachedAt
  }
}

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
