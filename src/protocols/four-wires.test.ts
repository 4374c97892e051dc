import fc from 'fast-check'
import { expect, it } from 'vitest'
import { openEncoder } from '../../test/fixtures/protocols/responses/encoder.ts'
import { framesOf, type Piece, type PlainAnswer } from '../../test/fuzz/streams/answer-frames.ts'
import type { EncodedFrame } from '../../test/fuzz/streams/dice.ts'
import { LANE_WIRES } from '../../test/fuzz/streams/hostile-streams.ts'
import { type Played, playEncoder } from '../../test/fuzz/streams/play-encoder.ts'
import { chatEncoder, readerOf } from '../../test/fuzz/streams/play-stream.ts'
import { deliveredIn } from '../../test/translation-gaps/turns.ts'
import type { Protocol } from '../model/turn.ts'
import type { LaneWire } from '../model/wire.ts'

const SEED = 20_272
const RUNS = 300

const words = fc.constantFrom(
  'a',
  ' the',
  'Longer words. ',
  '漢字 🦜',
  'naïve\n',
  '"\\',
  '{"a":',
  '\u2028',
  '\n\ndata: [DONE]\n\n',
)
const json = fc.constantFrom<readonly string[]>(
  ['{}'],
  ['{"city":', '"Oslo"', '}'],
  ['{"a":[1,', '2]}'],
  ['{"é":"漢"}'],
)
const piece: fc.Arbitrary<Piece> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('thought', 'text', 'text'),
    words: fc.array(words, { minLength: 1, maxLength: 5 }),
  }),
  fc.record({ kind: fc.constant('call'), name: fc.constantFrom('look', 'find_it'), words: json }),
)

const answers: fc.Arbitrary<PlainAnswer> = fc
  .record({
    pieces: fc.array(piece, { maxLength: 6 }),
    end: fc.constantFrom<PlainAnswer['end']>('stop', 'stop', 'length', 'filter'),
    counts: fc.record({ input: fc.nat(500), cached: fc.nat(500), output: fc.nat(500), thought: fc.nat(500) }),
  })
  .map(({ pieces, end, counts: { input, cached, output, thought } }) => ({
    pieces: pieces.filter(({ kind }, at) => kind === 'call' || kind !== pieces[at - 1]?.kind),
    end,
    // What says something has cost something, and Gemini tells the two apart by their sum.
    counts: { input: input + cached, cached, output: 1 + output + thought, thought },
  }))

const bytesOf = (frames: readonly EncodedFrame[]): Buffer =>
  Buffer.from(
    frames
      .map(({ emitted }) => `data: ${typeof emitted === 'string' ? emitted : JSON.stringify(emitted)}\n\n`)
      .join(''),
  )

/** Reasoning that a wire tells as it is and one that it tells as a summary are one thing for who has asked for summaries. */
const encoderOf = (client: Protocol, delivery: 'stream' | 'json') =>
  client === 'chat' ? chatEncoder(delivery) : openEncoder({ fields: { reasoning: { summary: 'auto' } }, delivery })

function play(wire: LaneWire, client: Protocol, delivery: 'stream' | 'json', bytes: Buffer): Played {
  const encoder = encoderOf(client, delivery)
  return playEncoder(encoder, encoder.translate(readerOf(wire)), [bytes], 9)
}

it('an answer is the same for its client on each of the four wires, and so are its counts', {
  timeout: 120_000,
}, () => {
  const seen = { answers: 0, pieces: 0, calls: 0 }
  fc.assert(
    fc.property(answers, fc.constantFrom('chat', 'responses'), (answer, client) => {
      seen.answers += 1
      seen.pieces += answer.pieces.length
      seen.calls += answer.pieces.filter(({ kind }) => kind === 'call').length
      const streams = LANE_WIRES.map((wire) => [wire, bytesOf(framesOf(wire, answer))] as const)
      const [body, ...bodies] = streams.map(([wire, bytes]) => play(wire, client, 'json', bytes).emitted.toString())
      for (const other of bodies) expect(other).toBe(body)
      const [delivered, ...others] = streams.map(([wire, bytes]) =>
        deliveredIn(client, play(wire, client, 'stream', bytes).emitted.toString()),
      )
      expect(delivered).toMatchObject({ end: 'finished' })
      for (const other of others) expect(other).toEqual(delivered)
      for (const [wire, bytes] of streams) expect(usageOf(wire, bytes), wire).toEqual(usageIn(answer))
    }),
    { seed: SEED, numRuns: RUNS },
  )
  console.info(`four wires: seed ${SEED}, ${JSON.stringify(seen)}`)
  expect(seen.calls).toBeGreaterThan(RUNS / 2)
})

function usageOf(wire: LaneWire, bytes: Buffer) {
  const encoder = chatEncoder('stream')
  const adapter = encoder.translate(readerOf(wire))
  playEncoder(encoder, adapter, [bytes], 9)
  return adapter.state.usage
}

const usageIn = ({ counts: { input, cached, output, thought } }: PlainAnswer) => ({
  ...{ uncachedInput: input - cached, cachedInput: cached, cacheWrite: 0, output, reasoning: thought },
})
