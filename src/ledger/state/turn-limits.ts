import { addToRate, correctRate, type RateRule, rateStatusOf, takeFromRate } from '../../lib/rates.ts'
import type { AppliedLimit, LimitStatus } from '../../model/limit.ts'
import type { LedgerState } from './state.ts'

export type LimitRefusal =
  | { readonly kind: 'limited'; readonly limit: AppliedLimit; readonly retryAfterMs: number }
  /** The turn alone is larger than the whole limit: waiting does not help. */
  | { readonly kind: 'limit-too-small'; readonly limit: AppliedLimit }

/** When a running turn will end is unknown; a second is what the client is asked to wait. */
const CONCURRENCY_RETRY_MS = 1000

const ruleOf = (limit: AppliedLimit): RateRule => ({ perMinute: limit.limit, burst: limit.burst })

/** Whether a turn may begin, without taking anything. Of several that refuse, the one that refuses longest is named. */
export function lookAtLimits(
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

/** Takes from all of them, once they have been looked at: from here on none of them refuses. */
export function startUnderLimits(ledgerState: LedgerState, limits: readonly AppliedLimit[], nowMicros: number): void {
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

/** Gives the turn's places back, and corrects the tokens it reserved to those it used. */
export function endUnderLimits(
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

/** A rate that has been earned back whole is the same as one that was never used. */
export function forgetEarnedBackRates(ledgerState: LedgerState, nowMicros: number): void {
  for (const [subject, reachedAt] of ledgerState.rates) if (reachedAt <= nowMicros) ledgerState.rates.delete(subject)
}

/** How many turns run under each concurrency limit. */
export function countAllRunning(turns: Iterable<{ readonly limits: readonly AppliedLimit[] }>): Map<string, number> {
  const running = new Map<string, number>()
  for (const { limits } of turns) {
    for (const { kind, subject } of limits) {
      if (kind === 'concurrent') running.set(subject, (running.get(subject) ?? 0) + 1)
    }
  }
  return running
}

/** How the limits stand now: what the answer's headers tell the client. */
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
