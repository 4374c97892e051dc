import { expect, it } from 'vitest'
import { createEstimateErrors } from './estimate.ts'

it('tells the middle and the ninth tenth of what was measured, without its sign', () => {
  const errors = createEstimateErrors()
  expect(errors.of('m')).toBeUndefined()
  for (let tenth = 1; tenth <= 10; tenth++) errors.note('m', (tenth % 2 === 0 ? 1 : -1) * (tenth / 16))
  expect(errors.of('m')).toEqual({ turns: 10, median: 6 / 16, p90: 10 / 16 })
  expect(errors.of('other')).toBeUndefined()
})

it('forgets what was long ago', () => {
  const errors = createEstimateErrors()
  for (let turn = 0; turn < 300; turn++) errors.note('m', 8)
  for (let turn = 0; turn < 200; turn++) errors.note('m', 0.5)
  expect(errors.of('m')).toEqual({ turns: 200, median: 0.5, p90: 0.5 })
})
