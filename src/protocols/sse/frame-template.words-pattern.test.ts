import { describe, expect, it } from 'vitest'
import { findGaps, learnTemplate, type TemplateSlot } from './frame-template.ts'

const PLACE: TemplateSlot = {
  gaps: findGaps(['delta']),
  wordsOf: ({ delta }) => (typeof delta === 'string' ? delta : undefined),
}
const frameOf = (fields: object): Buffer => Buffer.from(`data: ${JSON.stringify(fields)}\n\n`)
const learn = (fields: { delta: string }) => learnTemplate(PLACE, frameOf(fields), fields.delta)
const matches = (learned: { delta: string }, next: object): boolean =>
  (learn(learned)?.match(frameOf(next), 0) ?? -1) !== -1

describe('frames with other words', () => {
  it('are known by their other bytes, whatever number and padding they have', () => {
    const learned = { sequence_number: 9, delta: 'a', obfuscation: 'xyz' }
    expect(matches(learned, { sequence_number: 10, delta: 'bc', obfuscation: '' })).toBe(true)
    expect(matches(learned, { sequence_number: 10, delta: 'bc', obfuscation: '', more: 1 })).toBe(false)
    expect(matches(learned, { sequence_number: 'x', delta: 'bc', obfuscation: '' })).toBe(false)
  })

  it('are not known where the words are empty, because these mean nothing at all', () => {
    expect(matches({ delta: 'a' }, { delta: '' })).toBe(false)
    expect(learn({ delta: '' })).toBeUndefined()
  })

  it('are not known where it is another member of that name that differs', () => {
    const inner = (words: string) => ({ inner: { delta: words }, delta: 'same' })
    expect(learnTemplate(PLACE, frameOf(inner('a')), 'a')?.match(frameOf(inner('b')), 0)).toBe(-1)
    const number = (at: number) => ({ inner: { sequence_number: at }, delta: 'a' })
    expect(matches(number(1), number(2))).toBe(false)
  })

  it('are not known by half of them', () => {
    const pattern = learn({ delta: 'a' })
    const next = frameOf({ delta: 'bcd' })
    for (let length = 0; length < next.length; length++) expect(pattern?.match(next.subarray(0, length), 0)).toBe(-1)
    expect(pattern?.match(next, 0)).toBe(next.length)
  })
})

describe('the words', () => {
  const wordsOf = (json: string) => {
    const pattern = learn({ delta: 'a' })
    const frame = Buffer.from(`data: {"delta":"${json}"}\n\n`)
    if (pattern?.match(frame, 0) !== frame.length) return undefined
    const { start, end, written, textBytes } = pattern.matched
    return { written: Buffer.from(written ?? frame.toString('latin1', start, end), 'latin1').toString(), textBytes }
  }

  it('are written as we would write them, and counted as text', () => {
    expect(wordsOf('plain')).toEqual({ written: 'plain', textBytes: 5 })
    expect(wordsOf('漢')).toEqual({ written: '漢', textBytes: 3 })
    expect(wordsOf('\\n')).toEqual({ written: '\\n', textBytes: 1 })
    expect(wordsOf('\\u00e9\\/')).toEqual({ written: 'é/', textBytes: 3 })
    expect(wordsOf('\\ud83d')).toEqual({ written: '\\ud83d', textBytes: 3 })
  })

  it('are no words where they are no JSON', () => {
    for (const json of ['\\x', '\\u12', '\u0007', '\\']) expect(wordsOf(json)).toBeUndefined()
  })
})
