import { describe, expect, it } from 'vitest'
import { catalogOf, modelDefinition, PRICE } from '../../test/fixtures/catalog/catalog.ts'
import { quotaOf, spendCapOf } from '../../test/fixtures/model/allowance.ts'
import { CALLER } from '../../test/fixtures/model/caller.ts'
import { requestOf } from '../../test/fixtures/protocols/responses/read-request.ts'
import type { Lane, Model, Plan } from '../catalog/catalog.ts'
import type { Caller } from '../model/caller.ts'
import type { RequestId } from '../model/ids.ts'
import type { TurnRequest } from '../model/turn.ts'
import { laneCap } from './attempt-lanes.ts'
import { planAdmission } from './plan-turn.ts'

const WINDOW = quotaOf('5h', { kind: 'anchored', ms: 5 * 3_600_000 }, 5n)
const CAP = spendCapOf(1, 'day', 3n)
const PLANS = new Map([['pro', { id: 'pro', windows: [WINDOW] } as unknown as Plan]])
const model = catalogOf(modelDefinition('small')).entries.get('small')?.model as Model

interface Asked {
  readonly caller?: Partial<Caller>
  readonly request?: Partial<TurnRequest>
  /** How much of the conversation its provider is known to have seen. */
  readonly seen?: number
  readonly lanes?: readonly Lane[]
}

function admissionOf({ caller, request: over, seen = 0, lanes = model.lanes }: Asked = {}) {
  const request = { ...requestOf({ model: 'small', input: 'x'.repeat(400) }), ...over } as TurnRequest
  const deps = {
    limits: { key: { tokensPerMinute: 1_000_000 }, account: {}, accountModel: {}, model: {} },
    chosenCap: { sharePercent: 25, tokensMin: 1024 },
    catalog: { plans: PLANS },
    seenPrefixes: { seenTokens: () => seen, remember: () => {}, digest: () => {} },
  }
  const turn = {
    ...{ requestId: 'req_1' as RequestId, caller: { ...CALLER, ...caller }, request, claim: undefined, input: request },
    lanes,
    prompt: { owner: 'one', preamble: [], messages: Buffer.alloc(0), tokens: seen },
  }
  return planAdmission(deps, turn, model, { ...PRICE, version: 1 }).admitRequest
}

describe('a turn draws', () => {
  const pro = { id: 'pro', endsAt: undefined }

  it('on the windows of its plan and on the spend caps of its key', () => {
    expect(admissionOf({ caller: { kind: 'builder', plan: pro, caps: [CAP] } }).allowances).toEqual([WINDOW, CAP])
    expect(admissionOf({ caller: { caps: [CAP] } }).allowances).toEqual([CAP])
  })

  it('on no window that another plan has, nor with a key that a wallet pays for', () => {
    expect(admissionOf({ caller: { kind: 'builder', plan: { ...pro, id: 'gone' } } }).allowances).toEqual([])
    expect(admissionOf({ caller: { kind: 'wallet', plan: pro } }).allowances).toEqual([])
  })
})

it('what its provider has seen of a conversation is never more than the input is taken for', () => {
  const { inputEstimate } = admissionOf()
  expect(admissionOf({ seen: inputEstimate - 1 }).cachedEstimate).toBe(inputEstimate - 1)
  expect(admissionOf({ seen: inputEstimate + 1 }).cachedEstimate).toBe(inputEstimate)
})

it('a cap below what a lane takes is held at that, and only that lane is asked for it', () => {
  const openai = {
    ...model.lanes[0]!,
    upstream: { ...model.lanes[0]!.upstream, wire: 'responses', dialect: 'openai' },
  } as Lane
  const capOf = (outputCap: number | undefined, lanes: readonly Lane[]) =>
    admissionOf({ request: { outputCap }, lanes }).clientCap
  expect([5, 16, 20, undefined].map((cap) => capOf(cap, [...model.lanes, openai]))).toEqual([16, 16, 20, undefined])
  expect(capOf(5, model.lanes)).toBe(5)
  const askedOf = (lane: Lane, outputCap: number | undefined, cap = 16) =>
    laneCap({ request: { outputCap }, hold: { cap } }, lane)
  expect([askedOf(openai, 5), askedOf(model.lanes[0]!, 5)]).toEqual([16, 5])
  expect([askedOf(openai, 5, 10), askedOf(openai, undefined, 10), askedOf(openai, 20, 18)]).toEqual([10, 10, 18])
})
