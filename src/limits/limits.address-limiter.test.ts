import { describe, expect, it } from 'vitest'
import type { RateLimit } from '../lib/rate-limit.ts'
import { type AddressLimiter, createAddressLimiter } from './limits.ts'

const SECOND = 1_000_000

/** Two at once, then one a second. */
function limiterAt(networksMax?: number) {
  const time = { nowMicros: 7 * SECOND }
  const config: { rule: RateLimit | undefined } = { rule: { perMinute: 60, burst: 2 } }
  const bound = networksMax === undefined ? {} : { networksMax }
  return {
    time,
    config,
    limiter: createAddressLimiter({ nowMicros: () => time.nowMicros, rule: () => config.rule, ...bound }),
  }
}

const takeMany = (limiter: AddressLimiter, addresses: readonly string[]) =>
  addresses.map((address) => limiter.take(address).kind)

describe('createAddressLimiter', () => {
  it('lets the burst through, then says how long to wait, and keeps its word to the microsecond', () => {
    const { limiter, time } = limiterAt()
    expect(takeMany(limiter, ['192.0.2.1', '192.0.2.1', '192.0.2.1'])).toEqual(['taken', 'taken', 'refused'])
    expect(limiter.take('192.0.2.1')).toEqual({ kind: 'refused', perMinute: 60, waitMs: 1000 })
    time.nowMicros += SECOND - 1
    expect(limiter.take('192.0.2.1')).toMatchObject({ kind: 'refused', waitMs: 0.001 })
    time.nowMicros += 1
    expect(limiter.take('192.0.2.1').kind).toBe('taken')
  })

  it('counts IPv4 by address and IPv6 by network', () => {
    const { limiter } = limiterAt()
    expect(takeMany(limiter, ['192.0.2.1', '::ffff:192.0.2.1', '192.0.2.1'])).toEqual(['taken', 'taken', 'refused'])
    expect(limiter.take('192.0.2.2').kind).toBe('taken')
    const one = ['2001:db8::1', '2001:db8::2', '2001:db8:0:0:ffff::3']
    expect(takeMany(limiter, one)).toEqual(['taken', 'taken', 'refused'])
    expect(limiter.take('2001:db8:0:1::1').kind).toBe('taken')
  })

  it('forgets what is earned back, in the order in which it came', () => {
    const { limiter, time } = limiterAt()
    takeMany(limiter, ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.3'])
    expect(limiter.size).toBe(3)
    time.nowMicros += SECOND
    limiter.take('192.0.2.4')
    expect(limiter.size).toBe(2)
  })

  it('never remembers more than its bound: the oldest go', () => {
    const { limiter } = limiterAt(1000)
    const flood = Array.from({ length: 5000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`)
    takeMany(limiter, flood)
    expect(limiter.size).toBe(1000)
    // The newest is remembered with what it took, the oldest begins again.
    expect(takeMany(limiter, [flood[4999]!, flood[4999]!])).toEqual(['taken', 'refused'])
    expect(takeMany(limiter, [flood[0]!, flood[0]!])).toEqual(['taken', 'taken'])
    expect(limiter.size).toBe(1000)
  })

  it('follows the configuration, also when that takes the limit away', () => {
    const { limiter, config } = limiterAt()
    config.rule = undefined
    expect(takeMany(limiter, Array(9).fill('192.0.2.1'))).not.toContain('refused')
    expect(limiter.size).toBe(0)
    config.rule = { perMinute: 60, burst: 1 }
    expect(takeMany(limiter, ['192.0.2.1', '192.0.2.1'])).toEqual(['taken', 'refused'])
  })
})
