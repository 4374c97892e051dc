import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decimalOf, exactSum, nanoOf, readMoney, shareOf, sumMoney } from './money.ts'

const NANO = 1_000_000_000n
const amounts = fc.bigInt({ min: -9_000_000_000n * NANO, max: 9_000_000_000n * NANO })

describe('amounts as whole numbers', () => {
  it('round-trip', () => {
    fc.assert(fc.property(amounts, (nano) => nanoOf(decimalOf(nano)) === nano))
  })

  it('add up exactly where floats do not', () => {
    expect(sumMoney('0.10', '0.20')).toBe('0.30')
    expect(sumMoney('9000000000.000000001', '-0.000000002')).toBe('8999999999.999999999')
  })

  it('reject text that is not money', () => {
    for (const text of ['', '1e3', '1,5', '.5', '0.1234567890']) expect(() => nanoOf(text)).toThrow()
  })

  it('become shares between 0 and 1', () => {
    expect(shareOf('0.50', '2.00')).toBe(0.25)
    expect(shareOf('3.00', '2.00')).toBe(1)
    expect(shareOf('1.00', '0.00')).toBe(0)
  })
})

describe('exactSum', () => {
  it('keeps every digit of lines with more decimals than money', () => {
    expect(exactSum(['0.0000123456', '0.000000000000001', '1.10'])).toBe('1.100012345600001')
    expect(exactSum([])).toBe('0.00')
    expect(exactSum(['0.30', '-0.30'])).toBe('0.00')
    expect(exactSum(['-0.000000000000001'])).toBe('-0.000000000000001')
  })

  it('equals sumMoney for up to nine decimals', () => {
    fc.assert(fc.property(fc.array(amounts.map(decimalOf)), (each) => exactSum(each) === sumMoney(...each)))
  })

  it('rejects text that is not an amount', () => {
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
