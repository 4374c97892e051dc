import { describe, expect, it } from 'vitest'
import { agreeWithTotal, type CountedBeside, countOf, usageOfCounts } from './stream-state.ts'

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

interface Case {
  readonly delivered: readonly [input: number, cached: number, output: number, reasoning: number]
  readonly cacheWrite?: number
  readonly total: number | undefined
  readonly beside?: readonly CountedBeside[]
  readonly means: readonly [input: number, output: number, reasoning: number]
  readonly doubtful?: true
}

it.each<[why: string, Case]>([
  ['as told where the total is their sum', { delivered: [9, 4, 5, 2], total: 14, means: [9, 5, 2] }],
  ['as told where there is no total', { delivered: [9, 4, 5, 2], total: undefined, means: [9, 5, 2] }],
  ['as told where the total is too small, which is a mistake', { delivered: [9, 4, 5, 2], total: 3, means: [9, 5, 2] }],
  ['with the reasoning that stands beside', { delivered: [9, 4, 5, 2], total: 16, means: [9, 7, 2] }],
  ['with the cached input that stands beside', { delivered: [9, 4, 5, 2], total: 18, means: [13, 5, 2] }],
  ['with both', { delivered: [9, 4, 5, 2], total: 20, means: [13, 7, 2] }],
  [
    'with reasoning before cached input, when it could be either',
    { delivered: [9, 2, 5, 2], total: 16, means: [9, 7, 2] },
  ],
  ['with cache writes that stand beside', { delivered: [9, 0, 5, 2], cacheWrite: 40, total: 54, means: [49, 5, 2] }],
  [
    'with cache writes and cached input that stand beside',
    { delivered: [9, 7, 5, 2], cacheWrite: 40, total: 61, means: [56, 5, 2] },
  ],
  [
    'with cache writes, cached input and reasoning that stand beside',
    { delivered: [9, 7, 5, 2], cacheWrite: 40, total: 63, means: [56, 7, 2] },
  ],
  ['with reasoning of a token more than was written', { delivered: [9, 0, 5, 6], total: 15, means: [9, 6, 6] }],
  [
    'as told, and in doubt, where nothing explains the rest',
    { delivered: [9, 0, 5, 0], total: 114, means: [9, 5, 0], doubtful: true },
  ],
  [
    'as told, and in doubt, where the rest is more than all that may stand beside',
    { delivered: [9, 3, 5, 2], cacheWrite: 40, total: 99, means: [9, 5, 2], doubtful: true },
  ],
  [
    'as their server is known to count, where no total tells',
    { delivered: [9, 11, 1, 290], total: undefined, beside: ['reasoning', 'cached'], means: [20, 291, 290] },
  ],
  [
    'as their server is known to count, where the sum of the others cannot be all',
    { delivered: [9, 0, 1, 290], total: 10, beside: ['reasoning'], means: [9, 291, 290] },
  ],
  [
    'by the total, where the server has learned to count as others do',
    { delivered: [9, 0, 300, 290], total: 309, beside: ['reasoning'], means: [9, 300, 290] },
  ],
  [
    'inside of the prompt, where they fit',
    { delivered: [20, 11, 1, 0], total: undefined, beside: ['cached'], means: [20, 1, 0] },
  ],
])('counts are read %s', (_why, { delivered, cacheWrite = 0, total, beside = [], means, doubtful }) => {
  const [input, cached, output, reasoning] = delivered
  const agreed = agreeWithTotal({ input, cached, cacheWrite, output, reasoning }, { total, beside })
  expect([agreed.input, agreed.output, agreed.reasoning]).toEqual(means)
  expect([agreed.cached, agreed.cacheWrite]).toEqual([cached, cacheWrite])
  expect(agreed.doubtful).toBe(doubtful)
})
