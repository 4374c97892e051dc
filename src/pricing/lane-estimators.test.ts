import { expect, it } from 'vitest'
import { LaneEstimator } from './lane-estimators.ts'

const usageOf = (output: number) => ({ uncachedInput: 10, cachedInput: 0, cacheWrite: 0, output, reasoning: 0 })

it('learns nothing of streams with a token a frame from answers in one piece', () => {
  const estimator = new LaneEstimator()
  for (let turn = 0; turn < 50; turn++) {
    const words = 10 + turn
    estimator.learn({ outputBytes: words * 3, contentFrames: words }, usageOf(words), {
      bytesPerToken: 4,
      inputEstimate: 10,
    })
    estimator.learn({ outputBytes: words * 3, jsonAnswerMs: 300 }, usageOf(words), {
      bytesPerToken: 4,
      inputEstimate: 10,
    })
  }
  expect(estimator.contentTokens({ outputBytes: 24, contentFrames: 8 }, 4)).toBe(8)
  expect(estimator.contentTokens({ outputBytes: 300 }, 4)).toBeGreaterThanOrEqual(95)
  expect(estimator.contentTokens({ outputBytes: 300 }, 4)).toBeLessThanOrEqual(105)
})
