import { expect, it } from 'vitest'
import { createFormats } from '../../lib/formats.ts'
import { drawn, groupOf, isNothing, MEASURES, sumUsed, type Used, written } from './usage-series.ts'

const NONE: Used = {
  ...{ requests: 0, failed: 0, uncached_input: 0, cached_input: 0, cache_write: 0, output: 0, reasoning: 0 },
  ...{ wallet: '0.00', plan: '0.00' },
}
const SOME: Used = {
  ...{ requests: 3, failed: 1, uncached_input: 10, cached_input: 20, cache_write: 5, output: 7, reasoning: 2 },
  ...{ wallet: '0.10', plan: '0.000000001' },
}
const formats = createFormats('en', 'UTC')

it('reads each measure', () => {
  const values = MEASURES.map((measure) => [measure, drawn(SOME, measure)])
  expect(Object.fromEntries(values)).toEqual({
    ...{ money: 0.100000001, wallet: 0.1, plan: 0.000000001, requests: 3, failed: 1 },
    ...{ tokens: 42, input: 10, cached: 20, cache_write: 5, output: 7, reasoning: 2 },
  })
  expect(written(SOME, 'money', formats)).toBe('$0.100000001')
  expect(written(SOME, 'plan', formats)).toBe('$0.000000001')
  expect(written({ ...SOME, output: 12_345 }, 'output', formats)).toBe('12,345')
})

it('puts every measure into one group', () => {
  expect(MEASURES.map(groupOf)).toEqual([
    ...['money', 'money', 'money', 'requests', 'failed'],
    ...['tokens', 'tokens', 'tokens', 'tokens', 'tokens', 'tokens'],
  ])
})

it('adds rows exactly', () => {
  const sum = sumUsed([SOME, { ...SOME, wallet: '0.20' }, NONE])
  expect(sum).toMatchObject({ requests: 6, cached_input: 40, plan: '0.000000002' })
  expect(sum.wallet).toBe('0.30')
  expect(sumUsed([])).toEqual(NONE)
})

it('distinguishes nothing from little', () => {
  expect([NONE, SOME, { ...NONE, plan: '0.000000001' }].map(isNothing)).toEqual([true, false, false])
})
