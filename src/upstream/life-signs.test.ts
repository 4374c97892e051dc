import { describe, expect, test } from 'vitest'
import { createLifeSigns } from './life-signs.ts'

const judged = (...chunks: string[]) => {
  const isSignOfLife = createLifeSigns()
  return chunks.map((chunk) => isSignOfLife(Buffer.from(chunk)))
}

describe('a sign of life', () => {
  test.each([': ping\n\n', ':\n:\r\n\r\n', '\n', ' \r\n\t', '', ': cut in the mid'])('%j is one', (text) => {
    expect(judged(text)).toEqual([true])
  })

  test.each(['data: x\n\n', ': ping\n\ndata: x\n', ': a\r\nevent: b\r\n', '{"a"', ' {', 'dle\n\n'])(
    '%j is more',
    (text) => {
      expect(judged(text)).toEqual([false])
    },
  )

  test('is still one when it is cut', () => {
    expect(judged(': pi', 'ng', '\n', '\n:', ' x\r', '\n\r', '\n')).toEqual([true, true, true, true, true, true, true])
    expect(judged('data: x\n\n: pi', 'ng\n\n')).toEqual([false, true])
  })

  test('is none where words are cut, although the rest looks like one', () => {
    expect(judged('data', ': x\n', ': ping\n')).toEqual([false, false, true])
    expect(judged(': ping\nda', 'ta', '\n', ': ping')).toEqual([false, false, false, true])
    expect(judged(': pi', 'ng\ndata: x')).toEqual([true, false])
  })
})
