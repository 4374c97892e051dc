import { expect, it } from 'vitest'
import { LaneRate } from './lane-rates.ts'

const usageOf = (output: number) => ({ uncachedInput: 10, cachedInput: 0, cacheWrite: 0, output, reasoning: 0 })

it('learns nothing of streams with a token a frame from answers in one piece', () => {
  const rate = new LaneRate()
  for (let turn = 0; turn < 50; turn++) {
    const words = 10 + turn
    rate.learn({ outputBytes: words * 3, wordFrames: words }, usageOf(words), { bytesPerToken: 4, inputTaken: 10 })
    rate.learn({ outputBytes: words * 3, wholeMs: 300 }, usageOf(words), { bytesPerToken: 4, inputTaken: 10 })
  }
  expect(rate.wordTokens({ outputBytes: 24, wordFrames: 8 }, 4)).toBe(8)
  expect(rate.wordTokens({ outputBytes: 300 }, 4)).toBeGreaterThanOrEqual(95)
  expect(rate.wordTokens({ outputBytes: 300 }, 4)).toBeLessThanOrEqual(105)
})
