import { describe, expect, it } from 'vitest'
import { NO_COUNTS, readCounts, usageOf } from './read-events.ts'

const read = (...chunks: unknown[]) => usageOf(chunks.reduce(readCounts, NO_COUNTS), true)
const prompt = (uncachedInput: number, cachedInput = 0) => ({ uncachedInput, cachedInput, cacheWrite: 0 })

describe('the counts of an answer', () => {
  it('are the last ones, of which each chunk may leave some out', () => {
    const chunks = [
      { promptTokenCount: 6, thoughtsTokenCount: 14, totalTokenCount: 20 },
      { promptTokenCount: 8, thoughtsTokenCount: 76, totalTokenCount: 84 },
      { candidatesTokenCount: 2, totalTokenCount: 86 },
    ]
    expect(read(...chunks)).toEqual({ ...prompt(8), output: 78, reasoning: 76 })
    expect(read(...chunks, null, undefined, 7, [], 'x')).toEqual({ ...prompt(8), output: 78, reasoning: 76 })
  })

  it('have the cached part inside the prompt, and what hosted tools have read beside it', () => {
    const counts = {
      promptTokenCount: 20,
      cachedContentTokenCount: 15,
      toolUsePromptTokenCount: 4,
      candidatesTokenCount: 3,
    }
    expect(read(counts)).toEqual({ ...prompt(9, 15), output: 3, reasoning: 0 })
    expect(read({ promptTokenCount: 5, cachedContentTokenCount: 9, candidatesTokenCount: 1 })).toMatchObject(
      prompt(0, 5),
    )
  })

  it('have the thoughts beside the candidates', () => {
    const counts = { promptTokenCount: 20, candidatesTokenCount: 9, thoughtsTokenCount: 8, totalTokenCount: 37 }
    expect(read(counts)).toEqual({ ...prompt(20), output: 17, reasoning: 8 })
  })

  it.each([
    ['candidates that are missing', { promptTokenCount: 9, thoughtsTokenCount: 8, totalTokenCount: 30 }, 21, 8],
    ['thoughts that are missing', { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 30 }, 21, 0],
    ['both', { promptTokenCount: 9, totalTokenCount: 30 }, 21, 0],
    [
      'thoughts that are in the candidates too',
      { promptTokenCount: 9, candidatesTokenCount: 21, thoughtsTokenCount: 8, totalTokenCount: 30 },
      21,
      8,
    ],
  ])('sum to the total that is given, for %s', (_, counts, output, reasoning) => {
    expect(read(counts)).toEqual({ ...prompt(9), output, reasoning })
  })

  it('are as reported, and doubtful, where the total is larger and no class is missing', () => {
    const counts = { promptTokenCount: 9, candidatesTokenCount: 4, thoughtsTokenCount: 8, totalTokenCount: 500 }
    expect(read(counts)).toEqual({ ...prompt(9), output: 12, reasoning: 8, doubtful: true })
  })

  it('of a prompt that is missing are what the total has beyond the rest', () => {
    expect(read({ candidatesTokenCount: 4, thoughtsTokenCount: 2, totalTokenCount: 30 })).toEqual({
      ...prompt(24),
      output: 6,
      reasoning: 2,
    })
    expect(read({ candidatesTokenCount: 40, totalTokenCount: 30 })).toBeUndefined()
  })

  it('stand by themselves where the total does not even cover the input, or is of an older chunk', () => {
    expect(read({ promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 3 })).toMatchObject({ output: 4 })
    const older = { promptTokenCount: 9, candidatesTokenCount: 4, totalTokenCount: 13 }
    expect(read(older, { candidatesTokenCount: 6 })).toMatchObject({ output: 6 })
  })

  it('are no usage for an answer with content while only the prompt was counted', () => {
    expect(read({ promptTokenCount: 9 })).toBeUndefined()
    expect(read({ promptTokenCount: 9, totalTokenCount: 9 })).toBeUndefined()
    const counts = readCounts(NO_COUNTS, { promptTokenCount: 9, totalTokenCount: 9 })
    expect(usageOf(counts, false)).toEqual({ ...prompt(9), output: 0, reasoning: 0 })
  })

  it('are none where they are no numbers', () => {
    for (const wrong of [{}, { promptTokenCount: '9' }, { promptTokenCount: -1 }, { promptTokenCount: null }]) {
      expect(read(wrong)).toBeUndefined()
    }
  })
})
