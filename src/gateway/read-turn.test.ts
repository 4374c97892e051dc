import { describe, expect, it } from 'vitest'
import { catalogOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import { plainSeals } from '../../test/fixtures/gateway/plain-seals.ts'
import { RESPONSE_ITEMS_MAX } from '../db/content/stored-responses.ts'
import type { Caller } from '../model/caller.ts'
import type { AccountId, AccountRow } from '../model/ids.ts'
import { scanJson } from '../protocols/json/scan-json.ts'
import { type ReadServices, readTurn, type TurnEndpoint } from './read-turn.ts'
import { envelopesOf } from './seals.ts'

const BOUNDS = { bytesMax: 1_000_000, depthMax: 64, valuesMax: 100_000 }
const caller = { account: 1 as AccountRow, accountId: 'acct_1' as AccountId, kind: 'wallet' } as Caller
const emitted = (text: string) => ({ role: 'assistant', content: text })
const user = { role: 'user', content: 'Hi' }
const trigger = { type: 'compaction_trigger' }
const { sealCompaction } = envelopesOf(plainSeals, caller.accountId)
const compaction = { type: 'compaction', encrypted_content: sealCompaction({ kind: 'summary', text: 'They met.' }) }

/** Reads a body of Responses by which `resp_1` is gone on from, and notes what was fetched. */
async function readResponses(body: object, endpoint: TurnEndpoint = 'responses', over: Partial<ReadServices> = {}) {
  const fetched: string[] = []
  const bytes = Buffer.from(JSON.stringify({ model: 'small', ...body }))
  const scan = scanJson(bytes, BOUNDS)
  if (scan.kind !== 'scanned') throw new Error(scan.kind)
  const deps: ReadServices = {
    responses: {
      keeps: true,
      async context(_account, id) {
        fetched.push(id)
        return {
          kind: 'found',
          items: [Buffer.from(JSON.stringify(user)), Buffer.from(JSON.stringify(emitted('Hello')))],
        }
      },
      items: async () => ({ kind: 'found', items: new Map() }),
    },
    ...{ stateMs: 1000, bounds: BOUNDS, seals: plainSeals, hostedTools: 'ignore' },
    catalog: catalogOf(modelDefinition('small')),
    ...over,
  }
  const sent = { endpoint, caller, body: { bytes, members: scan.members, value: JSON.parse(String(bytes)) } }
  return { ...(await readTurn(deps, sent)), fetched }
}

async function storedOf(...asked: Parameters<typeof readResponses>) {
  const read = await readResponses(...asked)
  if (read.kind === 'refused') throw new Error(read.problem.message)
  const { request } = read
  return request.protocol === 'responses' ? request.storedInput?.().map((item) => JSON.parse(String(item))) : undefined
}

describe('what is stored of a request', () => {
  it('are its own items: not those that it goes on from, nor the wish to have it all made short', async () => {
    expect(await storedOf({ previous_response_id: 'resp_1', input: [user] })).toEqual([user])
    expect(await storedOf({ previous_response_id: 'resp_1', input: [user, trigger] })).toEqual([user])
    expect(await storedOf({ input: 'Hi' })).toEqual([{ type: 'message', ...user }])
  })

  it('is nothing where it says so, where the operator stores nothing, and at the endpoint for compactions', async () => {
    expect(await storedOf({ input: [user], store: false })).toBeUndefined()
    expect(await storedOf({ input: [user] }, 'compact')).toBeUndefined()
    const responses = { keeps: false, context: async () => NOT_FOUND, items: async () => NOTHING }
    expect(await storedOf({ input: [user] }, 'responses', { responses })).toBeUndefined()
  })

  it('is nothing where it has too many items, however few of them a compaction leaves for the model', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => emitted(String(at)))
    const longest = RESPONSE_ITEMS_MAX - 1
    expect(await storedOf({ input: many(longest) })).toHaveLength(longest)
    expect(await storedOf({ input: [...many(longest), trigger] })).toHaveLength(longest)
    expect(await storedOf({ previous_response_id: 'resp_1', input: many(longest) })).toHaveLength(longest)
    expect(await storedOf({ input: many(RESPONSE_ITEMS_MAX) })).toBeUndefined()
    expect(await storedOf({ input: [...many(longest), compaction] })).toBeUndefined()
  })
})

const NOT_FOUND = { kind: 'not-found' } as const
const NOTHING = { kind: 'found', items: new Map<string, Buffer>() } as const

it('nothing is fetched for a model that is not there', async () => {
  const goesOn = { previous_response_id: 'resp_1', input: [user] }
  expect(await readResponses(goesOn)).toMatchObject({ kind: 'read', fetched: ['resp_1'] })
  const { fetched, ...refused } = await readResponses({ ...goesOn, model: 'other' })
  expect(refused).toMatchObject({ kind: 'refused', problem: { code: 'model_not_found' } })
  expect(fetched).toEqual([])
})

it('a tool that only a provider could run is a reason to refuse, where the operator says so', async () => {
  const asked = { input: [user], tools: [{ type: 'web_search' }] }
  expect(await readResponses(asked)).toMatchObject({ kind: 'read', request: { ignoredTools: ['web_search'] } })
  expect(await readResponses(asked, 'responses', { hostedTools: 'reject' })).toMatchObject({
    kind: 'refused',
    problem: { code: 'unsupported_tool', param: 'tools' },
  })
})
