import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatPricePerMillion, formatUsd, nanoFromPico, parsePricePerMillion, parseUsd } from './money.ts'

describe('parseUsd and formatUsd', () => {
  it.each([
    ['0', 0n, '0.00'],
    ['10', 10_000_000_000n, '10.00'],
    ['0.000000001', 1n, '0.000000001'],
    ['12.5', 12_500_000_000n, '12.50'],
    ['-3.120', -3_120_000_000n, '-3.12'],
  ])('%s is %s nano and shown as %s', (text, nano, shown) => {
    expect(parseUsd(text)).toBe(nano)
    expect(formatUsd(nano)).toBe(shown)
  })

  it.each([
    '',
    '.5',
    '1.',
    '1e3',
    '1,5',
    ' 1',
    '1 ',
    '0.0000000001',
    '--1',
    '99999999999',
    'NaN',
    '１',
    '9000000000.000000001',
  ])('%j is not an amount', (text) => {
    expect(parseUsd(text)).toBeUndefined()
  })

  it('what is formatted is read back to the last nano', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -9_000_000_000_000_000_000n, max: 9_000_000_000_000_000_000n }), (nano) => {
        expect(parseUsd(formatUsd(nano))).toBe(nano)
      }),
      { seed: 7, numRuns: 2000 },
    )
  })
})

describe('prices', () => {
  it('USD per million tokens is the same number as pico-dollars per token, times a million', () => {
    expect(parsePricePerMillion('3.00')).toBe(3_000_000n)
    expect(formatPricePerMillion(3_000_000n)).toBe('3.00')
    expect(parsePricePerMillion('0.075')).toBe(75_000n)
    expect(parsePricePerMillion('0.0000001')).toBeUndefined()
  })

  it('rounds up, once', () => {
    expect(nanoFromPico(1n)).toBe(1n)
    expect(nanoFromPico(1000n)).toBe(1n)
    expect(nanoFromPico(1001n)).toBe(2n)
    expect(nanoFromPico(-1n)).toBe(0n)
  })
})
