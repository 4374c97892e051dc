import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exactSum, readMoney, sumMoney } from './money.ts'

describe('exactSum', () => {
  it('keeps every digit of lines that have more places than money', () => {
    expect(exactSum(['0.0000123456', '0.000000000000001', '1.10'])).toBe('1.100012345600001')
    expect(exactSum([])).toBe('0.00')
    expect(exactSum(['0.30', '-0.30'])).toBe('0.00')
    expect(exactSum(['-0.000000000000001'])).toBe('-0.000000000000001')
  })

  it('agrees with sums of money where nothing has more than nine places', () => {
    const amount = fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }).map((nano) => {
      const digits = (nano < 0n ? -nano : nano).toString().padStart(10, '0')
      return `${nano < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`
    })
    fc.assert(fc.property(fc.array(amount), (amounts) => exactSum(amounts) === sumMoney(...amounts)))
  })

  it('takes nothing for an amount that is none', () => {
    expect(() => exactSum(['1e-9'])).toThrow('not an amount')
  })
})

it.each([
  ['5', '5.00'],
  [' 5.5 ', '5.50'],
  ['$12', '12.00'],
  ['.25', '0.25'],
  ['7,50', '7.50'],
  ['0.000000001', '0.000000001'],
  ['1,000', undefined],
  ['1.000.000', undefined],
  ['0', undefined],
  ['0.00', undefined],
  ['-5', undefined],
  ['5e3', undefined],
  ['0.0000000001', undefined],
  ['five', undefined],
  ['', undefined],
])('reads %j as %j', (typed, amount) => {
  expect(readMoney(typed)).toBe(amount)
})
