import fc from 'fast-check'
import { expect, it } from 'vitest'
import { labelStride, niceTicks } from './nice-ticks.ts'

it.each([
  [0, [0]],
  [1, [0, 0.25, 0.5, 0.75, 1]],
  [7, [0, 2, 4, 6, 8]],
  [0.000034, [0, 0.00001, 0.00002, 0.00003, 0.00004]],
  [1_200, [0, 500, 1_000, 1_500]],
])('up to %d', (max, ticks) => {
  expect(niceTicks(max, 4)).toEqual(ticks)
})

it('counts have no fractional ticks', () => {
  expect(niceTicks(2, 4, 'whole')).toEqual([0, 1, 2])
})

it('ticks start at zero, are evenly spaced, reach the maximum and are few', () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-9, max: 1e12, noNaN: true }), fc.integer({ min: 2, max: 8 }), (max, wanted) => {
      const ticks = niceTicks(max, wanted)
      const last = ticks.at(-1) ?? 0
      return ticks[0] === 0 && last >= max * (1 - 1e-9) && ticks.length <= wanted + 1
    }),
  )
})

it('labels are as dense as they fit', () => {
  expect(labelStride(24, 600, 60)).toBe(3)
  expect(labelStride(5, 600, 60)).toBe(1)
  expect(labelStride(30, 10, 60)).toBe(30)
})
