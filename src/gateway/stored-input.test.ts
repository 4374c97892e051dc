import { describe, expect, it } from 'vitest'
import { randomFrom } from '../../test/fixtures/lib/seeded-random.ts'
import type { FoundContext, FoundItems } from '../db/content/read-responses.ts'
import type { ReadScope } from '../model/caller.ts'
import type { AccountId } from '../model/ids.ts'
import { scanJson } from '../protocols/json/scan-json.ts'
import type { ParsedBody } from '../protocols/shared/codec-types.ts'
import { type ExpandedInput, expandInput } from './stored-input.ts'

const ACCOUNT = 'acct_seven' as AccountId
const BOUNDS = { bytesMax: 100_000, depthMax: 64, valuesMax: 10_000 }

const stored = new Map([
  ['rs_1', '{"type":"reasoning","id":"rs_1","summary":[]}'],
  ['msg_1', '{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"ü"}]}'],
  ['long', JSON.stringify({ id: 'long', text: 'x'.repeat(30_000) })],
  ['longer', JSON.stringify({ id: 'longer', text: 'x'.repeat(60_000) })],
])
const contexts: Readonly<Record<string, FoundContext>> = {
  resp_1: {
    kind: 'found',
    items: [Buffer.from('{"role":"user","content":"before"}'), Buffer.from(stored.get('msg_1')!)],
  },
  resp_empty: { kind: 'found', items: [] },
  resp_running: { kind: 'not-finished', status: 'in_progress' },
  resp_failed: { kind: 'not-finished', status: 'failed' },
  resp_damaged: { kind: 'damaged' },
  resp_large: { kind: 'too-large' },
}

const responses = {
  keeps: true,
  async context({ account }: ReadScope, id: string): Promise<FoundContext> {
    return (account === ACCOUNT && Object.hasOwn(contexts, id) && contexts[id]) || { kind: 'not-found' }
  },
  async items({ account }: ReadScope, ids: readonly string[]): Promise<FoundItems> {
    const mine = [...new Set(ids)].filter((id) => account === ACCOUNT && stored.has(id))
    return { kind: 'found', items: new Map(mine.map((id) => [id, Buffer.from(stored.get(id)!)])) }
  },
}

function parsed(text: string): ParsedBody {
  const bytes = Buffer.from(text)
  const scan = scanJson(bytes, { depthMax: 64, valuesMax: 1_000_000 })
  if (scan.kind !== 'scanned') throw new Error(scan.kind)
  return { bytes, members: scan.members, value: JSON.parse(text) }
}

const expand = (body: unknown, over: Partial<typeof BOUNDS> = {}, account = ACCOUNT): Promise<ExpandedInput> =>
  expandInput(
    { responses, stateMs: 72 * 3_600_000, bounds: { ...BOUNDS, ...over } },
    { account },
    parsed(typeof body === 'string' ? body : JSON.stringify(body)),
  )

const expanded = async (body: unknown) => {
  const outcome = await expand(body)
  if (outcome.kind === 'refused') throw new Error(outcome.problem.message)
  // What is read again is what the bytes say, and members stand where they are said to stand.
  const { bytes, members, value } = outcome.body
  expect(value).toEqual(JSON.parse(bytes.toString()))
  for (const { name, valueStart, valueEnd } of members) {
    expect(JSON.parse(bytes.toString('utf8', valueStart, valueEnd))).toEqual(value[name])
  }
  return { value, own: outcome.ownInput().map((item) => JSON.parse(String(item))), outcome }
}

const problemOf = async (body: unknown, over: Partial<typeof BOUNDS> = {}, account = ACCOUNT) => {
  const outcome = await expand(body, over, account)
  if (outcome.kind !== 'refused') throw new Error('it was expanded')
  return outcome.problem
}

const item = (id: string) => JSON.parse(stored.get(id)!)
const user = (content: string) => ({ type: 'message', role: 'user', content })

describe('an input', () => {
  it.each([
    ['a text', '"hé\\n"', [user('hé\n')]],
    [
      'items',
      '[ {"role":"user","content":"a"} ,\n{"type":"function_call_output","call_id":"c","output":"]"}]',
      undefined,
    ],
    ['nothing', '[ ]', []],
  ])('of %s that refers to nothing comes back as it is', async (_which, input, own) => {
    const body = parsed(`{"model":"m","input":${input},"previous_response_id":null}`)
    const outcome = await expandInput({ responses, stateMs: 1, bounds: BOUNDS }, { account: ACCOUNT }, body)
    if (outcome.kind !== 'expanded') throw new Error(outcome.problem.message)
    expect(outcome.body).toBe(body)
    expect(outcome.previous).toBe(undefined)
    expect(outcome.ownInput().map((each) => JSON.parse(String(each)))).toEqual(own ?? JSON.parse(input))
    for (const each of outcome.ownInput()) expect(String(each)).toBe(String(each).trim())
  })

  it.each([['{"model":"m"}'], ['{"input":7}'], ['{"input":null}'], ['{"input":{"id":"msg_1"}}']])(
    '%s is for others to judge',
    async (text) => {
      const outcome = await expand(text)
      expect(outcome.kind === 'expanded' && outcome.ownInput()).toEqual([])
    },
  )

  it('has what a response had before it, and what that answered, in front of its own', async () => {
    const { value, own, outcome } = await expanded({
      previous_response_id: 'resp_1',
      model: 'm',
      input: 'and now?',
      top_p: 1,
    })
    expect(value).toEqual({
      ...{ model: 'm', top_p: 1 },
      input: [{ role: 'user', content: 'before' }, item('msg_1'), user('and now?')],
    })
    expect(own).toEqual([user('and now?')])
    expect(outcome.kind === 'expanded' && outcome.previous).toBe('resp_1')
  })

  it('has items in place of their references, typed or not, as often as they are there', async () => {
    const own = { role: 'user', content: 'x', id: 'msg_1' }
    const input = [{ type: 'item_reference', id: 'rs_1' }, own, { id: 'msg_1' }, { type: null, id: 'msg_1' }]
    const { value, own: stores } = await expanded({ input, model: 'm' })
    expect(value.input).toEqual([item('rs_1'), own, item('msg_1'), item('msg_1')])
    expect(stores).toEqual(value.input)
  })

  it('may have both', async () => {
    const input = [{ type: 'item_reference', id: 'rs_1' }]
    const { value, own } = await expanded({ input, previous_response_id: 'resp_1' })
    expect(value.input).toHaveLength(3)
    expect(own).toEqual([item('rs_1')])
    expect((await expanded({ input: [], previous_response_id: 'resp_empty' })).value.input).toEqual([])
    const bare = await expanded({ previous_response_id: 'resp_1' })
    expect([bare.value.input, bare.own]).toEqual([(value.input as unknown[]).slice(0, 2), []])
  })
})

describe('what cannot be put in place', () => {
  it.each([
    [{ previous_response_id: 7, input: 'x' }, 'invalid_type', 'previous_response_id'],
    [{ previous_response_id: { id: 'resp_1' }, input: 'x' }, 'invalid_type', 'previous_response_id'],
    [{ previous_response_id: 'resp_none', input: 'x' }, 'previous_response_not_found', 'previous_response_id'],
    [{ previous_response_id: '__proto__', input: 'x' }, 'previous_response_not_found', 'previous_response_id'],
    [{ previous_response_id: 'resp_running', input: 'x' }, 'previous_response_not_found', 'previous_response_id'],
    [{ previous_response_id: 'resp_failed', input: 'x' }, 'previous_response_not_found', 'previous_response_id'],
    [{ previous_response_id: 'resp_damaged', input: 'x' }, 'previous_response_not_found', 'previous_response_id'],
    [{ previous_response_id: 'resp_large', input: 'x' }, 'request_too_large', null],
    [{ previous_response_id: 'resp_1', input: 7 }, 'invalid_type', 'input'],
    [{ previous_response_id: 'resp_1', input: { role: 'user' } }, 'invalid_type', 'input'],
    [{ input: [{ role: 'user', content: '' }, { id: 'msg_none' }] }, 'item_not_found', 'input[1]'],
    [{ input: [{ type: 'item_reference', id: 'constructor' }] }, 'item_not_found', 'input[0]'],
    [{ input: [{ type: 'item_reference', id: 5 }] }, 'invalid_type', 'input[0].id'],
    [{ input: [{ type: 'item_reference' }] }, 'invalid_type', 'input[0].id'],
    [{ input: [{ id: ['msg_1'] }] }, 'invalid_type', 'input[0].id'],
    [
      '{"previous_response_id":"resp_1","input":"x","previous_response_id":"resp_1"}',
      'duplicate_field',
      'previous_response_id',
    ],
    ['{"input":"y","input":[{"id":"msg_1"}]}', 'duplicate_field', 'input'],
    ['{"previous_response_\\u0069d":"resp_1","input":"x"}', 'unsupported_parameter', 'previous_response_id'],
  ])('%j is refused', async (body, code, param) => {
    expect(await problemOf(body)).toMatchObject({ code, param })
  })

  it('is told with what helps', async () => {
    const none = await problemOf({ previous_response_id: `resp_${'x'.repeat(5000)}`, input: 'x' })
    expect(none.message).toMatch(/kept for 72 hours.*store: false are not kept.*full input/)
    expect(none.message.length).toBeLessThan(400)
    expect((await problemOf({ input: [{ id: 'msg_none' }] })).message).toMatch(/'msg_none'.*72 hours.*item itself/)
    expect((await problemOf({ previous_response_id: 'resp_running', input: 'x' })).message).toMatch(/has not finished/)
    const off = { responses: { ...responses, keeps: false }, stateMs: 1, bounds: BOUNDS }
    const outcome = await expandInput(
      off,
      { account: ACCOUNT },
      parsed('{"previous_response_id":"resp_x","input":"x"}'),
    )
    expect(outcome.kind === 'refused' && outcome.problem.message).toMatch(/stores no responses/)
  })

  it('is another account’s', async () => {
    const theirs = { input: [{ id: 'msg_1' }], previous_response_id: 'resp_1' }
    expect(await problemOf(theirs, {}, 'acct_eight' as AccountId)).toMatchObject({
      code: 'previous_response_not_found',
    })
    expect(await problemOf({ input: theirs.input }, {}, 'acct_eight' as AccountId)).toMatchObject({
      code: 'item_not_found',
    })
  })

  it('is more than a request may be, however short its references are', async () => {
    const many = { input: Array.from({ length: 5 }, () => ({ id: 'long' })) }
    expect(await problemOf(many)).toMatchObject({ code: 'request_too_large' })
    const beyondAnyMemory = { input: Array.from({ length: 90_000 }, () => ({ id: 'longer' })) }
    expect(await problemOf(beyondAnyMemory)).toMatchObject({ code: 'request_too_large' })
    expect(await problemOf({ input: [{ id: 'long' }] }, { bytesMax: 30_020 })).toMatchObject({
      code: 'request_too_large',
    })
    expect(await problemOf({ input: [{ id: 'msg_1' }] }, { depthMax: 3 })).toMatchObject({ code: 'request_too_large' })
    expect(await problemOf({ input: [{ id: 'msg_1' }] }, { valuesMax: 6 })).toMatchObject({ code: 'request_too_large' })
  })
})

it('any request is expanded as one that is understood whole would be, or refused', async () => {
  const seed = 11
  const any = randomFrom(seed)
  const of = <Value>(values: readonly Value[]): Value => values[any(values.length)]!
  const values = [
    null,
    7,
    true,
    '',
    'ü"\\',
    [],
    [1],
    {},
    { id: 3 },
    { id: 'msg_1' },
    { type: 'item_reference', id: 'rs_1' },
  ]
  const elements = [...values, { role: 'user', content: 'x]' }, { type: null, id: 'none' }, { type: 3, id: 'rs_1' }]
  const seen = { same: 0, expanded: 0, refused: 0 }
  for (let round = 0; round < 3000; round++) {
    const input = any(4) === 0 ? of(values) : Array.from({ length: any(4) }, () => of(elements))
    const previous = of([undefined, undefined, null, 'resp_1', 'resp_none', of(values)])
    const fields = Object.entries({ model: 'm', input, previous_response_id: previous, store: true })
    const order = fields.filter(([, value]) => value !== undefined).sort(() => any(3) - 1)
    const space = of(['', ' ', '\n  '])
    const text = `{${order.map(([name, value]) => `${space}"${name}"${space}:${JSON.stringify(value, null, any(3))}${space}`).join(',')}}`
    const outcome = await expand(text)
    if (outcome.kind === 'refused') {
      expect(outcome.problem.code, text).toMatch(
        /^(invalid_type|item_not_found|previous_response_not_found|missing_required_parameter)$/,
      )
      seen.refused++
      continue
    }
    const isReference = (value: unknown) =>
      JSON.stringify(value) === '{"id":"msg_1"}' || JSON.stringify(value)?.includes('item_reference')
    const list = Array.isArray(input) ? input : typeof input === 'string' ? [user(input)] : []
    const own = list.map((each) => (isReference(each) ? item((each as { id: string }).id) : each))
    const before = previous === 'resp_1' ? [{ role: 'user', content: 'before' }, item('msg_1')] : []
    const needed = previous === 'resp_1' || list.some(isReference)
    expect(
      outcome.ownInput().map((each) => JSON.parse(String(each))),
      text,
    ).toEqual(own)
    expect(outcome.body.value.input, text).toEqual(needed ? [...before, ...own] : input)
    expect(outcome.body.value, text).toEqual(JSON.parse(outcome.body.bytes.toString()))
    seen[needed ? 'expanded' : 'same']++
  }
  console.info(`seed ${seed}: ${JSON.stringify(seen)}`)
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(200)
})
