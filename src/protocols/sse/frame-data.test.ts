import { describe, expect, it } from 'vitest'
import { parseFrameData } from './frames.ts'

const parsed = (text: string) => parseFrameData({ done: false, invalid: undefined }, Buffer.from(`data: ${text}\n\n`))
const nested = (depth: number) => `${'{"a":['.repeat(depth / 2)}1${']}'.repeat(depth / 2)}`

describe('the object in a frame', () => {
  it('is what JSON stands for, and undefined for what is none', () => {
    expect(parsed('{"a":[1,"b"]}')).toEqual({ a: [1, 'b'] })
    expect(parsed('{"a":')).toBeUndefined()
    expect(parsed('')).toBeUndefined()
  })

  it('is none that is nested too deeply for being written again', () => {
    expect(parsed(nested(500))).toBeDefined()
    expect(parsed(nested(502))).toBeUndefined()
    expect(parsed(nested(100_000))).toBeUndefined()
    expect(parsed('['.repeat(2_000_000))).toBeUndefined()
  })

  it('is none where a line ends with CR alone, which would hide one frame in another', () => {
    for (const frame of ['event: a\rdata: {"a":1}\r\revent: b\ndata: {"b":1}\n\n', 'data: {"a":1}\r\n\rdata: {}\n\n']) {
      const state = { done: false, invalid: undefined }
      expect(parseFrameData(state, Buffer.from(frame))).toBeUndefined()
      expect(state.invalid).toBe('a line that ends with CR alone')
    }
    expect(parseFrameData({ done: false, invalid: undefined }, Buffer.from('event: a\r\ndata: {}\r\n\r\n'))).toEqual({})
  })

  it('takes brackets in strings for text', () => {
    const words = '[{'.repeat(1000)
    expect(parsed(JSON.stringify({ text: words, quoted: `"${words}\\"` }))).toEqual({
      text: words,
      quoted: `"${words}\\"`,
    })
  })
})
