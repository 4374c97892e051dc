import { addToRateLimit, decideRateLimit, type RateLimit, rateLimitStatusOf } from '../../lib/rate-limit.ts'
import type { AppliedLimit, LimitStatus } from '../../model/caller.ts'
import type { LedgerState } from './state.ts'

export type LimitRefusal =
  | { readonly kind: 'limited'; readonly limit: AppliedLimit; readonly retryAfterMs: number }
  /** The turn alone is larger than the whole limit: waiting does not help. */
  | { readonly kind: 'limit-too-small'; readonly limit: AppliedLimit }

/** A running turn may end at any time. */
const CONCURRENCY_RETRY_MS = 1000

const ruleOf = (limit: AppliedLimit): RateLimit => ({ perMinute: limit.limit, burst: limit.burst })

/**
 * Checks rate limits and concurrency limits without taking from them: for `admitTurn` (`turns.ts`), for `earlyRefusal` before the
 * body (`gateway/serve-turn.ts`), and for replays (`takeRequest` in `ledger/admit.ts`). Which limits apply: `limits/limits.ts`; what
 * the client is told: `rateLimitProblem` in `gateway/refusals.ts`. Limits per client address: `createAddressLimiter` in
 * `limits/limits.ts` and `admin/sign-in-limits.ts`. Money and spend caps: `decideCap` (`turns.ts`). PostgreSQL has the same rules in
 * `db/postgres/turns.ts`. Of several refusals it returns the one with the longest wait.
 */
export function checkLimits(
  ledgerState: LedgerState,
  limits: readonly AppliedLimit[],
  nowMicros: number,
): LimitRefusal | undefined {
  let longest: Extract<LimitRefusal, { kind: 'limited' }> | undefined
  for (const limit of limits) {
    let retryAfterMs = 0
    if (limit.kind === 'concurrent') {
      if ((ledgerState.running.get(limit.subject) ?? 0) >= limit.limit) retryAfterMs = CONCURRENCY_RETRY_MS
    } else {
      const reachedAt = ledgerState.rateLimits.get(limit.subject) ?? nowMicros
      const decision = decideRateLimit(ruleOf(limit), reachedAt, limit.cost, nowMicros)
      if (decision.kind === 'too-large') return { kind: 'limit-too-small', limit }
      if (decision.kind === 'wait') retryAfterMs = decision.waitMs
    }
    if (retryAfterMs > (longest?.retryAfterMs ?? 0)) longest = { kind: 'limited', limit, retryAfterMs }
  }
  return longest
}

/** Takes from all limits, after `checkLimits` has found none that refuses. */
export function takeLimits(ledgerState: LedgerState, limits: readonly AppliedLimit[], nowMicros: number): void {
  for (const limit of limits) {
    const { kind, subject, cost } = limit
    if (kind === 'concurrent') {
      ledgerState.running.set(subject, (ledgerState.running.get(subject) ?? 0) + 1)
      continue
    }
    const reachedAt = ledgerState.rateLimits.get(subject) ?? nowMicros
    ledgerState.rateLimits.set(subject, addToRateLimit(ruleOf(limit), reachedAt, cost, nowMicros))
  }
}

/** Releases the turn's places, and corrects its reserved tokens to those it used. */
export function releaseLimits(
  ledgerState: LedgerState,
  limits: readonly AppliedLimit[],
  tokensUsed: number,
  nowMicros: number,
): void {
  for (const limit of limits) {
    const { kind, subject, cost } = limit
    if (kind === 'concurrent') {
      const left = (ledgerState.running.get(subject) ?? 0) - 1
      if (left > 0) ledgerState.running.set(subject, left)
      else ledgerState.running.delete(subject)
    }
    if (kind !== 'tokens') continue
    const reachedAt = ledgerState.rateLimits.get(subject) ?? nowMicros
    ledgerState.rateLimits.set(subject, addToRateLimit(ruleOf(limit), reachedAt, tokensUsed - cost, nowMicros))
  }
}

/** A rate limit whose takings are earned back whole equals one that was never used. */
export function dropRecoveredRateLimits(ledgerState: LedgerState, nowMicros: number): void {
  for (const [subject, reachedAt] of ledgerState.rateLimits)
    if (reachedAt <= nowMicros) ledgerState.rateLimits.delete(subject)
}

/** Counts the turns under each concurrency limit. */
export function countAllRunning(turns: Iterable<{ readonly limits: readonly AppliedLimit[] }>): Map<string, number> {
  const running = new Map<string, number>()
  for (const { limits } of turns) {
    for (const { kind, subject } of limits) {
      if (kind === 'concurrent') running.set(subject, (running.get(subject) ?? 0) + 1)
    }
  }
  return running
}

/** For the `x-ratelimit-*` headers. */
export function limitStatusesOf(
  ledgerState: LedgerState,
  limits: readonly AppliedLimit[],
  nowMicros: number,
): LimitStatus[] {
  const statuses: LimitStatus[] = []
  for (const limit of limits) {
    const { kind, limit: most, subject } = limit
    if (kind === 'concurrent') {
      const remaining = Math.max(0, most - (ledgerState.running.get(subject) ?? 0))
      statuses.push({ kind, limit: most, remaining, resetMs: 0 })
      continue
    }
    const reachedAt = ledgerState.rateLimits.get(subject) ?? nowMicros
    const { remaining, resetMs } = rateLimitStatusOf(ruleOf(limit), reachedAt, nowMicros)
    statuses.push({ kind, limit: most, remaining, resetMs })
  }
  return statuses
}
