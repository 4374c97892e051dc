import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { columnMoney, decimalOf, exactMoney, formatMoney, nanoOf } from './money.ts'

const NANO = 1_000_000_000n
const amounts = fc.bigInt({ min: -9_000_000_000n * NANO, max: 9_000_000_000n * NANO })
const small = fc.bigInt({ min: -2n * NANO, max: 2n * NANO })
/** Reads the formatted text back as nano-dollars. */
const readBack = (shown: string) => nanoOf(shown.replace('−', '-').replace(/[^\d.-]/g, ''))

describe('columnMoney', () => {
  it.each([
    ['0.00', '$0.0000'],
    ['12.00', '$12.0000'],
    ['1234567.89125', '$1,234,567.8913'],
    ['0.0001', '$0.0001'],
    ['0.000099999', '< $0.0001'],
    ['-0.000000001', '> −$0.0001'],
    ['-0.00015', '−$0.0002'],
  ])('shows %s as %s', (amount, shown) => {
    expect(columnMoney(amount, 'en-US')).toBe(shown)
  })
})

describe('formatMoney', () => {
  it.each([
    ['0.00', '$0.00'],
    ['12.00', '$12.00'],
    ['1234567.891', '$1,234,567.89'],
    ['0.50', '$0.50'],
    ['0.123456', '$0.123'],
    ['0.0123456', '$0.0123'],
    ['0.00123456', '$0.00123'],
    ['0.000001', '$0.000001'],
    ['0.000000999', '< $0.000001'],
    ['0.000000001', '< $0.000001'],
    ['-0.000000001', '> −$0.000001'],
    ['-3.456', '−$3.46'],
    ['0.9996', '$1.00'],
  ])('shows %s as %s', (amount, shown) => {
    expect(formatMoney(amount, 'en-US')).toBe(shown)
  })

  it('shows the currency in every language', () => {
    const german = (amount: string) => formatMoney(amount, 'de').replaceAll('\u00a0', ' ')
    expect(german('1234.50')).toBe('1.234,50 $')
    expect(german('-0.0123')).toBe('−0,0123 $')
  })

  it('rounds by at most half of the last decimal and never to zero', () => {
    fc.assert(
      fc.property(fc.oneof(amounts, small), (nano) => {
        const shown = formatMoney(decimalOf(nano), 'en-US')
        if (/[<>]/.test(shown)) return nano !== 0n && nano > -1_000n && nano < 1_000n
        const places = (shown.split('.')[1] ?? '').length
        const error = readBack(shown) - nano
        // Intl drops trailing zeros, so the value may have been rounded at a finer decimal.
        const half = 10n ** BigInt(9 - Math.max(2, Math.min(6, places))) / 2n
        return (error < 0n ? -error : error) <= half && (nano === 0n || readBack(shown) !== 0n)
      }),
    )
  })
})

describe('exactMoney', () => {
  it('shows every digit at every size', () => {
    fc.assert(fc.property(fc.oneof(amounts, small), (nano) => readBack(exactMoney(decimalOf(nano), 'en-US')) === nano))
  })
})
