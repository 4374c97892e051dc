import { expect, it } from 'vitest'
import type { StoredResponses } from '../content/stored-responses.ts'
import type { KeptFacts } from '../ledger/kept-facts.ts'
import { createByteBudget } from '../lib/byte-budget.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import { storeTurn } from './stored-turn.ts'
import type { TurnCall } from './turn-call.ts'
import type { TurnVoice } from './turn-voice.ts'

/** A turn that is stored in a file which is slow to take the first row. */
function slowlyBegun() {
  const written: string[] = []
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const responses: Partial<StoredResponses> = {
    keeps: true,
    async begin() {
      await begun
      written.push('begin')
      return true
    },
    async finish() {
      written.push('finish')
      return true
    },
    async end(_id, _account, status) {
      written.push(status)
    },
    async forget() {
      written.push('forget')
    },
  }
  const turn = { protocol: 'responses', store: true, delivery: 'stream', previousResponseId: undefined, fields: {} }
  const call = { turn, requestId: 'req_1' as RequestId, caller: { account: 1 as AccountRow } } as unknown as TurnCall
  const voice = {
    protocol: 'responses',
    responseId: 'resp_1',
    status: () => 'completed',
    withoutItems: () => '{}',
    storedItems: () => [],
  }
  const deps = {
    ...{ responses: responses as StoredResponses, stateMs: 1000, now: () => 0 },
    ...{ answerBytesMax: 1024, budget: createByteBudget(1024 * 1024) },
  }
  const stored = storeTurn(deps, call, voice as unknown as TurnVoice)
  if (stored === undefined) throw new Error('nothing is stored')
  return { stored, written, begin }
}

const FACTS: KeptFacts = {
  ...{ outcome: 'completed', lane: 'a', firstByteMs: 1, totalMs: 2, attempts: [] },
  usage: { uncachedInput: 1, cachedInput: 0, cacheWrite: 0, output: 1, reasoning: 0, estimated: false },
}

it.each([
  ['finish', (stored) => stored.keep(FACTS)],
  ['failed', (stored) => stored.end('failed')],
  ['cancelled', (stored) => stored.end('cancelled')],
  ['forget', (stored) => stored.forget()],
] as const satisfies [string, (stored: ReturnType<typeof slowlyBegun>['stored']) => Promise<unknown>][])(
  'an end (%s) never overtakes the row of the beginning: it would leave a response that runs for ever',
  async (name, finish) => {
    const { stored, written, begin } = slowlyBegun()
    const over = finish(stored)
    await Promise.resolve()
    begin()
    await over
    expect(written).toEqual(['begin', name])
  },
)
