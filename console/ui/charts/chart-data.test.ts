import fc from 'fast-check'
import { expect, it } from 'vitest'
import { placeLabels } from './chart-data.ts'

const scale = { y: (value: number) => 200 - value, gap: 14, top: 14 }

it('a label stands beside the middle of its part', () => {
  expect(placeLabels([100, 60], scale)).toEqual([150, 70])
  expect(placeLabels([100, 0, 60], scale)).toEqual([150, undefined, 70])
})

it('labels never overlap and stay below the top', () => {
  const parts = fc.array(fc.nat(60), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(parts, (values) => {
      const placed = placeLabels(values, scale).filter((at) => at !== undefined)
      expect(placed).toHaveLength(values.filter((value) => value > 0).length)
      for (const [index, at] of placed.entries()) {
        expect(at).toBeGreaterThanOrEqual(scale.top)
        if (index > 0) expect(placed[index - 1]! - at).toBeGreaterThanOrEqual(scale.gap)
      }
    }),
  )
})
