import fc from 'fast-check'
import { expect, it } from 'vitest'
import { problem } from '../../src/model/problem.ts'
import type { Protocol } from '../../src/model/turn.ts'
import type { StreamAdapter } from '../../src/protocols/shared/codec-types.ts'
import { SETTLED } from '../fixtures/protocols/chat/translate.ts'
import { encodedBytes } from '../fixtures/protocols/encoded-bytes.ts'
import { type RandomAnswer, randomAnswer, type Said, saidBy, saidInChat } from './random-answer.ts'
import {
  createCutter,
  deliveredIn,
  deliveredInJson,
  framesIn,
  openClient,
  readerOf,
  sentBy,
  type Told,
} from './turns.ts'

const SEED = 20_262
/** In every run a quarter of them: RANDOM_TURNS=10000. */
const RUNS = Number(process.env.RANDOM_TURNS ?? 300)

/** Every road on which an answer is translated. */
const ROADS = [
  { lane: 'chat', client: 'responses' },
  { lane: 'responses', client: 'chat' },
  { lane: 'responses', client: 'responses' },
] as const satisfies readonly { lane: Protocol; client: Protocol }[]

interface Turn {
  readonly answer: RandomAnswer
  readonly road: (typeof ROADS)[number]
  readonly delivery: 'stream' | 'stream' | 'json'
  readonly newline: '\n' | '\r\n'
  readonly cuts: readonly number[]
  /** Behind which piece the lane breaks off; undefined: it does not. */
  readonly breakBehind: number | undefined
  /** Behind which pieces there is a silence. */
  readonly silences: readonly number[]
  /** Another lane has begun before this one, and failed before it had said anything. */
  readonly isSecond: boolean
}

const turns: fc.Arbitrary<Turn> = fc.record({
  answer: randomAnswer,
  road: fc.constantFrom(...ROADS),
  delivery: fc.constantFrom('stream', 'stream', 'stream', 'json'),
  newline: fc.constantFrom('\n', '\r\n'),
  cuts: fc.array(fc.nat(20_000), { maxLength: 12 }),
  breakBehind: fc.option(fc.nat(12), { nil: undefined, freq: 3 }),
  silences: fc.array(fc.nat(12), { maxLength: 3 }),
  isSecond: fc.boolean(),
})

const PING = ': ping\n\n'

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...ends].map((start, at) => bytes.subarray(start, ends[at] ?? bytes.length))
}

/** What the lane's language leaves of an answer, and then the client's. */
function expectedOf({ answer: { events }, road: { lane, client } }: Turn): Said {
  if (lane === 'chat') return saidInChat(events, 'untold')
  return client === 'chat' ? saidInChat(events, 'told') : saidBy(events)
}

/** What is counted of an answer only grows: marks of progress are made of it. */
function watch(adapter: StreamAdapter): () => void {
  let [output, given] = [0, 0]
  return () => {
    const { outputBytes, heldBytes } = adapter.state
    const grows = heldBytes >= 0 && outputBytes >= output && outputBytes - heldBytes >= given
    // Asked of every frame: an expectation costs more than all the rest.
    if (!grows) expect({ outputBytes, heldBytes }).toEqual({ output, given })
    output = outputBytes
    given = outputBytes - heldBytes
  }
}

interface Played {
  readonly emitted: Buffer
  readonly end: 'finished' | 'failed'
  readonly adapter: StreamAdapter
  readonly pieces: number
}

function play({ answer, road, delivery, newline, ...turn }: Turn): Played {
  const stream = PING + sentBy(road.lane, answer.events)
  const pieces = cut(Buffer.from(stream.replaceAll('\n', newline)), turn.cuts)
  const encoder = openClient(road.client, delivery)
  const emitted: (Buffer | string | undefined)[] = []
  if (turn.isSecond) emitted.push(encoder.translate(readerOf(road.lane)).read(framesIn(pieces)[1]!).bytes)
  const adapter = encoder.translate(readerOf(road.lane))
  const look = watch(adapter)
  const taken = delivery === 'json' ? pieces : pieces.slice(0, turn.breakBehind)
  const take = createCutter()
  for (const [at, piece] of taken.entries()) {
    for (const frame of take(piece)) {
      emitted.push(adapter.read(frame).bytes)
      look()
    }
    if (turn.silences.includes(at) && !adapter.state.finished) emitted.push(encoder.keepAlive())
  }
  const end = adapter.state.finished ? 'finished' : 'failed'
  const last = end === 'finished' ? adapter.close(SETTLED) : encoder.fail(problem('upstream_error', 'It broke.'))
  return {
    emitted: Buffer.concat([...emitted.map(encodedBytes), last]),
    end,
    adapter,
    pieces: pieces.length,
  }
}

it('turns of any kind are told by the grammar of their client, and lose what is known', { timeout: 120_000 }, () => {
  const counts: Record<string, number> = {}
  const count = (what: string, by = 1) => {
    counts[what] = (counts[what] ?? 0) + by
  }
  fc.assert(
    fc.property(turns, (turn) => {
      const { emitted, end, adapter, pieces } = play(turn)
      const { road, delivery } = turn
      count(`${road.lane} to ${road.client}`)
      count(`${delivery}, ${end}`)
      count('pieces', pieces)
      count('bytes', emitted.length)
      const expected = expectedOf(turn)
      expect(adapter.state.invalid).toBeUndefined()
      if (delivery === 'json') {
        expect(deliveredInJson(road.client, emitted.toString())).toEqual(expected)
        return
      }
      const delivered = deliveredIn(road.client, emitted.toString())
      expect(delivered).toMatchObject({ end })
      if (end === 'finished') expect((delivered as Told).emitted).toEqual(expected)
      else expectBeginning((delivered as Told).emitted, expected)
      if (end === 'finished') expect(adapter.state.heldBytes).toBe(0)
    }),
    { seed: SEED, numRuns: RUNS },
  )
  console.info(`${RUNS} turns of any kind: seed ${SEED}`, counts)
  for (const { lane, client } of ROADS) expect(counts[`${lane} to ${client}`]).toBeGreaterThan(RUNS / 5)
  for (const what of ['stream, finished', 'stream, failed', 'json, finished'])
    expect(counts[what], what).toBeGreaterThan(RUNS / 10)
})

function expectBeginning(delivered: Said, expected: Said): void {
  for (const name of ['content', 'refusal', 'reasoning'] as const)
    expect(expected[name].startsWith(delivered[name]), name).toBe(true)
  for (const [at, { words, ...call }] of delivered.calls.entries()) {
    expect(expected.calls[at]).toMatchObject(call)
    expect(expected.calls[at]?.words.startsWith(words)).toBe(true)
  }
}
