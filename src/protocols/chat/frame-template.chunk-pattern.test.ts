import { describe, expect, it } from 'vitest'
import type { Fields } from '../../lib/types.ts'
import { learnChunkPattern } from './frame-template.ts'

describe('a pattern', () => {
  const frame = (delta: Fields, over: Fields = {}) => {
    const chunk = { id: 'c', choices: [{ index: 0, delta, finish_reason: null }], ...over }
    return { chunk, bytes: Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`) }
  }
  const matches = (learned: ReturnType<typeof frame>, next: ReturnType<typeof frame>) =>
    (learnChunkPattern(learned.bytes, learned.chunk, 1)?.match(next.bytes, 0) ?? -1) !== -1

  it('is not learned where the strings that differ are no words', () => {
    expect(matches(frame({ content: 'a' }), frame({ content: 'b' }))).toBe(true)
    expect(matches(frame({ content: 'a', x: { content: 'a' } }), frame({ content: 'b', x: { content: 'a' } }))).toBe(
      false,
    )
    expect(matches(frame({ content: 'stopgap 0' }), frame({ content: 'b' }))).toBe(false)
  })

  it('is not met by half a frame, nor by one that goes on otherwise', () => {
    const { bytes, chunk } = frame({ content: 'a' })
    const pattern = learnChunkPattern(bytes, chunk, 1)
    for (let length = 0; length < bytes.length; length++) expect(pattern?.match(bytes.subarray(0, length), 0)).toBe(-1)
    expect(pattern?.match(bytes, 0)).toBe(bytes.length)
    expect(pattern?.match(frame({ content: 'a' }, { usage: { prompt_tokens: 1 } }).bytes, 0)).toBe(-1)
  })

  it('counts the words that stand the same in every frame beside those that differ', () => {
    const goesOn = (content: string) => frame({ content, function_call: { name: 'look' } })
    const { bytes, chunk } = goesOn('a')
    const pattern = learnChunkPattern(bytes, chunk, 'a'.length + 'look'.length)
    expect(pattern?.match(goesOn('some').bytes, 0)).not.toBe(-1)
    expect(pattern?.words).toBe('some'.length + 'look'.length)
  })
})
