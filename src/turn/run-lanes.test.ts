import { describe, expect, it } from 'vitest'
import { catalogOf, modelDefinition } from '../catalog/catalog.fixture.ts'
import type { AdmittedTurn } from '../ledger/ledger.ts'
import type { Caller } from '../model/caller.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import type { TurnRequest } from '../model/turn.ts'
import { anyNumberOfRetries, everyLaneAsked } from '../routing/lane-health.fixture.ts'
import { createLaneLessons } from '../routing/lane-lessons.ts'
import { plainSeals } from '../seals/plain-seals.fixture.ts'
import type { UpstreamBody, UpstreamFailed, UpstreamOutcome } from '../upstream/upstream-answer.ts'
import { UpstreamBrokenOff, UpstreamTimedOut } from '../upstream/upstream-answer.ts'
import { readRequest } from '../wire/chat/read-request.ts'
import { scanJson } from '../wire/json/scan-json.ts'
import { countedIds } from '../wire/mint-ids.fixture.ts'
import { turnOf as responsesTurnOf, withItems } from '../wire/responses/read-request.fixture.ts'
import { createCallSeals } from './call-seals.ts'
import { createFirstWord } from './first-word.ts'
import { openVoice } from './open-voice.ts'
import { type RunDeps, runLanes } from './run-lanes.ts'
import type { RunnableTurn } from './runnable-turn.ts'
import type { Sink } from './sink.ts'
import { createTurnAbort } from './turn-abort.ts'

const BOUNDS = { depthMax: 64, valuesMax: 1000, frameBytesMax: 1000, bodyBytesMax: 1000 }
type Delivery = TurnRequest['delivery']

function turnOf(delivery: Delivery): TurnRequest {
  const value = { model: 'm', stream: delivery === 'stream', messages: [{ role: 'user', content: 'Hello' }] }
  const bytes = Buffer.from(JSON.stringify(value))
  const scanned = scanJson(bytes, BOUNDS)
  const read = scanned.kind === 'scanned' ? readRequest({ bytes, members: scanned.members, value }) : undefined
  if (read?.kind !== 'turn') throw new Error('the request of this test is malformed')
  return read.turn
}

/** A body that says these pieces, and then ends or fails. */
function bodyOf(pieces: readonly string[], failure?: Error): UpstreamBody {
  const left = pieces.map((piece) => [Buffer.from(piece)])
  return {
    read: () => (left.length === 0 && failure ? Promise.reject(failure) : Promise.resolve(left.shift() ?? [])),
    cancel() {},
    release() {},
  }
}

const answer = (status: number, pieces: readonly string[] = [], failure?: Error): UpstreamOutcome => ({
  kind: 'answer',
  status,
  headers: {},
  body: bodyOf(pieces, failure),
})
const failure = (reason: UpstreamFailed['reason'], expired?: UpstreamFailed['expired']): UpstreamOutcome => ({
  kind: 'failed',
  reason,
  message: 'as the test wants it',
  ...(expired ? { expired } : {}),
})

type Play = (delivery: Delivery) => UpstreamOutcome

const OVERLOADED = '{"error":{"message":"overloaded","code":"overloaded"}}'

/** The provider has certainly not worked on the request. */
const CERTAIN: Readonly<Record<string, Play>> = {
  'refused connection': () => failure('not-sent'),
  'no connection in time': () => failure('timeout', 'connect'),
  redirect: () => failure('redirected'),
  '401': () => answer(401),
  '429': () => answer(429),
  '500': () => answer(500, ['<html>']),
  '503 that breaks off': () => answer(503, ['{'], new UpstreamBrokenOff('reset')),
  'error instead of an answer': (delivery) =>
    answer(200, [delivery === 'json' ? OVERLOADED : `data: ${OVERLOADED}\n\n`]),
}

/** It has the request, and what it did with it is not known. */
const UNCERTAIN: Readonly<Record<string, Play>> = {
  'connection broken before an answer': () => failure('broken-off'),
  'no first byte in time': () => failure('timeout', 'first-byte'),
  'no end in time': () => failure('timeout', 'total'),
  'connection broken after the head': () => answer(200, [], new UpstreamBrokenOff('reset')),
  'silence after the head': () => answer(200, [], new UpstreamTimedOut('idle')),
  'nothing with 200': () => answer(200),
  'garbage with 200': () => answer(200, ['<html>']),
}

const WHOLE = '{"object":"chat.completion","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}'
const CHUNK =
  '{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}'
const good: Play = (delivery) => answer(200, [delivery === 'json' ? WHOLE : `data: ${CHUNK}\n\ndata: [DONE]\n\n`])

/** Runs a model whose lanes are played in their order; returns what became of it and how many were asked. */
async function run(delivery: Delivery, plays: readonly Play[], turn: TurnRequest = turnOf(delivery)) {
  const lanes = plays.map((_, at) => ({ upstream: 'demo', model: `lane-${at}`, priority: at, weight: 1 }))
  const entry = catalogOf(modelDefinition('m', { lanes })).entries.get('m')!
  let asked = 0
  const deps: RunDeps = {
    send: () => Promise.resolve(plays[asked++]!(delivery)),
    lessons: createLaneLessons(),
    health: everyLaneAsked,
    retries: anyNumberOfRetries,
    mint: countedIds(),
    ticks: () => 0,
    now: () => 0,
    bounds: BOUNDS,
  }
  const hold = { cap: 10, durable: Promise.resolve('durable'), mark() {} } as Partial<AdmittedTurn> as AdmittedTurn
  const firstWord = createFirstWord()
  firstWord.waitFor(hold, undefined)
  const work: RunnableTurn = {
    turn,
    cacheSalt: undefined,
    voice: openVoice(
      { ...deps, seals: plainSeals },
      { turn, requestId: 'req_1' as RequestId, caller: {} as Caller },
      { entry, effort: undefined },
      firstWord,
    ),
    entry,
    effort: undefined,
    callSeals: createCallSeals({ ticks: () => 0 }).of(1 as AccountRow),
    hold,
    firstWord,
    inputEstimate: 1,
    sink: { announce() {}, write: () => undefined } as Partial<Sink> as Sink,
    abort: createTurnAbort({ onGone: () => () => {} }, { onCut: () => () => {}, drains: { begin: () => undefined } }),
  }
  const { fate, lane, attempts } = await runLanes(deps, work, entry.model.lanes)
  expect(attempts).toHaveLength(asked)
  expect(lane?.model).toBe(`lane-${asked - 1}`)
  return { fate: fate.kind, asked }
}

const named = (plays: Readonly<Record<string, Play>>) =>
  Object.entries(plays).flatMap(([name, play]) =>
    (['json', 'stream'] as const).map((delivery) => ({ name, play, delivery })),
  )

describe('the lanes of a turn', () => {
  it.each(named(CERTAIN))('are three at most after: $name ($delivery)', async ({ play, delivery }) => {
    expect(await run(delivery, [play, play, good])).toEqual({ fate: 'finished', asked: 3 })
    expect(await run(delivery, [play, play, play, good])).toEqual({ fate: 'failed', asked: 3 })
  })

  it.each(named(UNCERTAIN))('are one more after: $name ($delivery)', async ({ play, delivery }) => {
    expect(await run(delivery, [play, good])).toEqual({ fate: 'finished', asked: 2 })
    expect(await run(delivery, [play, play, good])).toEqual({ fate: 'failed', asked: 2 })
  })

  it('are one more where a summary was asked for and something else was written', async () => {
    const compaction: TurnRequest = {
      ...responsesTurnOf(withItems({ role: 'user', content: 'Hi' })),
      compacts: 'at-endpoint',
    }
    const cut: Play = () => answer(200, [`data: ${CHUNK.replace('"stop"', '"length"')}\n\ndata: [DONE]\n\n`])
    const summed: Play = () => good('stream')
    expect(await run('json', [cut, summed], compaction)).toEqual({ fate: 'finished', asked: 2 })
    expect(await run('json', [cut, cut, summed], compaction)).toEqual({ fate: 'failed', asked: 2 })
    expect(await run('json', [() => answer(429), cut, summed], compaction)).toEqual({ fate: 'finished', asked: 3 })
  })

  it('count from the first doubt on, whatever the next one says', async () => {
    const certain = CERTAIN['refused connection']!
    const uncertain = UNCERTAIN['no first byte in time']!
    expect(await run('json', [uncertain, certain, good])).toEqual({ fate: 'failed', asked: 2 })
    expect(await run('json', [certain, uncertain, good])).toEqual({ fate: 'finished', asked: 3 })
    expect(await run('json', [certain, certain, uncertain, good])).toEqual({ fate: 'failed', asked: 3 })
  })
})
