import { describe, expect, it } from 'vitest'
import type { RateRule } from '../lib/rates.ts'
import { type AddressRates, createAddressRates } from './limits.ts'

const SECOND = 1_000_000

/** Two at once, then one a second. */
function ratesAt(networksMax?: number) {
  const time = { nowMicros: 7 * SECOND }
  const config: { rule: RateRule | undefined } = { rule: { perMinute: 60, burst: 2 } }
  const bound = networksMax === undefined ? {} : { networksMax }
  return {
    time,
    config,
    rates: createAddressRates({ nowMicros: () => time.nowMicros, rule: () => config.rule, ...bound }),
  }
}

const takeMany = (rates: AddressRates, addresses: readonly string[]) =>
  addresses.map((address) => rates.take(address).kind)

describe('createAddressRates', () => {
  it('lets the burst through, then says how long to wait, and keeps its word to the microsecond', () => {
    const { rates, time } = ratesAt()
    expect(takeMany(rates, ['192.0.2.1', '192.0.2.1', '192.0.2.1'])).toEqual(['taken', 'taken', 'refused'])
    expect(rates.take('192.0.2.1')).toEqual({ kind: 'refused', perMinute: 60, waitMs: 1000 })
    time.nowMicros += SECOND - 1
    expect(rates.take('192.0.2.1')).toMatchObject({ kind: 'refused', waitMs: 0.001 })
    time.nowMicros += 1
    expect(rates.take('192.0.2.1').kind).toBe('taken')
  })

  it('counts IPv4 by address and IPv6 by network', () => {
    const { rates } = ratesAt()
    expect(takeMany(rates, ['192.0.2.1', '::ffff:192.0.2.1', '192.0.2.1'])).toEqual(['taken', 'taken', 'refused'])
    expect(rates.take('192.0.2.2').kind).toBe('taken')
    const one = ['2001:db8::1', '2001:db8::2', '2001:db8:0:0:ffff::3']
    expect(takeMany(rates, one)).toEqual(['taken', 'taken', 'refused'])
    expect(rates.take('2001:db8:0:1::1').kind).toBe('taken')
  })

  it('forgets what is earned back, in the order in which it came', () => {
    const { rates, time } = ratesAt()
    takeMany(rates, ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.3'])
    expect(rates.size).toBe(3)
    time.nowMicros += SECOND
    rates.take('192.0.2.4')
    expect(rates.size).toBe(2)
  })

  it('never remembers more than its bound: the oldest go', () => {
    const { rates } = ratesAt(1000)
    const flood = Array.from({ length: 5000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`)
    takeMany(rates, flood)
    expect(rates.size).toBe(1000)
    // The newest is remembered with what it took, the oldest begins anew.
    expect(takeMany(rates, [flood[4999]!, flood[4999]!])).toEqual(['taken', 'refused'])
    expect(takeMany(rates, [flood[0]!, flood[0]!])).toEqual(['taken', 'taken'])
    expect(rates.size).toBe(1000)
  })

  it('follows the configuration, also when that takes the limit away', () => {
    const { rates, config } = ratesAt()
    config.rule = undefined
    expect(takeMany(rates, Array(9).fill('192.0.2.1'))).not.toContain('refused')
    expect(rates.size).toBe(0)
    config.rule = { perMinute: 60, burst: 1 }
    expect(takeMany(rates, ['192.0.2.1', '192.0.2.1'])).toEqual(['taken', 'refused'])
  })
})
