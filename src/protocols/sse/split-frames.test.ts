import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FrameSplitter, FrameTooLarge, readData } from './frames.ts'

const allOf = (splitter: FrameSplitter): Buffer[] => {
  const frame = splitter.next()
  return frame ? [frame, ...allOf(splitter)] : []
}

const split = (pieces: readonly Buffer[], frameBytesMax = 1024 * 1024) => {
  const splitter = new FrameSplitter({ frameBytesMax })
  const frames = pieces.flatMap((piece) => {
    splitter.push(piece)
    return allOf(splitter)
  })
  return { frames: frames.map(String), rest: String(splitter.takeRest()) }
}

describe('FrameSplitter', () => {
  it('gives the same frames however the bytes are cut, with LF and with CRLF', () => {
    const seed = 77
    let cuts = 0
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[ -~äß漢🙂]{0,40}$/u), { minLength: 1, maxLength: 20 }),
        fc.constantFrom('\n', '\r\n'),
        fc.array(fc.nat(2000), { maxLength: 30 }),
        (texts, newline, places) => {
          const whole = Buffer.from(texts.map((text) => `data: ${text}${newline}${newline}`).join(''))
          const ends = [...new Set(places.map((place) => place % (whole.length + 1)))].sort((a, b) => a - b)
          const pieces = [0, ...ends].map((start, index) => whole.subarray(start, ends[index] ?? whole.length))
          cuts += ends.length
          const { frames, rest } = split(pieces)
          expect(frames.map((frame) => String(readData(Buffer.from(frame))))).toEqual(texts)
          expect(frames.join('')).toBe(String(whole))
          expect(rest).toBe('')
        },
      ),
      { seed, numRuns: 800 },
    )
    console.info(`split-frames: seed ${seed}, 800 streams, ${cuts} cuts`)
  })

  it('keeps an unfinished frame back', () => {
    expect(split([Buffer.from('data: a\n\ndata: b\n')])).toEqual({ frames: ['data: a\n\n'], rest: 'data: b\n' })
  })

  it('refuses a frame that grows without end', () => {
    expect(() => split([Buffer.alloc(2000, 0x61)], 1000)).toThrow(FrameTooLarge)
  })

  it('refuses a frame that is too large, also when it has come whole', () => {
    const whole = Buffer.from(`data: ${'a'.repeat(2000)}\n\n`)
    expect(() => split([whole], 1000)).toThrow(FrameTooLarge)
    expect(split([whole], whole.length).frames).toEqual([String(whole)])
  })

  it('gives large frames in small pieces as they came, while others of them are still held', () => {
    const large = (letter: string) => `data: ${letter.repeat(300_000)}\n\n`
    const whole = Buffer.from(`${large('a')}data: b\n\n${large('c')}${large('d')}data: e\n\n`)
    const pieces = Array.from({ length: Math.ceil(whole.length / 1400) }, (_, at) =>
      whole.subarray(at * 1400, (at + 1) * 1400),
    )
    const { frames, rest } = split(pieces)
    expect(frames.join('') === String(whole)).toBe(true)
    expect(frames.map(({ length }) => length)).toEqual([300_008, 9, 300_008, 300_008, 9])
    expect(rest).toBe('')
  })

  it('does not hold on to a large read for the begin of a frame at its end', () => {
    const read = Buffer.concat([Buffer.from('data: a\n\n'.repeat(5000)), Buffer.from('data: b')])
    const splitter = new FrameSplitter({ frameBytesMax: 1024 })
    splitter.push(read)
    expect(allOf(splitter)).toHaveLength(5000)
    const rest = splitter.takeRest()
    expect(String(rest)).toBe('data: b')
    expect(rest.buffer).not.toBe(read.buffer)
    expect(String(splitter.takeRest())).toBe('')
    splitter.push(Buffer.from('data: d'))
    splitter.push(Buffer.from('\n\n'))
    expect(String(splitter.next())).toBe('data: d\n\n')
  })

  it('leaves out a byte order mark at the begin, however it is cut, and nowhere else', () => {
    const bytes = Buffer.from('\ufeffdata: a\n\n\ufeffdata: b\n\n')
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { frames } = split([bytes.subarray(0, cut), bytes.subarray(cut)])
      expect(frames).toEqual(['data: a\n\n', '\ufeffdata: b\n\n'])
    }
    expect(split([Buffer.from('\n\n'), Buffer.from('\ufeffdata: b\n\n')]).frames).toEqual(['\n\n', '\ufeffdata: b\n\n'])
  })
})

describe('readData', () => {
  it.each([
    ['data: x\n\n', 'x'],
    ['data:x\r\n\r\n', 'x'],
    ['event: ping\ndata: {"a":1}\n\n', '{"a":1}'],
    ['data: a\ndata: b\n\n', 'a\nb'],
    [': comment\ndata:  two spaces\n\n', ' two spaces'],
    ['data\n\n', ''],
  ])('%j holds %j', (frame, data) => {
    expect(String(readData(Buffer.from(frame)))).toBe(data)
  })

  it.each([[': keep-alive\n\n'], ['\n'], ['event: ping\n\n'], ['database: x\n\n']])('%j holds no data', (frame) => {
    expect(readData(Buffer.from(frame))).toBeUndefined()
  })
})
