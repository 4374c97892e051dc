import { describe, expect, it } from 'vitest'
import { problem } from '../../../src/model/problem.ts'
import { chatDialect } from '../../../src/protocols/chat/dialects.ts'
import { FrameSplitter, FrameTooLarge } from '../../../src/protocols/sse/frames.ts'
import { randomFrom } from '../../fixtures/lib/seeded-random.ts'
import { diceOf, type EncodedFrame } from './dice.ts'
import { LAST, MONSTERS } from './monsters.ts'
import { judgeStream, playEncoder, withoutForeign } from './play-encoder.ts'
import { readWhole } from './play-reader.ts'
import { chatEncoder, readerOf, responsesEncoder } from './play-stream.ts'
import { spell } from './values.ts'

const dice = diceOf(randomFrom(1))
const bytesOf = (frames: Iterable<EncodedFrame>): Buffer =>
  Buffer.from([...frames].map(({ emitted }) => `data: ${spell(emitted)}\n\n`).join(''))

/** As reads of a socket are. */
const piecesOf = (bytes: Buffer): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, at) => bytes.subarray(at * 65_536, (at + 1) * 65_536))

/** More calls, items or parts than an answer has: it is given up at its four thousandth or so. */
const GIVEN_UP: ReadonlySet<string> = new Set([
  ...[
    'chat: calls in one chunk',
    'chat: calls without an index in one chunk',
    'chat: calls without an id in one chunk',
    'chat: calls without a name in one chunk',
    'chat: nameless calls in many chunks',
  ],
  ...['chat: calls in many chunks', 'responses: parts in one message', 'responses: parts in a summary'],
  ...['responses: parts that are added', 'responses: words of many parts', 'responses: items in the last event'],
  ...['responses: calls in the last event', 'responses: items that are added', 'anthropic: calls that do not end'],
  ...[
    'responses: calls without a name',
    'anthropic: arguments of no call that is known',
    'gemini: calls in one chunk',
    'gemini: calls in many chunks',
  ],
])
/** These are endless for a Responses client alone: it would get an item for each. */
const GIVEN_UP_FOR_RESPONSES: ReadonlySet<string> = new Set([
  ...['anthropic: texts that take turns', 'gemini: parts in one chunk', 'gemini: signatures in one chunk'],
])

// What is looked up among all others, for each of tens of thousands, takes minutes: the limit of a test is what shows it.
describe.each(MONSTERS.map((monster) => [`${monster.wire}: ${monster.what}`, monster] as const))(
  '%s',
  (name, monster) => {
    const { wire, frames } = monster
    const bytes = bytesOf([...frames(), LAST[wire]])
    const end = GIVEN_UP.has(name) ? 'given up' : 'finished'

    it('is read to its end, or given up', () => {
      const { state } = readWhole(readerOf(wire), bytes)
      expect(state.invalid !== undefined ? 'given up' : state.finished ? 'finished' : 'open').toBe(end)
      expect(state.error).toBeUndefined()
    })

    it.each(['chat', 'responses'] as const)('is told a %s client', (client) => {
      const encoder = client === 'chat' ? chatEncoder('stream') : responsesEncoder(dice, 'stream')
      const played = playEncoder(encoder, encoder.translate(readerOf(wire)), piecesOf(bytes), 50)
      const isGivenUp = end === 'given up' || (client === 'responses' && GIVEN_UP_FOR_RESPONSES.has(name))
      expect(played.end).toBe(isGivenUp ? 'failed' : 'finished')
      // A word of one byte comes in a frame of its own: that is what there is of amplification.
      expect(played.emitted.length).toBeLessThan(bytes.length * 20 + 10_000_000)
      if (isGivenUp && played.emitted.length < 1_000_000) judgeStream(client, played)
    })

    const isReEmitted = () => {
      const encoder = responsesEncoder(dice, 'stream')
      const played = playEncoder(encoder, encoder.relay({ origin: 'lane' }), piecesOf(bytes), 50)
      expect(played.end).toBe(end === 'given up' ? 'failed' : 'finished')
      if (played.emitted.length < 1_000_000) judgeStream('responses', withoutForeign(played))
    }
    if (wire === 'responses') it('is re-emitted', isReEmitted)

    const isRelayed = () => {
      const encoder = chatEncoder('stream')
      const played = playEncoder(encoder, encoder.relay({ dialect: chatDialect('generic') }), piecesOf(bytes), 50)
      expect(played.emitted.length).toBeLessThan(bytes.length * 20)
    }
    if (wire === 'chat') it('is relayed', isRelayed)
  },
)

describe('a line of ten megabytes', () => {
  const MIB = 1024 * 1024
  const frameBytesMax = 4 * MIB
  const line = Buffer.from(`data: {"choices":[{"delta":{"content":"${'x'.repeat(10_000_000)}"}}]}\n\n`)

  it.each([[65_536], [1400], [line.length]])(
    'in reads of %d bytes is refused, before more of it is held than may be',
    (size) => {
      const splitter = new FrameSplitter({ frameBytesMax })
      let held = 0
      const pushAll = () => {
        for (let at = 0; at < line.length; at += size) {
          splitter.push(line.subarray(at, at + size))
          held += size
          if (splitter.next() !== undefined) return
        }
      }
      expect(pushAll).toThrow(FrameTooLarge)
      expect(held).toBeLessThanOrEqual(frameBytesMax + size)
    },
  )

  it('without an end is refused as well, and the content before it is emitted', () => {
    const splitter = new FrameSplitter({ frameBytesMax })
    const reader = readerOf('chat')
    splitter.push(Buffer.from('data: {"choices":[{"delta":{"content":"a"}}]}\n\n'))
    expect(reader.read(splitter.next()!)).toEqual([{ type: 'text-delta', text: 'a' }])
    splitter.push(Buffer.alloc(frameBytesMax + 1, 'y'))
    expect(() => splitter.next()).toThrow(FrameTooLarge)
    const encoder = chatEncoder('stream')
    expect(String(encoder.fail(problem('upstream_error', 'The provider sent a frame that is too large.')))).toContain(
      'error',
    )
  })
})
