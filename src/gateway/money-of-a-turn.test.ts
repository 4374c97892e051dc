import { describe, expect, it } from 'vitest'
import { catalogOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import { plainSeals } from '../../test/fixtures/gateway/plain-seals.ts'
import { CALLER } from '../../test/fixtures/model/caller.ts'
import { countedIds } from '../../test/fixtures/protocols/mint-ids.ts'
import { requestWith } from '../../test/fixtures/protocols/responses/encoder.ts'
import { anyNumberOfRetries, everyLaneRequested } from '../../test/fixtures/routing/lane-health.ts'
import type { CallerOutcome } from '../auth/callers.ts'
import type { StoredResponses } from '../db/content/stored-responses.ts'
import type { Durability } from '../ledger/batcher.ts'
import type { Admission, Ledger } from '../ledger/ledger.ts'
import { createSharedByteBudget } from '../lib/bytes.ts'
import type { Ending } from '../model/ending.ts'
import type { RequestId } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import type { TurnRequest } from '../model/turn.ts'
import { createLaneEstimators } from '../pricing/lane-estimators.ts'
import { createSeenPrefixes } from '../pricing/seen-prefixes.ts'
import { parseRequest } from '../protocols/chat/parse-request.ts'
import { scanJson } from '../protocols/json/scan-json.ts'
import type { UpstreamCall } from '../providers/send.ts'
import type { UpstreamOutcome } from '../providers/upstream-answer.ts'
import { createLearnedCapabilities } from '../routing/learned-capabilities.ts'
import { createStickyLanes } from '../routing/plan-lanes.ts'
import { createPrefixGuard } from '../routing/prefix-guard.ts'
import { createDrains } from './cancellation.ts'
import { createCallSealMemory } from './seals.ts'
import { serveTurn } from './serve-turn.ts'
import type { TurnServices } from './turn.ts'
import type { Sink } from './turn-input.ts'

const CAP = 37

/** Runs one turn over providers that answer as they are told, and notes what is done to its hold. */
const moneyOf = (...providers: Provider[]) =>
  moneyOfTurn(
    { turn: turnOf({ model: 'small', max_tokens: 90, messages: [{ role: 'user', content: 'Hello' }] }) },
    providers,
  )

type Provider = (call: UpstreamCall) => UpstreamOutcome

interface Asked {
  readonly turn: TurnRequest
  readonly responses?: Partial<StoredResponses>
  /** What the caller may do by the time of admission: one after the other, as it is judged. */
  readonly judged?: readonly CallerOutcome[]
  /** How often the rights change between their judgement and the decision. */
  readonly changedTimes?: number
  /** What becomes of the hold in the file. */
  readonly durability?: Durability | 'durable-when-hurried'
  /** The account has room for many more turns: the provider is called before the hold is durable. */
  readonly mayCallBeforeDurable?: boolean
}

const SAME: CallerOutcome = { kind: 'caller', caller: CALLER }
const CHANGED: Admission = { kind: 'refused', refusal: { kind: 'caller-changed' }, statuses: [] }

async function moneyOfTurn(
  {
    turn,
    responses = { keeps: false },
    judged = [],
    changedTimes = 0,
    durability = 'durable',
    mayCallBeforeDurable = false,
  }: Asked,
  providers: readonly Provider[],
) {
  let judgements = 0
  let admissions = 0
  const done: string[] = []
  const endings: Ending[] = []
  const refusals: string[] = []
  const written: Buffer[] = []
  const asked: Record<string, unknown>[] = []
  /** How often the provider had been asked when the turn hurried its hold. */
  const hurriedAt: number[] = []
  let write = () => {}
  const whenHurried = new Promise<Durability>((resolve) => {
    write = () => resolve('durable')
  })
  const admission: Admission = {
    kind: 'admitted',
    cap: CAP,
    heldAmount: 1_000_000n as NanoUsd,
    statuses: [],
    mayCallBeforeDurable,
    durable: durability === 'durable-when-hurried' ? whenHurried : Promise.resolve(durability),
    hurry() {
      hurriedAt.push(asked.length)
      write()
    },
    mark: () => true,
    settle: async (ending) => {
      if (durability === 'refused' || durability === 'lost') return { kind: 'lost' }
      const { owed } = ending
      done.push(owed ? 'settle' : 'release')
      endings.push(ending)
      return owed ? { kind: 'settled', charge: owed.cost, shortfall: 0n as NanoUsd, tier: 0 } : { kind: 'released' }
    },
    detach: () => done.push('detach'),
  }
  const ledger: Pick<Ledger, 'admit' | 'limitStatuses'> = {
    admit: async () => (admissions++ < changedTimes ? CHANGED : admission),
    limitStatuses: () => [],
  }
  const lanes = providers.map((_, priority) => ({ upstream: 'demo', model: `lane-${priority}`, priority, weight: 1 }))
  const deps: TurnServices = {
    catalog: catalogOf(modelDefinition('small', { lanes, choicesMax: 2 })),
    ledger: ledger as Ledger,
    callers: { changes: 0, findAgain: () => judged[judgements++] ?? SAME },
    limits: { key: {}, account: {}, accountModel: {}, model: {} },
    chosenCap: { sharePercent: 25, tokensMin: 1024 },
    estimators: createLaneEstimators(),
    seenPrefixes: createSeenPrefixes({ nowMicros: () => 0 }),
    prefixGuard: createPrefixGuard({ nowMicros: () => 0 }),
    onServerAbort: () => () => {},
    drains: createDrains({ nowMicros: () => 0 }),
    live: new Map(),
    running: { watch: () => ({ hasEvents: false, stop: async () => {} }) },
    random: () => 0.5,
    cacheSaltOf: () => 'salt',
    send: async (call) => {
      asked.push(JSON.parse(call.body.toString()))
      return providers[asked.length - 1]!(call)
    },
    capabilities: createLearnedCapabilities(() => 0),
    health: everyLaneRequested,
    retryBudget: anyNumberOfRetries,
    retryWait: { maxMs: () => 0, wait: async () => false },
    sticky: createStickyLanes({ nowMicros: () => 0 }),
    mint: countedIds(),
    seals: plainSeals,
    callSeals: createCallSealMemory({ nowMicros: () => 0 }),
    responses: responses as StoredResponses,
    answers: { keep: async () => false, forget: async () => {} },
    stateMs: 0,
    answerBytesMax: 0,
    budget: createSharedByteBudget(0),
    nowMicros: () => 0,
    now: () => 1,
    bounds: { frameBytesMax: 1e6, bodyBytesMax: 4e6, depthMax: 64, valuesMax: 1e6 },
  }
  const call = {
    requestId: 'req_1' as RequestId,
    caller: CALLER,
    request: turn,
    sink: {
      ...quietSink((emitted) => refusals.push(emitted.code)),
      write: (bytes: Buffer) => void written.push(bytes),
    },
    startedAt: 0,
  }
  const thrown = await serveTurn(deps, call).then(
    () => undefined,
    (error: unknown) => error,
  )
  return { done, endings, asked, thrown, refusals, written, hurriedAt }
}

function turnOf(body: object) {
  const bytes = Buffer.from(JSON.stringify(body))
  const scanned = scanJson(bytes, { depthMax: 64, valuesMax: 1000 })
  if (scanned.kind !== 'scanned') throw new Error(scanned.kind)
  const outcome = parseRequest({ bytes, members: scanned.members, value: body as never })
  if (outcome.kind === 'refused') throw new Error(outcome.problem.message)
  return outcome.request
}

const quietSink = (refuse: Sink['refuse']): Sink => ({
  phase: 'quiet',
  disconnected: false,
  isRead: true,
  onSilence: () => {},
  announce: () => {},
  write: () => undefined,
  accept: () => {},
  end: () => {},
  refuse,
  destroy: () => {},
  onDisconnect: () => {},
})

function answerWith(status: number, emitted: object) {
  return (): UpstreamOutcome => {
    const pieces = [[Buffer.from(JSON.stringify(emitted))]]
    const body = { read: async () => pieces.shift() ?? [], cancel: () => {}, release: () => {} }
    return { kind: 'answer', status, headers: { 'content-type': 'application/json' }, body }
  }
}

/** A read for each chunk. */
const streamOf =
  (...chunks: object[]) =>
  (): UpstreamOutcome => {
    const frames = chunks.map((chunk) => ({ object: 'chat.completion.chunk', ...chunk }))
    const pieces = frames.map((frame) => [Buffer.from(`data: ${JSON.stringify(frame)}\n\n`)])
    const body = { read: async () => pieces.shift() ?? [], cancel: () => {}, release: () => {} }
    return { kind: 'answer', status: 200, headers: { 'content-type': 'text/event-stream' }, body }
  }
const LAST_CHUNK = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }

const replyWith = (prompt: number, completion: number, choices = 1) =>
  answerWith(200, {
    id: 'chatcmpl-x',
    object: 'chat.completion',
    created: 1,
    model: 'lane',
    choices: Array.from({ length: choices }, (_, index) => ({
      ...{ index, message: { role: 'assistant', content: 'Hello to you too' }, finish_reason: 'stop' },
    })),
    usage: { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion },
  })
const overloadedAfterWork = answerWith(503, {
  error: { message: 'Overloaded' },
  usage: { prompt_tokens: 40, completion_tokens: 30, total_tokens: 70 },
})

it('reads a JSON answer with the probabilities of thousands of tokens', async () => {
  const one = { token: 'a', logprob: -0.1, bytes: [97] }
  const content = Array(2000).fill({ ...one, top_logprobs: Array(20).fill(one) })
  const message = { role: 'assistant', content: 'a'.repeat(2000) }
  const answer = answerWith(200, {
    choices: [{ index: 0, message, logprobs: { content }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 20, total_tokens: 25 },
  })
  const turn = turnOf({
    model: 'small',
    logprobs: true,
    top_logprobs: 20,
    messages: [{ role: 'user', content: 'Hello' }],
  })
  const { done, endings } = await moneyOfTurn({ turn }, [answer])
  expect([done, endings[0]?.outcome]).toEqual([['settle', 'detach'], 'completed'])
})

it('releases the hold when the response cannot be stored, without a provider call', async () => {
  const turn = requestWith({}, { model: 'small', storedInput: () => [] })
  const responses = { begin: async () => false, forget: async () => {} }
  const { done, asked, endings } = await moneyOfTurn({ turn, responses }, [replyWith(5, 2)])
  expect([done, asked]).toEqual([['release', 'detach'], []])
  expect(endings).toMatchObject([{ outcome: 'internal_error', owed: undefined }])
})

it.each(['refused', 'lost'] as const)('a hold that was %s is no hold: nothing is delivered', async (durability) => {
  const chunk = { choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }] }
  const turn = turnOf({ model: 'small', stream: true, messages: [{ role: 'user', content: 'Hello' }] })
  for (const mayCallBeforeDurable of [true, false]) {
    const emitted = await moneyOfTurn({ turn, durability, mayCallBeforeDurable }, [streamOf(chunk, LAST_CHUNK)])
    expect([emitted.written, emitted.refusals]).toEqual([[], ['ledger_unavailable']])
    expect(emitted.asked).toHaveLength(mayCallBeforeDurable ? 1 : 0)
  }
})

it('a caller whose rights have ended since the door holds nothing, and no provider is asked', async () => {
  const turn = turnOf({ model: 'small', messages: [{ role: 'user', content: 'Hello' }] })
  const revoked: CallerOutcome = { kind: 'refused', reason: 'revoked' }
  const suspended: CallerOutcome = { kind: 'refused', reason: 'account-suspended' }
  const after = async (asked: Partial<Asked>) => {
    const { done, asked: calls, refusals } = await moneyOfTurn({ turn, ...asked }, [replyWith(5, 2)])
    return [done, calls.length, refusals]
  }
  expect(await after({ judged: [revoked] })).toEqual([[], 0, ['invalid_api_key']])
  expect(await after({ judged: [suspended] })).toEqual([[], 0, ['account_suspended']])
  const narrowed: CallerOutcome = { kind: 'caller', caller: { ...CALLER, models: ['other'] } }
  expect(await after({ judged: [narrowed] })).toEqual([[], 0, ['model_not_found']])
  expect(await after({ judged: [SAME, revoked], changedTimes: 1 })).toEqual([[], 0, ['invalid_api_key']])
})

it('a caller is judged again while rights change under its admission, and refused if that never ends', async () => {
  const turn = turnOf({ model: 'small', messages: [{ role: 'user', content: 'Hello' }] })
  expect((await moneyOfTurn({ turn, changedTimes: 2 }, [replyWith(5, 2)])).done).toEqual(['settle', 'detach'])
  const never = await moneyOfTurn({ turn, changedTimes: 1000 }, [replyWith(5, 2)])
  expect([never.done, never.refusals]).toEqual([[], ['ledger_unavailable']])
})

describe('a hold that waits for the commit of others', () => {
  const ask = (stream: boolean, mayCallBeforeDurable: boolean) => {
    const turn = turnOf({ model: 'small', stream, messages: [{ role: 'user', content: 'Hello' }] })
    const chunk = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] }
    const answer = stream ? streamOf(chunk, LAST_CHUNK) : replyWith(11, 5)
    return moneyOfTurn({ turn, durability: 'durable-when-hurried', mayCallBeforeDurable }, [answer])
  }

  it('is written at once when content waits for it, and not before', async () => {
    const { hurriedAt, written } = await ask(true, true)
    expect([hurriedAt, written.length > 0]).toEqual([[1], true])
  })

  it('is written before the provider is called where the account has no room for another turn', async () => {
    expect((await ask(true, false)).hurriedAt).toEqual([0])
    expect((await ask(false, false)).hurriedAt).toEqual([0])
  })

  it('may wait for the end of a JSON answer, which joins it', async () => {
    const { hurriedAt, done } = await ask(false, true)
    expect([hurriedAt, done]).toEqual([[], ['settle', 'detach']])
  })
})

it('a throw of our own leaves the hold to recovery: releasing it would give the answer away', async () => {
  const broken = () => {
    throw new Error('a fault of our own')
  }
  const { done, thrown } = await moneyOf(broken)
  expect(thrown).toBeInstanceOf(Error)
  expect(done).toEqual(['detach'])
})

it('a lane that failed before its first content costs nothing: what the next one delivered is charged, once', async () => {
  const { done, endings } = await moneyOf(overloadedAfterWork, replyWith(11, 5))
  expect(done).toEqual(['settle', 'detach'])
  expect(endings[0]).toMatchObject({ lane: 'demo/lane-1', owed: { usage: { uncachedInput: 11, output: 5 } } })
  expect(endings[0]?.attempts.map(({ lane }) => lane)).toEqual(['demo/lane-0', 'demo/lane-1'])
})

it('all lanes failed: the hold goes back whole', async () => {
  expect((await moneyOf(overloadedAfterWork, overloadedAfterWork)).done).toEqual(['release', 'detach'])
})

it('a provider is never told a cap that the hold does not cover, whatever the client asked for', async () => {
  const { asked } = await moneyOf(overloadedAfterWork, replyWith(11, 5))
  expect(asked.map(({ max_tokens }) => max_tokens)).toEqual([CAP, CAP])
})

describe("where more is held than the client's cap, because another lane takes no cap that low", () => {
  const asking = (more: object = {}) =>
    turnOf({ model: 'small', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }], ...more })

  it("a lane that takes the client's cap is asked for it, and no more is charged", async () => {
    const { asked, endings } = await moneyOfTurn({ turn: asking() }, [replyWith(11, 30)])
    expect(asked.map(({ max_tokens }) => max_tokens)).toEqual([5])
    expect(endings[0]?.owed?.usage).toMatchObject({ output: 5, estimated: true })
  })

  it('a stream that goes on past that cap is ended', async () => {
    const chunk = { choices: [{ index: 0, delta: { content: 'x'.repeat(5 * 64 + 1) }, finish_reason: null }] }
    const { endings } = await moneyOfTurn({ turn: asking({ stream: true }) }, [streamOf(chunk, LAST_CHUNK)])
    expect(endings).toMatchObject([{ outcome: 'upstream_failed', owed: { usage: { output: 5 } } }])
  })
})

it('of two choices each may use the cap that is held, and both are charged as they were counted', async () => {
  const turn = turnOf({ model: 'small', n: 2, max_tokens: 90, messages: [{ role: 'user', content: 'Hello' }] })
  const usageOf = async (completion: number) =>
    (await moneyOfTurn({ turn }, [replyWith(5, completion, 2)])).endings[0]?.owed?.usage
  expect(await usageOf(2 * CAP)).toMatchObject({ output: 2 * CAP, estimated: false })
  expect(await usageOf(2 * CAP + 1)).toMatchObject({ output: 2 * CAP, estimated: true })
})

it('a usage of zero is believed, and charged as zero: it is not absent', async () => {
  const { endings } = await moneyOf(replyWith(0, 0))
  expect(endings[0]?.owed).toMatchObject({ cost: 0n, usage: { uncachedInput: 0, output: 0, estimated: false } })
})
