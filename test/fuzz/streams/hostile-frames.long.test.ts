import { expect, it } from 'vitest'
import { createTally, type Tally } from './dice.ts'
import { hostileStream, LANE_WIRES } from './hostile-streams.ts'
import { JSON_CHANGES } from './mutate-json.ts'
import { STREAM_CHANGES } from './mutate-stream.ts'
import { playStream } from './play-stream.ts'
import { DAMAGE_NAMES } from './spell-frames.ts'

const SHORT_RUN = 40_000
/** READER_FRAMES=1000000 READER_SEED=7 make a long run; with READER_STREAM one stream of it is played alone. */
const FRAMES = Number(process.env.READER_FRAMES ?? SHORT_RUN)
const SEED = Number(process.env.READER_SEED ?? 20_271)
const ONE = process.env.READER_STREAM

const SHOWN_BYTES_MAX = 6000

function play(number: number, tally: Tally): void {
  const stream = hostileStream(SEED, number, tally)
  tally.count('streams')
  try {
    playStream(stream, tally)
  } catch (cause) {
    const shown = stream.bytes.toString('latin1').slice(0, SHOWN_BYTES_MAX)
    const name = `READER_SEED=${SEED} READER_STREAM=${number} (${stream.wire})`
    throw new Error(`${name}: ${String(cause)}\n${shown}`, { cause })
  }
}

it('readers and encoders survive whatever a provider may send', { timeout: 3_600_000 }, () => {
  const tally = createTally()
  const began = performance.now()
  const at = (number: number) => play(number, tally)
  if (ONE !== undefined) return at(Number(ONE))
  for (let number = 0; (tally.counts.frames ?? 0) < FRAMES; number++) at(number)
  const seconds = Math.round((performance.now() - began) / 1000)
  console.info(`hostile frames: seed ${SEED}, ${tally.counts.frames} frames, ${seconds} s\n${tableOf(tally.counts)}`)
  // A run too short for that looks for a difference only.
  if (FRAMES >= SHORT_RUN) expect(MUST_BE_SEEN.filter((what) => !((tally.counts[what] ?? 0) >= 3))).toEqual([])
})

const tableOf = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([what, count]) => `${String(count).padStart(9)}  ${what}`)
    .join('\n')

const SAID_BY_ALL = ['text-delta', 'tool-call-start', 'tool-call-delta', 'tool-call-end', 'reasoning-seal', 'turn-end']

/** What was done to streams and what came of it: without these the run says less than it seems to. */
const MUST_BE_SEEN: readonly string[] = [
  'nothing wrong',
  ...JSON_CHANGES.map((name) => `value: ${name}`),
  ...STREAM_CHANGES.map((name) => `order: ${name}`),
  ...DAMAGE_NAMES.map((name) => `damage: ${name}`),
  ...LANE_WIRES.flatMap((wire) => [
    ...['finished', 'an error', 'invalid', 'broken off', 'counted', 'not counted'].map((end) => `${wire}: ${end}`),
    ...SAID_BY_ALL.map((type) => `${wire} gives ${type}`),
  ]),
  ...['anthropic gives summary-delta', 'gemini gives summary-delta', 'responses gives summary-delta'],
  ...[
    'chat gives reasoning-delta',
    'chat gives refusal-delta',
    'responses gives refusal-delta',
    'responses gives usage',
  ],
  ...['chat', 'responses'].flatMap((client) =>
    ['stream: finished', 'stream: failed', 'json: finished', 'json: failed'].map((what) => `${client} client, ${what}`),
  ),
  ...['re-emitted: finished', 're-emitted: failed', 'relayed: finished', 'relayed: failed'],
]
