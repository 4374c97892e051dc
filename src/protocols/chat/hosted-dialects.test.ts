import { describe, expect, it } from 'vitest'
import { requestOf, SETTLED } from '../../../test/fixtures/protocols/chat/translate.ts'
import { relayTarget } from '../../../test/fixtures/protocols/lane-target.ts'
import { countedIds } from '../../../test/fixtures/protocols/mint-ids.ts'
import type { Fields } from '../../lib/types.ts'
import { effortOf } from '../../model/effort.ts'
import type { TurnEvent } from '../../model/event.ts'
import { scanJson } from '../json/scan-json.ts'
import { chatDialect } from './dialects.ts'
import { createChatEncoder } from './encoder.ts'
import { createEventReader } from './read-events.ts'
import { rewriteRequest } from './write-request.ts'

const QUESTION = [{ role: 'user', name: 'ann', content: 'Is it raining in Bergen?' }]
/** Everything that a client may ask for and that some of them do not read. */
const ASKED = {
  ...{ temperature: 0.5, top_p: 0.9, seed: 7, stop: ['END'], presence_penalty: 1, frequency_penalty: 1 },
  ...{ logprobs: true, top_logprobs: 2, logit_bias: { 5: 1 }, parallel_tool_calls: false, verbosity: 'low' },
  ...{ user: 'u1', safety_identifier: 's1', prompt_cache_key: 'k1', response_format: { type: 'json_object' } },
  tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
  providerOptions: { gateway: { order: ['someone'] } },
  extra_body: { google: { cached_content: 'projects/1/locations/2/cachedContents/3' } },
}

function sentTo(dialect: string, body: object = {}, effort?: string) {
  const request = requestOf({ messages: QUESTION, max_tokens: 50, stream: true, ...body })
  const asked = effort === undefined ? {} : { effort: effortOf(effort) }
  const sent = rewriteRequest(request, relayTarget(chatDialect(dialect), { outputCap: 9000, ...asked }))
  return { body: JSON.parse(String(sent.body)) as Fields, leftOut: [...sent.leftOut].sort() }
}

/** By no dialect: whom they are routed to, and what of theirs is read, is the operator's to say. */
const NEVER = ['extra_body', 'providerOptions']

describe('a request to', () => {
  it.each<[dialect: string, leftOut: readonly string[], cap: string]>([
    ['github-copilot', [], 'max_tokens'],
    [
      'google-vertex',
      [
        ...['logit_bias', 'logprobs', 'parallel_tool_calls', 'prompt_cache_key', 'safety_identifier', 'top_logprobs'],
        ...['user', 'verbosity'],
      ],
      'max_tokens',
    ],
    [
      'anthropic-compat',
      [
        ...['frequency_penalty', 'logit_bias', 'logprobs', 'messages.name', 'presence_penalty', 'prompt_cache_key'],
        ...['response_format', 'safety_identifier', 'seed', 'top_logprobs', 'user', 'verbosity'],
      ],
      'max_tokens',
    ],
    ['vercel-gateway', [], 'max_tokens'],
    ['bedrock', [], 'max_completion_tokens'],
  ])('%s has what its server reads, and its client is told of the rest', (dialect, leftOut, cap) => {
    const { body, leftOut: delivered } = sentTo(dialect, ASKED)
    expect(delivered).toEqual([...leftOut, ...NEVER].sort())
    const kept = Object.keys(ASKED).filter((name) => !delivered.includes(name))
    expect(Object.keys(body).sort()).toEqual([...kept, 'messages', 'model', 'stream', 'stream_options', cap].sort())
    expect([body[cap], body.stream_options]).toEqual([9000, { include_usage: true }])
  })

  it('Anthropic’s compatible endpoint has no names, elsewhere they stay', () => {
    expect(sentTo('anthropic-compat').body.messages).toEqual([{ role: 'user', content: QUESTION[0]!.content }])
    expect(sentTo('bedrock').body.messages).toEqual(QUESTION)
  })

  it.each<[dialect: string, effort: string, emitted: object]>([
    ['github-copilot', 'high', { reasoning_effort: 'high' }],
    ['bedrock', 'low', { reasoning_effort: 'low' }],
    ['vercel-gateway', 'none', { reasoning: { effort: 'none' } }],
    ['vercel-gateway', 'xhigh', { reasoning: { effort: 'xhigh' } }],
    // Its table has three words; no request pays for more thinking than it asked for.
    ['google-vertex', 'medium', { reasoning_effort: 'medium' }],
    ['google-vertex', 'max', { reasoning_effort: 'high' }],
    ['google-vertex', 'none', { reasoning_effort: 'low' }],
    ['anthropic-compat', 'none', { thinking: { type: 'disabled' } }],
    ['anthropic-compat', 'high', { thinking: { type: 'adaptive' } }],
  ])('%s tells the effort %s in its words', (dialect, effort, emitted) => {
    expect(sentTo(dialect, {}, effort).body).toMatchObject(emitted)
    expect(sentTo(dialect, {}, effort).leftOut).toEqual(dialect === 'anthropic-compat' ? ['messages.name'] : [])
  })

  it('servers that cannot do what would make another answer is skipped', () => {
    expect(chatDialect('anthropic-compat').cannot).toContain('n')
    expect(chatDialect('anthropic-compat').traits.jsonSchema).toBe('none')
  })
})

const HEAD = { id: 'm1', object: 'chat.completion.chunk', created: 9, model: 'lane' }
const frame = (value: object) => Buffer.from(`data: ${JSON.stringify({ ...HEAD, ...value })}\n\n`)
const DONE = Buffer.from('data: [DONE]\n\n')
const delta = (emitted: object, over: object = {}) => ({
  choices: [{ index: 0, delta: emitted, finish_reason: null, ...over }],
})
const LOOK = { id: 'toolu_9', type: 'function', function: { name: 'look', arguments: '{"town":"Bergen"}' } }

function encoderFor(stream: boolean) {
  const request = requestOf({ messages: QUESTION, stream })
  return createChatEncoder({ request, model: 'mill', requestId: 'req_1', mint: countedIds(), now: () => 1 })
}

/** A stream as a client of Chat gets it, and as events. */
function receivedOf(dialect: string, chunks: readonly object[]) {
  const lane = { model: 'lane', dialect: chatDialect(dialect) }
  const adapter = encoderFor(true).relay(lane)
  const sent = [...chunks.map(frame), DONE].flatMap((each) => {
    const { bytes } = adapter.read(each)
    const frames = String(bytes ?? '').matchAll(/^data: (.+)$/gm)
    return [...frames].map(([, data]) => JSON.parse(data!) as { choices: Fields[] })
  })
  const reader = createEventReader({ dialect: lane.dialect, origin: 'lane', mint: countedIds() })
  const events: TurnEvent[] = [...chunks.map(frame), DONE].flatMap((each) => [...reader.read(each)])
  expect([adapter.state.invalid, reader.state.invalid]).toEqual([undefined, undefined])
  expect([adapter.state.finished, reader.state.finished]).toEqual([true, true])
  return { choices: sent.flatMap(({ choices }) => choices), events }
}

function replied(dialect: string, choices: readonly object[]) {
  const value = { id: 'm1', object: 'chat.completion', created: 9, model: 'lane', choices }
  const bytes = Buffer.from(JSON.stringify(value))
  const scanned = scanJson(bytes, { depthMax: 64, valuesMax: 1000 })
  if (scanned.kind !== 'scanned') throw new Error('not JSON')
  const body = { bytes, members: scanned.members }
  const reply = encoderFor(false).relayReply({ body, value }, { dialect: chatDialect(dialect) })
  return reply.kind === 'reply' ? (JSON.parse(String(reply.close(SETTLED))) as { choices: Fields[] }) : reply
}

describe('an answer of GitHub Copilot', () => {
  const SPLIT = [
    { message: { role: 'assistant', content: 'I look.', reasoning_text: 'Rain?' }, finish_reason: 'tool_calls' },
    { message: { role: 'assistant', content: null, tool_calls: [LOOK] }, finish_reason: 'tool_calls' },
  ]

  it('with text and calls in two choices is joined', () => {
    expect(replied('github-copilot', SPLIT)).toMatchObject({
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'I look.', reasoning_content: 'Rain?', tool_calls: [LOOK] },
          finish_reason: 'tool_calls',
        },
      ],
    })
  })

  it('is not joined where a server means several answers by several choices', () => {
    expect(replied('generic', SPLIT)).toMatchObject({ kind: 'invalid' })
  })

  it('is one choice in a stream too, whatever index its parts have', () => {
    const { choices, events } = receivedOf('github-copilot', [
      delta({ role: 'assistant', content: '', reasoning_text: 'Rain?', reasoning_opaque: 'x' }),
      delta({ content: 'I look.' }),
      {
        choices: [
          { index: 0, delta: { content: ' Now.' }, finish_reason: null },
          { index: 1, delta: { tool_calls: [{ index: 0, ...LOOK }] }, finish_reason: null },
        ],
      },
      delta({}, { index: 1, finish_reason: 'tool_calls' }),
    ])
    expect(choices.map(({ index }) => index)).toEqual([0, 0, 0, 0])
    expect(choices.map(({ delta }) => (delta as Fields).content ?? '').join('')).toBe('I look. Now.')
    expect(choices[0]?.delta).toMatchObject({ reasoning_content: 'Rain?' })
    expect(choices[0]?.delta).not.toHaveProperty('reasoning_text')
    expect(choices[2]?.delta).toMatchObject({ tool_calls: [{ index: 0, ...LOOK }] })
    expect(choices[3]?.finish_reason).toBe('tool_calls')
    expect(events).toEqual([
      { type: 'reasoning-delta', text: 'Rain?' },
      { type: 'text-delta', text: 'I look.' },
      { type: 'text-delta', text: ' Now.' },
      expect.objectContaining({ type: 'tool-call-start', name: 'look' }),
      { type: 'tool-call-delta', call: 0, text: '{"town":"Bergen"}' },
      { type: 'tool-call-end', call: 0 },
      { type: 'turn-end', reason: 'tool-calls' },
    ])
  })
})

describe('a stream of', () => {
  it('Vertex AI, whose calls have no index and end with a stop, ends with calls', () => {
    const signed = { ...LOOK, extra_content: { google: { thought_signature: 'c2ln' } } }
    const { choices } = receivedOf('google-vertex', [
      delta({ role: 'assistant', tool_calls: [signed] }, { finish_reason: 'stop' }),
    ])
    expect(choices[0]).toMatchObject({ delta: { tool_calls: [{ index: 0, ...signed }] }, finish_reason: null })
    expect(choices[1]).toMatchObject({ index: 0, delta: {}, finish_reason: 'tool_calls' })
  })

  it('the AI Gateway’s reasoning is read once, although it comes in two fields', () => {
    const { events } = receivedOf('vercel-gateway', [
      delta({ role: 'assistant', reasoning: 'Rain?', reasoning_details: [{ type: 'reasoning.text', text: 'Rain?' }] }),
      delta({ content: 'Yes.' }, { finish_reason: 'stop' }),
    ])
    expect(events.map((event) => ('text' in event ? event.text : event.type))).toEqual(['Rain?', 'Yes.', 'turn-end'])
  })

  it.each(['anthropic-compat', 'bedrock'])('%s is one as the protocol has it', (dialect) => {
    const { choices } = receivedOf(dialect, [
      delta({ role: 'assistant', content: 'Yes' }),
      delta({ content: '.' }),
      delta({}, { finish_reason: 'stop' }),
    ])
    expect(choices.map(({ delta }) => (delta as Fields).content ?? '').join('')).toBe('Yes.')
  })
})
