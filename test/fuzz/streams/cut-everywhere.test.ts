import { describe, expect, it } from 'vitest'
import type { LaneWire } from '../../../src/model/wire.ts'
import { DONE_FRAME } from '../../../src/protocols/sse/frames.ts'
import { randomFrom } from '../../fixtures/lib/seeded-random.ts'
import { CANONICAL, framesOf } from './answer-frames.ts'
import { diceOf, type EncodedFrame } from './dice.ts'
import { LANE_WIRES } from './hostile-streams.ts'
import { judgeStream, playEncoder } from './play-encoder.ts'
import { compareReadings, readInPieces, readWhole } from './play-reader.ts'
import { chatEncoder, readerOf, responsesEncoder } from './play-stream.ts'

/** As the wire's own servers write it. */
const plain = (frames: readonly EncodedFrame[]): string =>
  frames
    .map(({ name, emitted }) => {
      const data = typeof emitted === 'string' ? emitted : JSON.stringify(emitted)
      return `${name === undefined ? '' : `event: ${name}\n`}data: ${data}\n\n`
    })
    .join('')

const KEEP_ALIVES = [
  ': ping\n\n',
  ':\n\n',
  '\n\n',
  'event: ping\ndata: {"type":"ping"}\n\n',
  'id: 7\nretry: 3\n\n',
  'data:\n\n',
]
const between = (text: string, what: (at: number) => string): string => {
  let at = 0
  return text.replaceAll('\n\n', () => `\n\n${what(at++)}`)
}

/** The same stream, written otherwise. */
const SPELLINGS: Readonly<Record<string, (text: string) => string>> = {
  LF: (text) => text,
  CRLF: (text) => text.replaceAll('\n', '\r\n'),
  'LF and CRLF in turns': (text) => {
    let at = 0
    return text.replaceAll('\n', () => (at++ % 3 === 0 ? '\r\n' : '\n'))
  },
  'data without a space': (text) => text.replaceAll('data: ', 'data:'),
  'names that lie': (text) => text.replaceAll(/event: .*\n/g, '').replaceAll('data: {', 'event: error\ndata: {'),
  'data in several lines': (text) =>
    text.replaceAll(/^data: (\{.*)$/gm, (_, json: string) =>
      JSON.stringify(JSON.parse(json), null, 1).replaceAll(/^/gm, 'data: '),
    ),
  'comments and pings between frames': (text) => between(text, (at) => KEEP_ALIVES[at % KEEP_ALIVES.length]!),
  'comments inside of frames': (text) => text.replaceAll('data: ', ': thinking\ndata: '),
  'other fields in frames': (text) => text.replaceAll('data: ', 'id: 4\nretry: 10\nnobody: knows\ndata: '),
  'a byte order mark': (text) => `\ufeff${text}`,
  'events of an unknown type': (text) =>
    between(text, () => 'data: {"type":"nobody_knows","delta":{"type":"nobody"}}\n\n'),
  escapes: (text) => text.replaceAll(/[^ -~\n]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
}

/** Gemini ends a stream without a word. */
const linesOf = (wire: LaneWire) => plain(framesOf(wire, CANONICAL)) + (wire === 'gemini' ? DONE_FRAME : '')

describe.each(LANE_WIRES)('a stream of %s', (wire) => {
  const bytes = Buffer.from(linesOf(wire))
  const whole = readWhole(readerOf(wire), bytes)

  it('has events of every kind', () => {
    expect(whole.state).toMatchObject({ finished: true, invalid: undefined, error: undefined })
    expect(whole.state.usage).toMatchObject({ uncachedInput: 25, cachedInput: 10, output: 42, reasoning: 12 })
    for (const type of ['text-delta', 'tool-call-start', 'tool-call-delta', 'tool-call-end', 'turn-end']) {
      expect(whole.seen, type).toContain(type)
    }
  })

  it('gives the same events in two pieces, wherever it is cut, and byte by byte', () => {
    for (let cut = 0; cut <= bytes.length; cut++) {
      compareReadings(whole, readInPieces(readerOf(wire), [bytes.subarray(0, cut), bytes.subarray(cut)]))
    }
    const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
    compareReadings(whole, readInPieces(readerOf(wire), single))
  })

  it.each(Object.entries(SPELLINGS))('gives the same events with %s, cut or whole', (_, spelling) => {
    const other = Buffer.from(spelling(linesOf(wire)))
    const { frames: _frames, ...emitted } = readWhole(readerOf(wire), other)
    expect(emitted.events).toEqual(whole.events)
    expect(emitted.state).toEqual(whole.state)
    for (let cut = 0; cut <= other.length; cut += 61) {
      const pieces = [other.subarray(0, cut), other.subarray(cut)]
      expect(readInPieces(readerOf(wire), pieces).events).toEqual(whole.events)
    }
  })

  it('follows the grammar of both clients when it breaks off anywhere', () => {
    const dice = diceOf(randomFrom(bytes.length))
    for (let end = 0; end <= bytes.length; end += 11) {
      const client = end % 2 === 0 ? 'chat' : 'responses'
      const encoder = client === 'chat' ? chatEncoder('stream') : responsesEncoder(dice, 'stream')
      judgeStream(client, playEncoder(encoder, encoder.translate(readerOf(wire)), [bytes.subarray(0, end)], 1))
    }
  })

  it('gives no events where lines end with CR alone, which no provider sends', () => {
    const { events, frames } = readWhole(readerOf(wire), Buffer.from(linesOf(wire).replaceAll('\n', '\r')))
    expect({ events, frames }).toEqual({ events: [], frames: 0 })
  })

  it('gives the valid parts of text that is not UTF-8', () => {
    const broken = Buffer.from(linesOf(wire).replaceAll('漢', '\u0001')).map((byte) => (byte === 1 ? 0xff : byte))
    const { events, state } = readWhole(readerOf(wire), Buffer.from(broken))
    expect(state.finished).toBe(true)
    expect(JSON.stringify(events)).toContain('\ufffd')
  })
})
