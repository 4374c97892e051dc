import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { respond } from '../../support/send-responses.ts'
import { openAccount } from '../../support/test-account.ts'
import { FAR_MODELS, type FarModel, useResponsesServer } from './responses-server.ts'
import { TOOLS } from './tools.ts'

const user = (content: string) => ({ type: 'message', role: 'user', content })
const call = (call_id: string, name: string, text = '{}', more: object = {}) => ({
  ...{ type: 'function_call', id: `fc_${call_id}`, call_id, name, arguments: text, status: 'completed', ...more },
})
const custom = (call_id: string, name: string, input: string, more: object = {}) => ({
  ...{ type: 'custom_tool_call', id: `ctc_${call_id}`, call_id, name, input, ...more },
})
const result = (call_id: string, output: unknown) => ({ type: 'function_call_output', call_id, output })
const customResult = (call_id: string, output: unknown) => ({ type: 'custom_tool_call_output', call_id, output })

interface History {
  readonly input: readonly object[]
  /** Of a lane that speaks Responses: what its input is, without the ids of items. */
  readonly plain: readonly object[]
  /** As the client wrote it, unless there is something else. */
  readonly native?: readonly object[]
  readonly chat: readonly object[]
}

const emitted = (content: string) => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text: content }],
})
const withoutId = ({ id: _id, ...item }: { readonly id?: unknown }): object => item
const flatCall = (call_id: string, name: string, text: string) => ({
  ...{ type: 'function_call', call_id, name, arguments: text },
})
const chatCall = (id: string, name: string, text = '{}') => ({
  id,
  type: 'function',
  function: { name, arguments: text },
})
const calls = (...tool_calls: readonly object[]) => ({ role: 'assistant', content: null, tool_calls })
const tool = (tool_call_id: string, content: string) => ({ role: 'tool', tool_call_id, content })
const receivedRequest = { role: 'user', content: 'Go' }

const PARTS = [
  { type: 'input_text', text: 'one' },
  { type: 'output_text', text: 'two' },
]
/** Of the one kind that a provider takes there. */
const HEARD = PARTS.map((part) => ({ ...part, type: 'input_text' }))

const HISTORIES: Readonly<Record<string, History>> = {
  'a text': {
    input: [user('Go'), call('a', 'look_up', '{"q":"x"}'), result('a', 'found')],
    plain: [emitted('Go'), flatCall('a', 'look_up', '{"q":"x"}'), result('a', 'found')],
    chat: [receivedRequest, calls(chatCall('a', 'look_up', '{"q":"x"}')), tool('a', 'found')],
  },
  'an empty text': {
    input: [user('Go'), call('a', 'ping', ''), result('a', '')],
    plain: [emitted('Go'), flatCall('a', 'ping', ''), result('a', '')],
    chat: [receivedRequest, calls(chatCall('a', 'ping', '')), tool('a', '')],
  },
  'parts of text': {
    input: [user('Go'), call('a', 'look_up'), result('a', PARTS)],
    plain: [emitted('Go'), flatCall('a', 'look_up', '{}'), result('a', 'onetwo')],
    native: [user('Go'), call('a', 'look_up'), result('a', HEARD)],
    chat: [receivedRequest, calls(chatCall('a', 'look_up')), tool('a', 'one\ntwo')],
  },
  'arguments that are no JSON': {
    input: [user('Go'), call('a', 'look_up', '{"q": "no end'), result('a', 'broken')],
    plain: [emitted('Go'), flatCall('a', 'look_up', '{"q": "no end'), result('a', 'broken')],
    chat: [receivedRequest, calls(chatCall('a', 'look_up', '{"q": "no end')), tool('a', 'broken')],
  },
  'of a custom tool': {
    input: [user('Go'), custom('a', 'patch', 'x "y"'), customResult('a', 'done')],
    plain: [emitted('Go'), flatCall('a', 'patch', '{"input":"x \\"y\\""}'), result('a', 'done')],
    chat: [receivedRequest, calls(chatCall('a', 'patch', '{"input":"x \\"y\\""}')), tool('a', 'done')],
  },
  'of a custom tool in a namespace': {
    input: [user('Go'), custom('a', 'note', 'x', { namespace: 'agents' }), customResult('a', PARTS)],
    plain: [emitted('Go'), flatCall('a', 'agents__note', '{"input":"x"}'), result('a', 'onetwo')],
    native: [user('Go'), custom('a', 'note', 'x', { namespace: 'agents' }), customResult('a', HEARD)],
    chat: [receivedRequest, calls(chatCall('a', 'agents__note', '{"input":"x"}')), tool('a', 'one\ntwo')],
  },
  'of a function in a namespace': {
    input: [user('Go'), call('a', 'wait', '{}', { namespace: 'agents' }), result('a', 'ok')],
    plain: [emitted('Go'), flatCall('a', 'agents__wait', '{}'), result('a', 'ok')],
    chat: [receivedRequest, calls(chatCall('a', 'agents__wait')), tool('a', 'ok')],
  },
  'of several calls, in another order and with words between': {
    input: [user('Go'), call('a', 'look_up'), call('b', 'ping'), result('b', 'B'), user('Well?'), result('a', 'A')],
    plain: [
      ...[emitted('Go'), flatCall('a', 'look_up', '{}'), flatCall('b', 'ping', '{}')],
      ...[result('b', 'B'), emitted('Well?'), result('a', 'A')],
    ],
    chat: [
      ...[receivedRequest, calls(chatCall('a', 'look_up'), chatCall('b', 'ping')), tool('a', 'A'), tool('b', 'B')],
      { role: 'user', content: 'Well?' },
    ],
  },
  'of calls that were aborted': {
    input: [user('Go'), call('a', 'look_up'), call('b', 'ping'), result('a', 'A'), user('Stop')],
    plain: [
      ...[emitted('Go'), flatCall('a', 'look_up', '{}'), flatCall('b', 'ping', '{}')],
      ...[result('b', 'aborted'), result('a', 'A'), emitted('Stop')],
    ],
    native: [
      ...[user('Go'), call('a', 'look_up'), call('b', 'ping'), result('b', 'aborted')],
      ...[result('a', 'A'), user('Stop')],
    ],
    chat: [
      ...[
        receivedRequest,
        calls(chatCall('a', 'look_up'), chatCall('b', 'ping')),
        tool('a', 'A'),
        tool('b', 'aborted'),
      ],
      { role: 'user', content: 'Stop' },
    ],
  },
  'beside those of tools that a provider ran': {
    input: [
      ...[user('Go'), { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } }],
      ...[{ type: 'local_shell_call', id: 'ls_1', call_id: 'shell', action: { type: 'exec', command: ['ls'] } }],
      ...[result('shell', 'a.txt'), call('a', 'look_up'), result('a', 'A')],
    ],
    plain: [emitted('Go'), flatCall('a', 'look_up', '{}'), result('a', 'A')],
    native: [user('Go'), call('a', 'look_up'), result('a', 'A')],
    chat: [receivedRequest, calls(chatCall('a', 'look_up')), tool('a', 'A')],
  },
}

function sentTo(model: FarModel, { input, plain, native, chat }: History): unknown {
  if (model === 'over-chat') return chat
  return model === 'over-plain' ? plain : (native ?? input).map(withoutId)
}

describe.each(FAR_MODELS)('tool results over %s', (model) => {
  const setup = useResponsesServer()

  it.each(Object.keys(HISTORIES))('%s', async (name) => {
    const { server, receivedRequest: got } = setup()
    const account = await openAccount(server)
    const history = HISTORIES[name]!
    const { status, json } = await respond(server, account, { model, tools: TOOLS, input: history.input })
    expect(status, JSON.stringify(json)).toBe(200)
    expect(model === 'over-chat' ? got().messages : got().input).toEqual(sentTo(model, history))
  })

  it('are refused without their call', async () => {
    const { server, far } = setup()
    const account = await openAccount(server)
    const orphans = [
      [user('Go'), result('nobody', 'x')],
      [user('Go'), customResult('nobody', 'x')],
      [user('Go'), call('a', 'look_up'), result('b', 'x')],
    ]
    for (const input of orphans) {
      const message = /No tool call found for function call output with call_id (nobody|b)/
      const answer = await respond(server, account, { model, tools: TOOLS, input })
      expectProblem(answer, 'invalid_value', { param: 'input', message })
    }
    expect(far.providerAnswers).toEqual([])
  })

  it('of a tool no longer declared are sent', async () => {
    const { server, receivedRequest: got } = setup()
    const account = await openAccount(server)
    const input = [user('Go'), call('a', 'gone'), result('a', 'A')]
    expect((await respond(server, account, { model, input })).status).toBe(200)
    expect(JSON.stringify(got())).toContain('"gone"')
  })
})
