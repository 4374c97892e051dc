import { describe, expect, it } from 'vitest'
import { countOf, usageOfCounts } from './usage-of-counts.ts'

describe('countOf', () => {
  it.each([
    [0, 0],
    [12, 12],
    [0.2, 1],
    [1e9, 1e9],
    [1e9 + 1, 1e9],
    [2 ** 53, 1e9],
    [1e308, 1e9],
  ])('%j is %j', (value, count) => expect(countOf(value)).toBe(count))

  it.each([[-1], [Number.POSITIVE_INFINITY], [Number.NaN], ['12'], [null], [undefined], [{}]])('%j is none', (value) =>
    expect(countOf(value)).toBeUndefined(),
  )
})

describe('usageOfCounts', () => {
  it('believes no part that is larger than its whole', () => {
    const reported = { input: 10, cached: 8, cacheWrite: 5, output: 3, reasoning: 9 }
    expect(usageOfCounts(reported)).toEqual({
      uncachedInput: 0,
      cachedInput: 8,
      cacheWrite: 2,
      output: 3,
      reasoning: 3,
    })
  })
})
