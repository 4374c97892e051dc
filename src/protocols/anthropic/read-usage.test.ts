import { describe, expect, it } from 'vitest'
import { mergeUsage, readUsage } from './read-events.ts'

const read = (...delivered: unknown[]) => readUsage(delivered.reduce<Record<string, unknown>>(mergeUsage, {}))

describe('usage', () => {
  it('is merged field by field: what is null or absent later says nothing', () => {
    const first = { input_tokens: 25, cache_read_input_tokens: 10, cache_creation_input_tokens: 5, output_tokens: 1 }
    const last = { output_tokens: 42, input_tokens: null, cache_read_input_tokens: 11 }
    expect(read(first, last, undefined, 'x')).toEqual({
      ...{ uncachedInput: 25, cachedInput: 11, cacheWrite: 5, output: 42, reasoning: 0 },
    })
  })

  it('keeps what was counted where the last count is zero', () => {
    const first = { input_tokens: 1000, cache_read_input_tokens: 500 }
    expect(read(first, { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 })).toMatchObject({
      ...{ uncachedInput: 1000, cachedInput: 500, output: 7 },
    })
    // A count of the whole input, in which nothing was read from a cache.
    expect(read(first, { input_tokens: 1500, cache_read_input_tokens: 0, output_tokens: 7 })).toMatchObject({
      ...{ uncachedInput: 1500, cachedInput: 0 },
    })
    expect(read({ input_tokens: 0 }, { input_tokens: 9, output_tokens: 0 })).toMatchObject({
      uncachedInput: 9,
      output: 0,
    })
  })

  it('has thinking inside the output, never more of it than that', () => {
    const usage = { input_tokens: 1, output_tokens: 5, output_tokens_details: { thinking_tokens: 9 } }
    expect(read(usage)).toMatchObject({ output: 5, reasoning: 5 })
  })

  it('finds what was written into the cache by how long it is kept', () => {
    const cache_creation = { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 }
    expect(read({ input_tokens: 1, output_tokens: 1, cache_creation })).toMatchObject({ cacheWrite: 7 })
    const both = { input_tokens: 1, output_tokens: 1, cache_creation, cache_creation_input_tokens: 7 }
    expect(read(both)).toMatchObject({ cacheWrite: 7 })
  })

  it('is the sum of all iterations, unless another model continued', () => {
    const iterations = [
      { type: 'compaction', input_tokens: 1000, output_tokens: 50 },
      { type: 'message', input_tokens: 200, output_tokens: 20, cache_read_input_tokens: 3 },
      { type: 'something', input_tokens: 9, output_tokens: 9 },
    ]
    const top = { input_tokens: 200, output_tokens: 20, cache_read_input_tokens: 3, iterations }
    expect(read(top)).toMatchObject({ uncachedInput: 1200, output: 70, cachedInput: 3 })
    const fallback = { ...top, iterations: [...iterations, { type: 'fallback_message', input_tokens: 1 }] }
    expect(read(fallback)).toMatchObject({ uncachedInput: 200, output: 20 })
    expect(read({ ...top, iterations: [null, 5] })).toMatchObject({ uncachedInput: 200 })
  })

  it('that is not numbers is none', () => {
    for (const usage of [
      {},
      { input_tokens: 1 },
      { input_tokens: '1', output_tokens: 2 },
      { input_tokens: -1, output_tokens: 2 },
    ]) {
      expect(read(usage)).toBeUndefined()
    }
    expect(read(JSON.parse('{"__proto__":{"input_tokens":1},"output_tokens":1}'))).toBeUndefined()
    expect(read({ input_tokens: 0, output_tokens: 0 })).toMatchObject({ output: 0 })
  })
})
