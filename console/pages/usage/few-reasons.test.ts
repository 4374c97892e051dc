import { expect, it } from 'vitest'
import { fewReasons } from './few-reasons.ts'

const reasons = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ code: `r${index}`, total: 10 - index, steps: [1, 9 - index] }))

it('shows as many reasons as there are colours, and the others as one that has no step too few', () => {
  expect(fewReasons(reasons(6)).map(({ code }) => code)).toEqual(['r0', 'r1', 'r2', 'r3', 'r4', 'r5'])
  expect(fewReasons(reasons(8)).map(({ code }) => code)).toEqual(['r0', 'r1', 'r2', 'r3', 'r4', null])
  expect(fewReasons(reasons(8)).at(-1)).toEqual({ code: null, total: 5 + 4 + 3, steps: [3, 4 + 3 + 2] })
  expect(fewReasons([])).toEqual([])
})
