import { describe, expect, it } from 'vitest'
import {
  answer,
  CHUNK,
  type Delivery,
  failure,
  good,
  type Play,
  playLanes,
} from '../../test/fixtures/gateway/run-lanes.ts'
import { requestOf as responsesRequestOf, withItems } from '../../test/fixtures/protocols/responses/read-request.ts'
import type { TurnRequest } from '../model/turn.ts'
import { UpstreamBrokenOff, UpstreamTimedOut } from '../providers/upstream-answer.ts'

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

async function run(delivery: Delivery, plays: readonly Play[], turn?: TurnRequest) {
  const { result, lane, attempts, asked } = await playLanes({ delivery, plays, ...(turn ? { turn } : {}) })
  expect(attempts).toHaveLength(asked)
  expect(lane?.model).toBe(`lane-${asked - 1}`)
  return { result: result.kind, asked }
}

const named = (plays: Readonly<Record<string, Play>>) =>
  Object.entries(plays).flatMap(([name, play]) =>
    (['json', 'stream'] as const).map((delivery) => ({ name, play, delivery })),
  )

describe('the lanes of a turn', () => {
  it.each(named(CERTAIN))('are three at most after: $name ($delivery)', async ({ play, delivery }) => {
    expect(await run(delivery, [play, play, good])).toEqual({ result: 'finished', asked: 3 })
    expect(await run(delivery, [play, play, play, good])).toEqual({ result: 'failed', asked: 3 })
  })

  it('stop before anything more leaves where the hold was lost, and no other lane is asked', async () => {
    const lost = await playLanes({ delivery: 'stream', plays: [good, good], isHoldLost: true })
    expect(lost.result).toMatchObject({ kind: 'stopped', reason: 'ledger-gone' })
    expect([lost.asked, lost.sent]).toEqual([1, []])
    expect((await playLanes({ delivery: 'stream', plays: [good] })).sent).not.toEqual([])
  })

  it.each(named(UNCERTAIN))('are one more after: $name ($delivery)', async ({ play, delivery }) => {
    expect(await run(delivery, [play, good])).toEqual({ result: 'finished', asked: 2 })
    expect(await run(delivery, [play, play, good])).toEqual({ result: 'failed', asked: 2 })
  })

  it('are one more where a summary was asked for and something else was written', async () => {
    const compaction: TurnRequest = {
      ...responsesRequestOf(withItems({ role: 'user', content: 'Hi' })),
      compacts: 'at-endpoint',
    }
    const cut: Play = () => answer(200, [`data: ${CHUNK.replace('"stop"', '"length"')}\n\ndata: [DONE]\n\n`])
    const summed: Play = () => good('stream')
    expect(await run('json', [cut, summed], compaction)).toEqual({ result: 'finished', asked: 2 })
    expect(await run('json', [cut, cut, summed], compaction)).toEqual({ result: 'failed', asked: 2 })
    expect(await run('json', [() => answer(429), cut, summed], compaction)).toEqual({ result: 'finished', asked: 3 })
  })

  it('count from the first doubt on, whatever the next one says', async () => {
    const certain = CERTAIN['refused connection']!
    const uncertain = UNCERTAIN['no first byte in time']!
    expect(await run('json', [uncertain, certain, good])).toEqual({ result: 'failed', asked: 2 })
    expect(await run('json', [certain, uncertain, good])).toEqual({ result: 'finished', asked: 3 })
    expect(await run('json', [certain, certain, uncertain, good])).toEqual({ result: 'failed', asked: 3 })
  })
})
