import { expect, it } from 'vitest'
import type { KeptAnswer } from '../db/content/kept-answers.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Claim } from '../ledger/state/state.ts'
import { createSharedByteBudget } from '../lib/bytes.ts'
import type { Caller } from '../model/caller.ts'
import type { AccountRow, KeyRow, RequestId } from '../model/ids.ts'
import { createRequestDigests, type IdempotencyServices, lookUpAnswer } from './idempotency.ts'

const BODY = Buffer.from('{"model":"swift"}')
const digests = createRequestDigests(Buffer.alloc(32, 1))
const caller = { key: 1 as KeyRow, account: 2 as AccountRow, limits: {} } as Caller

/** A key whose first request has ended and was kept, as far as memory knows. */
async function openScene(over: { gateOpen?: boolean; durable?: 'lost'; answer?: KeptAnswer | Error }) {
  const scene = { left: 0, asked: 0, budget: createSharedByteBudget(2000) }
  const claim = { requestId: 'req_1' as RequestId, state: 'kept', fingerprint: await digests.fingerprintOf(BODY) }
  const ledger = {
    gate: { open: over.gateOpen ?? true },
    takeRequest: () => ({ kind: 'taken', statuses: [] }),
    async lookUpClaim() {
      scene.asked += 1
      return {
        claim: claim as Claim,
        at: 0,
        durable: Promise.resolve(over.durable ?? 'durable'),
        release: () => scene.left++,
      }
    },
  } as unknown as Ledger
  const answers = {
    async find() {
      if (over.answer instanceof Error) throw over.answer
      return over.answer
    },
  } as unknown as IdempotencyServices['answers']
  const limits = { key: {}, account: {}, accountModel: {}, model: {} }
  const responses = { sent: async () => undefined }
  const deps = {
    ledger,
    answers,
    responses,
    digests,
    limits,
    keptMs: 1,
    budget: scene.budget,
    live: new Map(),
    waiting: new Map(),
  }
  const call = { caller, method: 'POST', path: '/v1/chat/completions', attaches: false, isGone: () => false }
  return { scene, found: await lookUpAnswer(deps, { ...call, idempotencyKey: 'key', body: BODY }) }
}

const kept = (rawBytes: number, body: Buffer | undefined): KeptAnswer => ({
  ...{ requestId: 'req_1' as RequestId, status: 200, contentType: 'application/json', rawBytes },
  read: async () => body,
})

it.each([
  { says: 'the books are being read back', over: { gateOpen: false }, code: 'ledger_unavailable', asked: 0 },
  { says: 'its charge was not recorded', over: { durable: 'lost' as const }, code: 'ledger_unavailable', asked: 1 },
  { says: 'its answer is gone', over: {}, code: 'idempotency_not_replayable', asked: 1 },
  { says: 'it cannot be opened', over: { answer: kept(10, undefined) }, code: 'idempotency_not_replayable', asked: 1 },
  { says: 'there is no memory for it', over: { answer: kept(1001, BODY) }, code: 'server_is_overloaded', asked: 1 },
  { says: 'its file cannot be read', over: { answer: new Error('disk') }, code: 'ledger_unavailable', asked: 1 },
])('is not given again when $says: $code, and nothing stays behind', async ({ over, code, asked }) => {
  const { found, scene } = await openScene(over)
  expect(found).toMatchObject({ kind: 'refused', problem: { code } })
  if ('answer' in over && over.answer instanceof Error) expect(found).toMatchObject({ error: over.answer })
  found.release()
  expect([scene.asked, scene.left, scene.budget.of(caller.account).taken]).toEqual([asked, asked, 0])
})

it('counts nothing while it has too many readers, and one request for a reader', async () => {
  const fingerprint = await digests.fingerprintOf(BODY)
  let counted = 0
  let left = 0
  const claim = { requestId: 'req_1', state: 'running', fingerprint }
  const ledger = {
    gate: { open: true },
    takeRequest() {
      counted += 1
      return { kind: 'taken', statuses: [] }
    },
    lookUpClaim: async () => ({ claim, at: 0, durable: Promise.resolve('durable'), release() {} }),
  } as unknown as Ledger
  const waiting = new Map<number, number>()
  const look = async (answer: { leave(): void } | undefined, leaves = answer === undefined) => {
    const scope = digests.scopeOf({
      key: caller.key,
      method: 'POST',
      path: '/v1/chat/completions',
      idempotencyKey: 'key',
    })
    const live = new Map([[scope, { follow: () => answer }]]) as unknown as IdempotencyServices['live']
    const limits = { key: {}, account: {}, accountModel: {}, model: {} }
    const deps = { ledger, digests, limits, live, waiting, keptMs: 1 } as unknown as IdempotencyServices
    let isGone = false
    const call = { caller, method: 'POST', path: '/v1/chat/completions', attaches: true, isGone: () => isGone }
    if (leaves) isGone = true
    return lookUpAnswer(deps, { ...call, idempotencyKey: 'key', body: BODY })
  }
  expect(await look(undefined)).toMatchObject({ kind: 'refused', problem: { code: 'idempotency_in_progress' } })
  expect([counted, waiting.size]).toEqual([0, 0])
  // As many as may wait do so already.
  waiting.set(caller.account, 16)
  expect(await look(undefined, false)).toMatchObject({ problem: { code: 'idempotency_in_progress' } })
  expect([counted, waiting.get(caller.account)]).toEqual([0, 16])
  waiting.clear()
  const found = await look({ leave: () => left++ })
  expect(found.kind).toBe('live')
  found.release()
  expect([counted, left]).toEqual([1, 1])
})

it('takes memory for as long as it is being given', async () => {
  const { found, scene } = await openScene({ answer: kept(900, BODY) })
  expect(found).toMatchObject({ kind: 'kept', original: 'req_1', status: 200, body: BODY })
  expect(scene.budget.of(caller.account).taken).toBe(900)
  found.release()
  expect([scene.left, scene.budget.of(caller.account).taken]).toEqual([1, 0])
})
