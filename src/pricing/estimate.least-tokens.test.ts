import { expect, it } from 'vitest'
import { leastTokens } from './estimate.ts'

it('counts half of the words, or what the longest of all tokens would need, whichever is more', () => {
  expect(leastTokens({ words: 0, bytes: 0 })).toBe(0)
  expect(leastTokens({ words: 1001, bytes: 5000 })).toBe(500)
  expect(leastTokens({ words: 0, bytes: 256_000 })).toBe(1000)
})

it('never refuses what the longest tokens of published vocabularies make of a run of spaces', () => {
  const tokens = 8192
  expect(leastTokens({ words: 0, bytes: tokens * 128 })).toBeLessThan(tokens)
})
