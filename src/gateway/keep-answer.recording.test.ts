import { describe, expect, it } from 'vitest'
import { createByteBudget } from '../lib/bytes.ts'
import { createRecording } from './keep-answer.ts'

const open = (answerBytesMax = 1_000_000, memory = 10_000_000) => {
  const budget = createByteBudget(memory)
  return { budget, recording: createRecording({ answerBytesMax, budget }) }
}

describe('a recording', () => {
  it('is what was added, with its ending, in small pieces and large ones', () => {
    const { recording, budget } = open()
    const pieces = [1, 5, 16_384, 3, 40_000, 0, 20_000].map((size, index) => Buffer.alloc(size, 65 + index))
    for (const piece of pieces) recording.add(piece)
    const before = Buffer.concat(pieces)
    recording.close(Buffer.from('the end'))
    expect(recording.whole()?.equals(Buffer.concat([before, Buffer.from('the end')]))).toBe(true)
    expect(budget.taken).toBeGreaterThanOrEqual(before.length)
    recording.release()
    expect([budget.taken, recording.whole()]).toEqual([0, undefined])
    recording.release()
    expect(budget.taken).toBe(0)
  })

  it('keeps its bytes when the buffer they came in is used again', () => {
    const { recording } = open()
    const piece = Buffer.from('first')
    recording.add(piece)
    piece.fill('x')
    expect(recording.whole()?.toString()).toBe('first')
  })

  it.each([
    { says: 'it is larger than an answer may be', answerBytesMax: 100, memory: 1_000_000 },
    { says: 'there is no memory left for it', answerBytesMax: 1_000_000, memory: 20_000 },
  ])('is given up, with its memory, when $says', ({ answerBytesMax, memory }) => {
    const { recording, budget } = open(answerBytesMax, memory)
    for (let count = 0; count < 10; count++) recording.add(Buffer.alloc(10_000))
    expect([recording.whole(), budget.taken]).toEqual([undefined, 0])
    recording.close(Buffer.from('end'))
    expect(recording.whole()).toBe(undefined)
  })

  it('of nothing but an ending is that ending', () => {
    const { recording } = open()
    recording.close(Buffer.from('{}'))
    expect(recording.whole()?.toString()).toBe('{}')
  })

  it('objects to an ending that is another one', () => {
    const { recording } = open()
    recording.end(Buffer.from('nothing was promised yet'))
    recording.close(Buffer.from('one'))
    recording.end(Buffer.from('one'))
    expect(() => recording.end(Buffer.from('two'))).toThrow(/other bytes/)
  })
})
