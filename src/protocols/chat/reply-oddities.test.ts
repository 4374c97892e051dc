import { describe, expect, it } from 'vitest'
import { requestOf, SETTLED } from '../../../test/fixtures/protocols/chat/translate.ts'
import { countedIds } from '../../../test/fixtures/protocols/mint-ids.ts'
import { scanJson } from '../json/scan-json.ts'
import { chatDialect } from './dialects.ts'
import { createChatEncoder } from './encoder.ts'

/** What a client gets of a provider's JSON answer. */
function relayed(value: object) {
  const request = requestOf({ messages: [{ role: 'user', content: 'q' }] })
  const encoder = createChatEncoder({ request, model: 'mill', requestId: 'req_1', mint: countedIds(), now: () => 1 })
  const bytes = Buffer.from(JSON.stringify(value))
  const scanned = scanJson(bytes, { depthMax: 64, valuesMax: 1000 })
  if (scanned.kind !== 'scanned') throw new Error('not JSON')
  const reply = encoder.relayReply(
    { body: { bytes, members: scanned.members }, value },
    {
      dialect: chatDialect('generic'),
    },
  )
  return reply.kind === 'reply' ? JSON.parse(String(reply.close(SETTLED))) : reply
}

const answer = (message: unknown, finish: unknown = 'stop') => ({
  ...{ id: 'c1', object: 'chat.completion', created: 1, model: 'lane' },
  choices: [{ index: 0, message, finish_reason: finish }],
})
const call = (args: unknown, over: object = {}) => ({ function: { name: 'look', arguments: args }, ...over })

describe('a JSON answer of a server that speaks Chat', () => {
  it.each<[what: string, message: object, finish: unknown, emitted: object]>([
    ['without role and content', {}, 'stop', { message: { role: 'assistant', content: null }, finish_reason: 'stop' }],
    [
      'with calls that are null or none',
      { role: 'assistant', content: 'hi', tool_calls: null },
      'stop',
      { message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' },
    ],
    ['that does not say why it ended', { role: 'assistant', content: 'hi' }, null, { finish_reason: 'stop' }],
    [
      'with arguments as an object, and a stop that is a call',
      { role: 'assistant', content: null, tool_calls: [call({ a: 1 })] },
      'stop',
      {
        message: { tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } }] },
        finish_reason: 'tool_calls',
      },
    ],
    [
      'whose call was cut',
      { role: 'assistant', content: null, tool_calls: [call('{"a', { id: 'x', type: 'function' })] },
      'tool_calls',
      { finish_reason: 'length' },
    ],
    [
      'with a call without arguments',
      { role: 'assistant', content: null, tool_calls: [call('', { id: 'x', type: 'function' })] },
      'stop',
      { finish_reason: 'tool_calls' },
    ],
    [
      'with content in parts',
      {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
          { type: 'text', text: 'hi' },
        ],
      },
      'model_length',
      { message: { role: 'assistant', content: 'hi', reasoning_content: 'hm' }, finish_reason: 'length' },
    ],
  ])('%s is mended', (_what, message, finish, emitted) => {
    const { choices } = relayed(answer(message, finish))
    expect(choices).toMatchObject([emitted])
    // Present and empty is not absent.
    expect([null, []]).not.toContainEqual(choices[0].message.tool_calls)
  })

  it.each([
    ['tool_use', 'tool_calls'],
    ['sensitive', 'content_filter'],
    ['MAX_TOKENS', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['eos_token', 'tool_calls'],
    ['whatever', 'tool_calls'],
  ])('that ends with %s has the finish reason %s', (word, finish) => {
    const message = { role: 'assistant', content: null, tool_calls: [call('{"a":1}', { id: 'x', type: 'function' })] }
    expect(relayed(answer(message, word)).choices).toMatchObject([{ finish_reason: finish }])
  })

  it.each<[what: string, body: object, message: string]>([
    [
      'an error with status 200',
      { error: { code: 502, message: 'Provider returned error' } },
      'Provider returned error',
    ],
    ['an error that is text', { error: 'broke' }, 'broke'],
    [
      'an error in a choice',
      { choices: [{ index: 0, finish_reason: 'error', error: { code: 400, message: 'too long', metadata: {} } }] },
      'too long',
    ],
    ['an error at the top', { object: 'error', message: 'too long', type: 'BadRequestError', code: 400 }, 'too long'],
    ['an error under another name', { detail: [{ loc: ['body', 'x'], msg: 'no' }] }, 'x: no'],
    ['a list of errors', { errors: [{ message: 'no' }], choices: [] }, 'no'],
    [
      'a failure of MiniMax',
      { choices: null, base_resp: { status_code: 1008, status_msg: 'insufficient balance' } },
      'insufficient balance',
    ],
    [
      'a finish that is a failure',
      answer({ content: '' }, 'insufficient_system_resource'),
      'it ended with "insufficient_system_resource"',
    ],
    ['a broken network', answer({ content: 'h' }, 'network_error'), 'it ended with "network_error"'],
  ])('%s is no answer', (_what, body, message) => {
    expect(relayed(body)).toMatchObject({ kind: 'error', error: { message } })
  })

  it.each([[{}], [{ choices: null }], [{ choices: [] }], [{ choices: [{ message: null }] }], [{ choices: [7] }]])(
    '%j is none either',
    (body) => {
      expect(relayed(body)).toMatchObject({ kind: 'invalid' })
    },
  )
})

it('a JSON answer with a nameless call is invalid, whatever else it contains', () => {
  const nameless = { id: 'x', type: 'function', function: { arguments: '{}' } }
  for (const calls of [[nameless], [{ ...call('{}'), id: 'a' }, nameless]])
    expect(relayed(answer({ role: 'assistant', content: 'hi', tool_calls: calls }))).toEqual({
      kind: 'invalid',
      what: 'a tool call without a name',
    })
})
