import { addToRate, correctRate, type RateRule, rateStatusOf, takeFromRate } from '../../lib/rates.ts'
import type { AppliedLimit, LimitStatus } from '../../model/caller.ts'
import type { LedgerState } from './state.ts'

export type LimitRefusal =
  | { readonly kind: 'limited'; readonly limit: AppliedLimit; readonly retryAfterMs: number }
  /** The turn alone is larger than the whole limit: waiting does not help. */
  | { readonly kind: 'limit-too-small'; readonly limit: AppliedLimit }

/** A running turn may end at any time. */
const CONCURRENCY_RETRY_MS = 1000

const ruleOf = (limit: AppliedLimit): RateRule => ({ perMinute: limit.limit, burst: limit.burst })

/** Checks limits without taking from them. Of several refusals it returns the one with the longest wait. */
export function checkLimits(
  ledgerState: LedgerState,
  limits: readonly AppliedLimit[],
  nowMicros: number,
): LimitRefusal | undefined {
  let longest: Extract<LimitRefusal, { kind: 'limited' }> | undefined
  const wait = (limit: AppliedLimit, retryAfterMs: number) => {
    if (longest === undefined || retryAfterMs > longest.retryAfterMs) longest = { kind: 'limited', limit, retryAfterMs }
  }
  for (const limit of limits) {
    if (limit.kind === 'concurrent') {
      if ((ledgerState.running.get(limit.subject) ?? 0) >= limit.limit) wait(limit, CONCURRENCY_RETRY_MS)
      continue
    }
    const decision = takeFromRate(ruleOf(limit), reachedBy(ledgerState, limit, nowMicros), limit.cost, nowMicros)
    if (decision.kind === 'too-large') return { kind: 'limit-too-small', limit }
    if (decision.kind === 'wait') wait(limit, decision.waitMs)
  }
  return longest
}

/** Takes from all limits, after `checkLimits` has found none that refuses. */
export function takeLimits(ledgerState: LedgerState, limits: readonly AppliedLimit[], nowMicros: number): void {
  for (const limit of limits) {
    const { kind, subject, cost } = limit
    if (kind === 'concurrent') countRunning(ledgerState, subject, 1)
    else
      ledgerState.rates.set(
        subject,
        addToRate(ruleOf(limit), reachedBy(ledgerState, limit, nowMicros), cost, nowMicros),
      )
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
    if (kind === 'concurrent') countRunning(ledgerState, subject, -1)
    if (kind !== 'tokens') continue
    const correction = { reserved: cost, used: tokensUsed }
    ledgerState.rates.set(
      subject,
      correctRate(ruleOf(limit), reachedBy(ledgerState, limit, nowMicros), correction, nowMicros),
    )
  }
}

/** A rate that is earned back whole equals one that was never used. */
export function dropFullBuckets(ledgerState: LedgerState, nowMicros: number): void {
  for (const [subject, reachedAt] of ledgerState.rates) if (reachedAt <= nowMicros) ledgerState.rates.delete(subject)
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
  return limits.map((limit) => {
    const { kind, limit: most } = limit
    if (kind === 'concurrent') {
      return {
        kind,
        limit: most,
        remaining: Math.max(0, most - (ledgerState.running.get(limit.subject) ?? 0)),
        resetMs: 0,
      }
    }
    return { kind, limit: most, ...rateStatusOf(ruleOf(limit), reachedBy(ledgerState, limit, nowMicros), nowMicros) }
  })
}

const reachedBy = ({ rates }: LedgerState, { subject }: AppliedLimit, nowMicros: number): number =>
  rates.get(subject) ?? nowMicros

function countRunning(ledgerState: LedgerState, subject: string, by: 1 | -1): void {
  const count = (ledgerState.running.get(subject) ?? 0) + by
  if (count > 0) ledgerState.running.set(subject, count)
  else ledgerState.running.delete(subject)
}
