import { beforeEach, describe, expect, it } from 'vitest'
import type { Fields } from '../lib/types.ts'
import type { LaneWire } from '../model/wire.ts'
import { readRenderedPrompt, readSentPrompt } from '../protocols/prompt-fingerprint.ts'
import type { ConversationKeys } from './plan-lanes.ts'
import { createPrefixGuard, type GuardedTurn, type PrefixGuard } from './prefix-guard.ts'

let now = 0
let guard: PrefixGuard

beforeEach(() => {
  now = 0
  guard = createPrefixGuard({ nowMicros: () => now })
})

const keysOf = (opening: string, names: readonly string[] = []): ConversationKeys => ({
  ...{ findBy: [...names, opening], rememberAs: [...names, opening], opening, isAnswered: true },
})
const A = keysOf('a')

interface Sent {
  readonly keys?: ConversationKeys
  readonly rendered?: Fields
  readonly wire?: LaneWire
  readonly origin?: string
  readonly isCompacted?: boolean
}

const bytesOf = (value: Fields): Buffer => Buffer.from(JSON.stringify(value))

/** One turn of a client; where the provider gets the same, the same. */
function sendTurn(asked: Fields, { keys = A, rendered = asked, wire = 'chat', origin = 'o', ...more }: Sent = {}) {
  return playTurn(keys, {
    readAsked: (known) => readSentPrompt({ bytes: bytesOf(asked) }, 'messages', known),
    readRendered: (known, client) => readRenderedPrompt(bytesOf(rendered), wire, known, client),
    ...{ origin, isCompacted: more.isCompacted ?? false },
  })
}

function playTurn(
  keys: ConversationKeys,
  sent: Omit<Parameters<PrefixGuard['compare']>[1], 'reasoningLeftOut' | 'dropsUnbound'>,
) {
  const turn: GuardedTurn = { keys }
  guard.compare(turn, { ...sent, reasoningLeftOut: 0, dropsUnbound: true })
  guard.remember(turn, { cachedInput: 5, cacheWrite: 6 })
  return turn
}

const message = (content: string) => ({ role: 'user', content })
const talk = (...words: readonly string[]): Fields => ({ messages: words.map(message) })
const breakOf = ({ broken }: GuardedTurn) => broken && `${broken.at} by ${broken.by}`

describe('a conversation', () => {
  it('goes on, goes back and is sent again without a break', () => {
    expect(breakOf(sendTurn(talk('a', 'b')))).toBeUndefined()
    const next = sendTurn(talk('a', 'b', 'c', 'd'))
    expect(breakOf(next)).toBeUndefined()
    expect(next.continued?.cachedTokens).toBe(11)
    expect(breakOf(sendTurn(talk('a', 'b', 'c', 'd', 'e')))).toBeUndefined()
    expect(breakOf(sendTurn(talk('a', 'b', 'x', 'd', 'e')))).toBe('messages[2] by client')
    expect(breakOf(sendTurn(talk('a', 'b')))).toBeUndefined()
    expect(breakOf(sendTurn(talk('a', 'b', 'y')))).toBeUndefined()
  })

  it('is not broken by another one that began alike, after their first difference', () => {
    sendTurn(talk('a', 'b', 'c'))
    expect(breakOf(sendTurn(talk('a', 'x', 'c')))).toBe('messages[1] by client')
    for (let length = 1; length < 9; length++) {
      const more = Array.from({ length }, (_, at) => `and ${at}`)
      expect(breakOf(sendTurn(talk('a', 'b', 'c', ...more)))).toBeUndefined()
      expect(breakOf(sendTurn(talk('a', 'x', 'c', ...more)))).toBeUndefined()
    }
  })

  it('is forgotten after the time in which no provider keeps it', () => {
    sendTurn(talk('a', 'b'))
    now = 3_600_000_000
    expect(breakOf(sendTurn(talk('a', 'x')))).toBe('messages[1] by client')
    now += 3_800_000_000
    expect(breakOf(sendTurn(talk('a', 'y')))).toBeUndefined()
  })

  it('begins without a break, also where another one has its key', () => {
    sendTurn(talk('a', 'b'), { keys: keysOf('a', ['key']) })
    const begun = { ...keysOf('z', ['key']), isAnswered: false }
    expect(breakOf(sendTurn(talk('z'), { keys: begun }))).toBeUndefined()
    // The client uses one key for all: a beginning that is not known is another conversation.
    expect(breakOf(sendTurn(talk('y', 'b'), { keys: keysOf('y', ['key']) }))).toBeUndefined()
  })

  it('is known by its own key after its beginning was cut away', () => {
    sendTurn(talk('a', 'b', 'c'), { keys: keysOf('a', ['key']) })
    expect(breakOf(sendTurn(talk('c', 'd'), { keys: keysOf('c', ['key']) }))).toBe('messages[0] by client')
    expect(breakOf(sendTurn(talk('c', 'd', 'e'), { keys: keysOf('c', ['key']) }))).toBeUndefined()
  })

  it('may grow in its last message where a provider takes one message of a role', () => {
    const asked = (count: number) => talk(...Array.from({ length: count }, (_, at) => `${at}`))
    const grown = (count: number) => ({
      messages: [{ role: 'user', content: Array.from({ length: count }, (_, text) => ({ type: 'text', text })) }],
    })
    sendTurn(asked(2), { rendered: grown(2), wire: 'anthropic' })
    expect(breakOf(sendTurn(asked(3), { rendered: grown(3), wire: 'anthropic' }))).toBeUndefined()
    sendTurn(asked(2), { rendered: grown(2), wire: 'chat', keys: keysOf('b') })
    const broken = sendTurn(asked(3), { rendered: grown(3), wire: 'chat', keys: keysOf('b') })
    expect(breakOf(broken)).toBe('messages[0] by gateway')
  })

  it('is not broken by marks of what to cache', () => {
    const marked = (at: number) => ({
      system: [{ type: 'text', text: 's', ...(at === 0 && { cache_control: { type: 'ephemeral' } }) }],
      messages: ['a', 'b'].map((text, index) => ({
        role: 'user',
        content: [{ type: 'text', text, ...(at === index && { cache_control: { type: 'ephemeral' } }) }],
      })),
    })
    sendTurn(talk('a'), { rendered: marked(0), wire: 'anthropic' })
    expect(breakOf(sendTurn(talk('a'), { rendered: marked(1), wire: 'anthropic' }))).toBeUndefined()
  })

  it.each([
    ', "cache_control": {"type": "ephemeral"}',
    ',"cache_control":{"type":"ephemeral","ttl":"1h"}',
    ',\n  "cache_control" : { "type" : "ephemeral" }',
    ',"cache_control":{"type":"ephemeral","more":[1,{"a":2,"cache_control":{"type":"ephemeral"}}]}',
  ])('is not broken by a mark that its client writes as %j', (mark) => {
    const sent = (text: string, written: string) =>
      Buffer.from(
        `{"messages":[{"role":"user","content":[{"type":"text","text":"${text}"${written}}]},{"role":"user","content":"b"}]}`,
      )
    const turn = (bytes: Buffer) =>
      playTurn(A, {
        readAsked: (known) => readSentPrompt({ bytes }, 'messages', known),
        readRendered: (known, client) => readRenderedPrompt(bytes, 'chat', known, client),
        ...{ origin: 'o', isCompacted: false },
      })
    turn(sent('a', mark))
    expect(breakOf(turn(sent('a', '')))).toBeUndefined()
    expect(breakOf(turn(sent('x', mark)))).toBe('messages[0] by client')
  })
})

describe('a break is put down to', () => {
  const body = { ...talk('a', 'b'), tools: [{ name: 'one' }, { name: 'two' }] }
  const cases: readonly [string, Fields, Sent][] = [
    ['tools by tool_order', { ...body, tools: body.tools.toReversed() }, {}],
    ['tools by client', { ...body, tools: [{ name: 'one' }] }, {}],
    ['settings by client', { ...body, response_format: { type: 'json_object' } }, {}],
    ['messages[0] by client', { ...body, ...talk('x', 'b') }, {}],
    ['system by client', { ...body, messages: [{ role: 'system', content: 'New' }, message('b')] }, {}],
    ['lane by lane_change', body, { origin: 'another' }],
    ['lane by lane_change', { ...body, ...talk('a', 'x') }, { origin: 'another' }],
    ['messages[0] by compaction', { ...body, ...talk('summary') }, { isCompacted: true }],
    ['messages[1] by gateway', body, { rendered: { ...body, ...talk('a', 'B') } }],
    ['tools by gateway', body, { rendered: talk('a', 'b') }],
  ]
  it.each(cases)('%s', (expected, asked, sent) => {
    sendTurn(body)
    expect(breakOf(sendTurn(asked, sent))).toBe(expected)
  })

  it('its place, with the thinking behind it that a provider leaves out', () => {
    const thought = (text: string) => ({
      role: 'assistant',
      content: [{ type: 'thinking', thinking: text }, { type: 'text' }],
    })
    const rendered = (first: string) => ({
      messages: [thought('one'), message(first), thought('{"type":"thinking"'), message('b'), thought('three')],
    })
    const asked = (first: string) => ({ ...body, ...talk('a', first) })
    sendTurn(asked('b'), { rendered: rendered('b'), wire: 'anthropic' })
    const { broken } = sendTurn(asked('x'), { rendered: rendered('x'), wire: 'anthropic' })
    expect(broken).toEqual({ at: 'messages[1]', by: 'client', reasoning: 2 })
  })

  it('the client where its setting changes what is written of the conversation', () => {
    sendTurn({ ...body, reasoning_effort: 'low' })
    const rendered = { ...body, ...talk('a', 'without thinking') }
    expect(breakOf(sendTurn({ ...body, reasoning_effort: 'none' }, { rendered }))).toBe('settings by client')
  })
})

it('forgets the oldest conversations beyond its bound', () => {
  const long = bytesOf(talk(...Array.from({ length: 1000 }, (_, at) => String(at))))
  const asked = readSentPrompt({ bytes: long }, 'messages')
  const play = (opening: string) =>
    playTurn(keysOf(opening), { origin: 'o', readAsked: () => asked, readRendered: () => asked, isCompacted: false })
  play('first')
  for (let at = 0; at < 1000; at++) play(`other ${at}`)
  const changed = { messages: [message('changed')] }
  expect(breakOf(sendTurn(changed, { keys: keysOf('other 999') }))).toBe('messages[0] by client')
  expect(breakOf(sendTurn(changed, { keys: keysOf('first') }))).toBeUndefined()
})

describe("a prompt whose messages are the client's", () => {
  const mark = { cache_control: { type: 'ephemeral' } }
  const marked = { role: 'user', content: [{ type: 'text', text: 'a', ...mark }] }
  const tools = [{ name: 'one' }]
  const cases: readonly [string, Fields, Fields][] = [
    ['as they are', { messages: [message('a')], tools, model: 'm' }, { tools, messages: [message('a')] }],
    ['and others', { messages: [message('a')] }, { messages: [message('a'), message('b')] }],
    ['with marks', { messages: [marked], tools }, { messages: [marked], tools }],
    [
      'with our mark on a tool',
      { messages: [message('a')], tools },
      { messages: [message('a')], tools: [{ name: 'one', ...mark }] },
    ],
    [
      'with our mark on a message',
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }] },
      { messages: [marked] },
    ],
    ['and no list', { messages: 'a' }, { messages: 'a' }],
  ]
  it.each(cases)('has the checksums of one that is read alone: %s', (_, sent, rendered) => {
    const hasCacheMarks = JSON.stringify(sent).includes('cache_control')
    const asked = readSentPrompt({ bytes: bytesOf(sent), hasCacheMarks }, 'messages')
    const alone = readRenderedPrompt(bytesOf(rendered), 'chat')
    expect(alone).toBeDefined()
    expect(readRenderedPrompt(bytesOf(rendered), 'chat', [], asked)?.fingerprint).toEqual(alone?.fingerprint)
  })
})

it('compares neither prompts of many megabytes nor what is no prompt', () => {
  expect(readRenderedPrompt(Buffer.from('[]'), 'chat')).toBeUndefined()
  expect(readRenderedPrompt(bytesOf(talk('x'.repeat(5_000_000))), 'chat')).toBeUndefined()
  const text = readRenderedPrompt(bytesOf({ input: 'Hello' }), 'responses')
  expect(text?.fingerprint.messages).toHaveLength(0)
})
