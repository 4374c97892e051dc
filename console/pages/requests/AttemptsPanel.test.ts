import { expect, it } from 'vitest'
import { laterOf, placeAttempts } from './AttemptsPanel.tsx'

const attempt = (ms: number) => ({ lane: 'demo/demo', outcome: 'failed', status: null, ms })

it('places attempts one after another within the total time', () => {
  const placed = placeAttempts([attempt(100), attempt(300)], 800)
  expect(placed.map(({ number, begins, share, isLast }) => [number, begins, share, isLast])).toEqual([
    [1, 0, 0.125, false],
    [2, 0.125, 0.375, true],
  ])
})

it('fits all attempts despite rounding, and accepts none', () => {
  expect(laterOf([attempt(100), attempt(301)], 400)).toBe(401)
  expect(laterOf([], null)).toBe(0)
  expect(placeAttempts([attempt(0)], 0)).toMatchObject([{ begins: 0, share: 1 }])
})
