import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addToRateLimit, decideRateLimit, type RateLimit, rateLimitStatusOf } from './rate-limit.ts'

const MINUTE = 60_000_000

describe('decideRateLimit', () => {
  it('lets the burst through at once, and then one per interval', () => {
    const rule: RateLimit = { perMinute: 60, burst: 3 }
    let reachedAt = 0
    for (let taken = 0; taken < 3; taken++) {
      const decision = decideRateLimit(rule, reachedAt, 1, 0)
      if (decision.kind !== 'taken') throw new Error('the burst was refused')
      reachedAt = decision.reachedAt
    }
    expect(decideRateLimit(rule, reachedAt, 1, 0)).toEqual({ kind: 'wait', waitMs: 1000 })
    expect(decideRateLimit(rule, reachedAt, 1, 1_000_000).kind).toBe('taken')
  })

  it('refuses for good what is larger than the burst', () => {
    expect(decideRateLimit({ perMinute: 100, burst: 10 }, 0, 11, 0).kind).toBe('too-large')
  })

  it('waits whole microseconds: drift of doubles makes no second of it when the wait is rounded up', () => {
    const rule: RateLimit = { perMinute: 70, burst: 70 }
    let reachedAt = 0
    for (let taken = 0; taken < 70; taken++) {
      const decision = decideRateLimit(rule, reachedAt, 1, 0)
      if (decision.kind !== 'taken') throw new Error('the burst was refused')
      reachedAt = decision.reachedAt
    }
    // Seven are earned in six seconds; in doubles that is 6000000.000000045 microseconds.
    expect(decideRateLimit(rule, reachedAt, 7, 0)).toEqual({ kind: 'wait', waitMs: 6000 })
    expect(decideRateLimit(rule, reachedAt, 7, 5_999_999).kind).toBe('wait')
    expect(decideRateLimit(rule, reachedAt, 7, 6_000_000).kind).toBe('taken')
  })

  it('never lets more through than burst + rate × time, and tells the waiting time exactly', () => {
    const seed = 20261120
    let decisions = 0
    let waits = 0
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: 1, max: 1000 }),
        fc.array(fc.record({ pause: fc.integer({ min: 0, max: 5_000_000 }), cost: fc.integer({ min: 1, max: 50 }) }), {
          maxLength: 60,
          minLength: 20,
        }),
        (perMinute, burst, steps) => {
          const rule = { perMinute, burst }
          let nowMicros = 0
          let reachedAt = 0
          let admitted = 0
          for (const { pause, cost } of steps) {
            nowMicros += pause
            decisions++
            const decision = decideRateLimit(rule, reachedAt, cost, nowMicros)
            if (decision.kind === 'taken') {
              reachedAt = decision.reachedAt
              admitted += cost
            } else if (decision.kind === 'wait') {
              waits++
              const allowedAt = nowMicros + decision.waitMs * 1000
              expect(decideRateLimit(rule, reachedAt, cost, allowedAt + 0.5).kind).toBe('taken')
              expect(decideRateLimit(rule, reachedAt, cost, allowedAt - 2).kind).toBe('wait')
            }
            expect(admitted).toBeLessThanOrEqual(burst + (perMinute * nowMicros) / MINUTE + 1e-6)
          }
        },
      ),
      { seed, numRuns: 2000 },
    )
    console.info(`gcra: seed ${seed}, ${decisions} decisions, ${waits} waits`)
    expect(waits).toBeGreaterThan(1000)
  })
})

describe('standingOfRate', () => {
  it('rounds what is left down, and what is missing by drift alone up', () => {
    const rule = { perMinute: 60, burst: 10 }
    expect(rateLimitStatusOf(rule, 3_000_000, 0).remaining).toBe(7)
    expect(rateLimitStatusOf(rule, 3_000_000.001, 0).remaining).toBe(7)
    expect(rateLimitStatusOf(rule, 3_000_001, 0).remaining).toBe(6)
    expect(rateLimitStatusOf({ perMinute: 1, burst: 10 }, 60_100_000, 0).remaining).toBe(8)
    expect(rateLimitStatusOf(rule, 0, 5_000_000)).toEqual({ remaining: 10, resetMs: 0 })
  })
})

describe('a rate that is reserved from', () => {
  const rule = { perMinute: 60, burst: 60 }
  const reserved = addToRateLimit(rule, 0, 60, 0)

  it('gives back what was reserved and not used', () => {
    const corrected = addToRateLimit(rule, reserved, 10 - 60, 0)
    expect(rateLimitStatusOf(rule, corrected, 0)).toEqual({ remaining: 50, resetMs: 10_000 })
  })

  it('gives nothing back to before now', () => {
    const late = 5 * MINUTE
    const corrected = addToRateLimit(rule, reserved, 0 - 60, late)
    expect(corrected).toBe(late)
    expect(rateLimitStatusOf(rule, corrected, late)).toEqual({ remaining: 60, resetMs: 0 })
  })

  it('counts a debt from now where everything was earned back meanwhile, and from there where it was not', () => {
    const late = 5 * MINUTE
    const owing = addToRateLimit(rule, 0, 40 - 10, late)
    expect(rateLimitStatusOf(rule, owing, late)).toEqual({ remaining: 30, resetMs: 30_000 })
    expect(rateLimitStatusOf(rule, addToRateLimit(rule, owing, 20, late), late)).toEqual({
      remaining: 10,
      resetMs: 50_000,
    })
  })
})
