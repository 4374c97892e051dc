import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { AppliedLimit } from '../../model/caller.ts'
import { createLedgerState } from './state.ts'
import { checkLimits, dropRecoveredRateLimits, limitStatusesOf, releaseLimits, takeLimits } from './turn-limits.ts'

const MINUTE = 60_000_000

const tokens = (over: Partial<AppliedLimit> = {}): AppliedLimit => ({
  scope: 'key',
  kind: 'tokens',
  subject: 'key:1:tokens',
  limit: 6000,
  burst: 6000,
  cost: 1000,
  ...over,
})

const emptyState = () => createLedgerState({ receipt: 1, transfer: 1, bucket: 1000, subscription: 1 })

/** Over every stretch of time that ends now: what was let through in it, less what its length has earned. */
function mostAboveRate(
  counted: readonly { at: number; tokens: number }[],
  perMinute: number,
  nowMicros: number,
): number {
  let sum = 0
  let most = 0
  for (const { at, tokens: some } of counted.toReversed()) {
    sum += some
    most = Math.max(most, sum - (perMinute * (nowMicros - at)) / MINUTE)
  }
  return most
}

describe('a token limit', () => {
  it('counts what a long turn used beyond its reservation, although the sweep forgot the rate meanwhile', () => {
    const ledgerState = emptyState()
    const limit = tokens()
    takeLimits(ledgerState, [limit], 0)
    dropRecoveredRateLimits(ledgerState, 2 * MINUTE)
    expect(ledgerState.rateLimits.size).toBe(0)
    releaseLimits(ledgerState, [limit], 13_000, 2 * MINUTE)
    // 12,000 more than was reserved: two minutes' worth, counted from the moment they are known.
    expect(limitStatusesOf(ledgerState, [limit], 2 * MINUTE)).toMatchObject([{ remaining: 0, resetMs: 120_000 }])
    expect(checkLimits(ledgerState, [limit], 2 * MINUTE)).toMatchObject({ kind: 'limited', retryAfterMs: 70_000 })
  })

  it('forgets a rate when it is earned back whole, and not a moment before', () => {
    const ledgerState = emptyState()
    takeLimits(ledgerState, [tokens()], 0)
    dropRecoveredRateLimits(ledgerState, 9_999_999)
    expect(ledgerState.rateLimits.size).toBe(1)
    dropRecoveredRateLimits(ledgerState, 10_000_000)
    expect(ledgerState.rateLimits.size).toBe(0)
  })

  it('gives back what a turn did not use, at its end and never to before now', () => {
    const ledgerState = emptyState()
    const of = (cost: number) => [tokens({ limit: 1000, burst: 2000, cost })]
    const remainingAt = (nowMicros: number) => limitStatusesOf(ledgerState, of(1), nowMicros)[0]?.remaining
    takeLimits(ledgerState, of(1500), 0)
    releaseLimits(ledgerState, of(1500), 500, 0)
    expect(remainingAt(0)).toBe(1500)
    takeLimits(ledgerState, of(1000), 0)
    releaseLimits(ledgerState, of(1000), 0, 10 * MINUTE)
    expect(remainingAt(10 * MINUTE), 'unused time is not saved up').toBe(2000)
  })

  it('keeps one number a limit, however many turns are open', () => {
    const ledgerState = emptyState()
    for (let turn = 0; turn < 1000; turn++) takeLimits(ledgerState, [tokens({ cost: 1 })], 0)
    expect([...ledgerState.rateLimits.values()]).toEqual([expect.closeTo(10_000_000, 0)])
  })

  it('takes at most burst + rate × time in any stretch of time, with corrections counted when they are made', () => {
    const seed = 8711
    const seen = { admitted: 0, limited: 0, debts: 0, refunds: 0, forgotten: 0 }
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ do: fc.constant('admit' as const), cost: fc.integer({ min: 1, max: 900 }) }),
      },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant('end' as const),
          pick: fc.nat(20),
          used: fc.oneof(fc.integer({ min: 0, max: 900 }), fc.integer({ min: 0, max: 6000 })),
        }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('sweep' as const) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), micros: fc.nat(40_000_000) }) },
    )
    fc.assert(
      fc.property(
        fc.integer({ min: 60, max: 60_000 }),
        fc.integer({ min: 900, max: 2000 }),
        fc.array(step, { minLength: 40, maxLength: 100 }),
        (perMinute, burst, steps) => {
          const ledgerState = emptyState()
          const open: AppliedLimit[] = []
          let nowMicros = 0
          const counted: { at: number; tokens: number }[] = []
          for (const next of steps) {
            if (next.do === 'wait') nowMicros += next.micros
            else if (next.do === 'sweep') {
              const before = ledgerState.rateLimits.size
              dropRecoveredRateLimits(ledgerState, nowMicros)
              seen.forgotten += before - ledgerState.rateLimits.size
            } else if (next.do === 'admit') {
              const limit = tokens({ limit: perMinute, burst, cost: next.cost })
              if (checkLimits(ledgerState, [limit], nowMicros)) {
                seen.limited++
                continue
              }
              seen.admitted++
              open.push(limit)
              takeLimits(ledgerState, [limit], nowMicros)
              counted.push({ at: nowMicros, tokens: next.cost })
              expect(mostAboveRate(counted, perMinute, nowMicros)).toBeLessThanOrEqual(burst + 1e-3)
            } else {
              const [ended] = open.splice(next.pick % Math.max(1, open.length), 1)
              if (!ended) continue
              releaseLimits(ledgerState, [ended], next.used, nowMicros)
              counted.push({ at: nowMicros, tokens: next.used - ended.cost })
              if (next.used > ended.cost) seen.debts++
              else seen.refunds++
            }
          }
        },
      ),
      { seed, numRuns: 1500 },
    )
    console.info(`limits: seed ${seed}, ${JSON.stringify(seen)}`)
    for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(1000)
  })
})
