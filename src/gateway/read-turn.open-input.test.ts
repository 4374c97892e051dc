import { describe, expect, it } from 'vitest'
import type { AccountId } from '../model/ids.ts'
import { scanJson } from '../protocols/json/scan-json.ts'
import type { ParsedBody } from '../protocols/shared/codec-types.ts'
import { openInput } from './read-turn.ts'
import { createSeals, envelopesOf } from './seals.ts'

const BOUNDS = { bytesMax: 100_000, depthMax: 64, valuesMax: 10_000 }
const seals = createSeals([{ secret: Buffer.alloc(32, 1) }])
const ours = envelopesOf(seals, 'acct_1' as AccountId)
const theirs = envelopesOf(seals, 'acct_2' as AccountId)

function parsed(body: unknown): ParsedBody {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const scan = scanJson(bytes, { depthMax: 64, valuesMax: 1_000_000 })
  if (scan.kind !== 'scanned') throw new Error(scan.kind)
  return { bytes, members: scan.members, value: JSON.parse(String(bytes)) }
}

const expanded = (body: unknown, previousItems = 0) => ({ body: parsed(body), previousItems })

const open = (input: unknown, bounds = BOUNDS, previousItems = 0) =>
  openInput(bounds, ours, expanded({ model: 'm', input, stream: true }, previousItems))

async function opened(input: unknown) {
  const outcome = await open(input)
  if (outcome.kind === 'refused') throw new Error(outcome.problem.message)
  expect(outcome.body.value).toEqual(JSON.parse(String(outcome.body.bytes)))
  return { ...outcome, input: outcome.body.value.input as Record<string, unknown>[] }
}

async function refused(input: unknown) {
  const outcome = await open(input)
  if (outcome.kind === 'opened') throw new Error('it was opened')
  return outcome.problem
}

const opaque = { wire: 'responses', origin: 'here', data: 'gAAA' } as const
const user = { role: 'user', content: 'Hi' }
const emitted = { role: 'assistant', content: 'Hello' }
const system = { role: 'system', content: 'Be kind' }
const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }
const result = { type: 'function_call_output', call_id: 'c1', output: 'r' }
const tools = { type: 'additional_tools', role: 'developer', tools: [] }
const thought = () => ({ type: 'reasoning', summary: [], encrypted_content: ours.sealReasoning(opaque) })
const summary = (text = 'They met.') => ({
  type: 'compaction',
  encrypted_content: ours.sealCompaction({ kind: 'summary', text }),
})
const native = (origin = 'here') => ({
  type: 'compaction',
  encrypted_content: ours.sealCompaction({ kind: 'native', opaque: { ...opaque, origin } }),
})
const trigger = { type: 'compaction_trigger' }

describe('the sealed items of an input', () => {
  it('a request without any keeps its very bytes', async () => {
    const body = parsed({ model: 'm', input: [user, { type: 'reasoning', encrypted_content: '' }, emitted] })
    const outcome = await openInput(BOUNDS, ours, { body, previousItems: 0 })
    expect(outcome).toMatchObject({ kind: 'opened', hasTrigger: false, boundTo: undefined })
    expect(outcome.kind === 'opened' && outcome.body).toBe(body)
    expect(await openInput(BOUNDS, ours, expanded('{"model":"m","input":"Hi"}'))).toMatchObject({ kind: 'opened' })
    expect(await openInput(BOUNDS, ours, expanded('{"model":"m"}'))).toMatchObject({ kind: 'opened' })
  })

  it('reasoning is opened and its envelope stays where it is', async () => {
    const item = thought()
    const { sealed, input, boundTo } = await opened([user, item, emitted])
    expect(sealed).toEqual(new Map([[item.encrypted_content, opaque]]))
    expect(input).toEqual([user, item, emitted])
    expect(boundTo).toBeUndefined()
  })

  it.each([
    ['of another account', theirs.sealReasoning(opaque), 'reasoning'],
    ['of another service', 'gAAAAABobbfoBar', 'reasoning'],
    ['for another purpose', ours.sealCompaction({ kind: 'summary', text: 't' }), 'reasoning'],
    ['of reasoning as a compaction', ours.sealReasoning(opaque), 'compaction'],
    ['of another account’s conversation', theirs.sealCompaction({ kind: 'summary', text: 't' }), 'compaction'],
    ['with nothing in it', '', 'compaction'],
    ['that was cut', ours.sealCompaction({ kind: 'summary', text: 't' }).slice(0, -1), 'compaction'],
  ])('an envelope %s is refused by its place', async (_what, encrypted_content, type) => {
    expect(await refused([user, { type, encrypted_content, summary: [] }])).toMatchObject({
      code: 'invalid_encrypted_content',
      param: 'input[1].encrypted_content',
    })
  })

  it('a summary stands as a message of the user where the conversation was', async () => {
    const { input } = await opened([user, summary(), { role: 'user', content: 'And now?' }])
    expect(input).toMatchObject([user, { type: 'message', role: 'user' }, { content: 'And now?' }])
    const [, stands] = input as unknown as [unknown, { content: [{ type: string; text: string }] }]
    expect(stands.content[0].text).toMatch(/^\[compaction\] .*\n\nThey met\.$/s)
  })

  it('what the model said before the last compaction goes, what user and system said stays', async () => {
    const { input } = await opened([
      tools,
      system,
      user,
      emitted,
      thought(),
      call,
      result,
      summary('old'),
      user,
      summary('new'),
      emitted,
    ])
    expect(input.map(({ type, role, content }) => type ?? `${role} ${content}`)).toEqual([
      ...['additional_tools', 'system Be kind', 'user Hi', 'user Hi', 'message', 'assistant Hello'],
    ])
    expect(JSON.stringify(input)).toContain('new')
    expect(JSON.stringify(input)).not.toContain('old')
  })

  it('of what is stored here the last words of the user stay, as far as they are short; what its client sends stays', async () => {
    const long = (content: string) => ({ role: 'user', content: content.repeat(12_000) })
    const input = [system, long('a'), emitted, long('b'), long('c'), long('d'), summary(), user]
    const wordsOf = async (previousItems: number) => {
      const outcome = await open(input, BOUNDS, previousItems)
      if (outcome.kind === 'refused') throw new Error(outcome.problem.message)
      const items = outcome.body.value.input as { role: string; content: string }[]
      return items.map(({ role, content }) => (role === 'user' ? content[0] : role))
    }
    const [framed, now] = [{ type: 'input_text', text: expect.stringContaining('They met.') }, 'H']
    expect(await wordsOf(0)).toEqual(['system', 'a', 'b', 'c', 'd', framed, now])
    expect(await wordsOf(7)).toEqual(['system', 'c', 'd', framed, now])
    expect(await wordsOf(3)).toEqual(['system', 'a', 'b', 'c', 'd', framed, now])
    expect(await wordsOf(4)).toEqual(['system', 'a', 'b', 'c', 'd', framed, now])
    // Of a conversation that grows like this nothing but its newest words is left.
    expect(await wordsOf(5)).toEqual(['system', 'b', 'c', 'd', framed, now])
  })

  it('a call whose result comes only later stays with it', async () => {
    const { input } = await opened([user, call, { ...call, call_id: 'c2' }, summary(), result])
    expect(input.map((item) => item.call_id ?? item.role)).toEqual(['user', 'c1', 'user', 'c1'])
  })

  it('what only a provider can read goes to it, and binds the request', async () => {
    const { input, boundTo } = await opened([user, native('there'), user])
    expect([input[1], boundTo]).toEqual([{ type: 'compaction', encrypted_content: 'gAAA' }, 'there'])
    // Only the last one goes anywhere.
    expect((await opened([native('there'), user, summary()])).boundTo).toBeUndefined()
    expect((await opened([summary(), user, native('here')])).boundTo).toBe('here')
  })

  it('the trigger at the end is no part of the conversation', async () => {
    const { input, hasTrigger } = await opened([user, emitted, trigger])
    expect([input, hasTrigger]).toEqual([[user, emitted], true])
    const again = await opened([summary(), user, trigger])
    expect([again.input.length, again.hasTrigger]).toEqual([2, true])
    // One that stands elsewhere is for who judges items.
    expect((await opened([trigger, user])).input).toEqual([trigger, user])
  })

  it('what is malformed is left to who judges it', async () => {
    const odd = [null, 1, 'x', [], { type: 'compaction' }, { type: 'reasoning', encrypted_content: 7 }]
    expect((await opened(odd)).input).toEqual(odd)
    const kept = await opened([1, null, summary()])
    expect(kept.input.slice(0, 2)).toEqual([1, null])
  })

  it('two inputs in one body are refused before one of them is changed', async () => {
    const text = `{"model":"m","input":[],"input":[${JSON.stringify(summary())}]}`
    expect(await openInput(BOUNDS, ours, expanded(text))).toMatchObject({
      kind: 'refused',
      problem: { code: 'duplicate_field' },
    })
  })

  it('a summary that makes the request too large is refused', async () => {
    const outcome = await open([summary('x'.repeat(5000))], { ...BOUNDS, bytesMax: 4000 })
    expect(outcome).toMatchObject({ kind: 'refused', problem: { code: 'request_too_large' } })
  })
})
