import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createServerEventReader, type ServerEvent } from './read-server-events.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)

function readAll(pieces: readonly Uint8Array[]): ServerEvent[] {
  const reader = createServerEventReader()
  return [...pieces.flatMap((piece) => reader.read(piece)), ...reader.end()]
}

/** Cuts the text before each of these places. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]
  return at.slice(1).map((end, index) => bytes.slice(at[index], end))
}

describe('the server-sent event reader', () => {
  it('reads names, multi-line data, comments and the end of a stream', () => {
    const text = ': hello\n\nevent: a\ndata: {"x":1}\n\ndata:two\ndata: lines\nid: 7\n\nevent: lost\n\ndata: unfinished'
    expect(readAll([bytesOf(text)])).toEqual([
      { event: 'a', data: '{"x":1}' },
      { event: 'message', data: 'two\nlines' },
    ])
  })

  it('removes one leading space and keeps colons', () => {
    expect(readAll([bytesOf('data:  a: b\n\n')])).toEqual([{ event: 'message', data: ' a: b' }])
  })

  it('drops the name of an event without data', () => {
    expect(readAll([bytesOf('event: x\n\ndata: 1\n\n')])).toEqual([{ event: 'message', data: '1' }])
  })

  it('reads the same events for any chunks and line endings', () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replace(/[\r\n]/g, ''))
    const events = fc.array(
      fc.record({
        event: fc.constantFrom('message', 'a.b', 'ü'),
        data: fc.array(line, { minLength: 1, maxLength: 3 }),
      }),
      { maxLength: 6 },
    )
    const ends = fc.constantFrom('\n', '\r\n', '\r')
    fc.assert(
      fc.property(events, ends, fc.array(fc.nat(), { maxLength: 30 }), (given, end, places) => {
        const text = given
          .map(({ event, data }) => {
            const name = event === 'message' ? [] : [`event: ${event}`]
            return [...name, ': keep-alive', ...data.map((each) => `data: ${each}`), '', ''].join(end)
          })
          .join('')
        const wanted = given.map(({ event, data }) => ({ event, data: data.join('\n') }))
        expect(readAll(cut(bytesOf(text), places))).toEqual(wanted)
      }),
      { numRuns: 500 },
    )
  })

  it('reads them byte by byte', () => {
    const bytes = bytesOf('data: ä€😀\r\n\r\ndata: b\r\r')
    expect(readAll([...bytes].map((byte) => Uint8Array.of(byte))).map(({ data }) => data)).toEqual(['ä€😀', 'b'])
  })
})
