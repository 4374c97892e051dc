import type { Fields } from '../../../src/lib/types.ts'

export const WIRES = ['chat', 'responses', 'anthropic', 'gemini'] as const
export type LaneWire = (typeof WIRES)[number]

/** What a provider of a wire answers, as a stream and, where clients speak its protocol, as JSON. */
export interface ScriptedAnswer {
  /** Names the model there. */
  readonly id: string
  readonly wire: LaneWire
  readonly stream: readonly (Fields | string)[]
  readonly reply?: Fields
}

const DONE = '[DONE]'
const ARGS = '{"q":1}'

// Chat Completions.
const chunk = (delta: Fields, finish: string | null = null, index = 0): Fields => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index, delta, finish_reason: finish }],
})
const chatCall = (args: string, name = 'look'): Fields => ({
  tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: args } }],
})
const chatReply = (message: Fields, finish: string, index = 0): Fields => ({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index, message: { role: 'assistant', content: null, ...message }, finish_reason: finish }],
})
const wholeCall = (args: string, name = 'look'): Fields => ({
  tool_calls: [{ id: 'call_1', type: 'function', function: { name, arguments: args } }],
})
const chatUsage: Fields = { ...chunk({}), choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }
const CHAT: readonly Omit<ScriptedAnswer, 'wire'>[] = [
  {
    id: 'chat-broken-arguments',
    stream: [chunk(chatCall('{"q":}')), chunk({}, 'tool_calls'), DONE],
    reply: chatReply(wholeCall('{"q":}'), 'tool_calls'),
  },
  {
    id: 'chat-nameless-call',
    stream: [chunk(chatCall(ARGS, '')), chunk({}, 'stop'), DONE],
    reply: chatReply({ tool_calls: [{ id: 'a', type: 'function', function: { arguments: ARGS } }] }, 'tool_calls'),
  },
  {
    id: 'chat-no-calls',
    stream: [chunk({ content: 'Hi' }), chunk({}, 'tool_calls'), DONE],
    reply: chatReply({ content: 'Hi' }, 'tool_calls'),
  },
  {
    id: 'chat-other-choice',
    stream: [chunk({ content: 'Hi' }), chunk({}, 'stop', 1), DONE],
    reply: chatReply({ content: 'Hi' }, 'stop', 1),
  },
  {
    id: 'chat-words-behind-the-end',
    stream: [chunk({ content: 'Hi' }), chunk({}, 'stop'), chatUsage, chunk({ content: ' there' }), DONE],
    reply: { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [] },
  },
]

// Responses.
const event = (type: string, more: Fields): Fields => ({ type: `response.${type}`, ...more })
const message = (text: string): Fields => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text, annotations: [] }],
})
const call = (args: string, name = 'look'): Fields => ({
  ...{ id: 'fc_1', type: 'function_call', call_id: 'call_1', name, arguments: args, status: 'completed' },
})
const response = (...output: Fields[]): Fields => ({
  ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'm', output },
})
const created = event('created', { response: { ...response(), status: 'in_progress' } })
const text = (delta: string): Fields =>
  event('output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta })
const added = (item: Fields): Fields =>
  event('output_item.added', { output_index: 0, item: { ...item, content: [], arguments: '' } })
const done = (item: Fields): Fields => event('output_item.done', { output_index: 0, item })
const completed = (...output: Fields[]): Fields => event('completed', { response: response(...output) })
const RESPONSES: readonly Omit<ScriptedAnswer, 'wire'>[] = [
  {
    id: 'responses-second-created',
    stream: [created, added(message('')), text('Hi'), created, done(message('Hi')), completed(message('Hi'))],
    reply: { object: 'response', output: 'none' },
  },
  {
    id: 'responses-disagreeing-done',
    stream: [created, added(message('')), text('Hi'), done(message('Ho')), completed(message('Hi'))],
    reply: response(call('{"q":')),
  },
  {
    id: 'responses-disagreeing-end',
    stream: [created, added(message('')), text('Hi'), done(message('Hi')), completed(message('Ho'))],
    reply: response(call('no JSON')),
  },
  {
    id: 'responses-repeated-delta',
    stream: [created, added(message('')), text('Hi'), text('Hi'), done(message('Hi')), completed(message('Hi'))],
    reply: response(call(ARGS, '')),
  },
  {
    id: 'responses-broken-arguments',
    stream: [created, added(call('')), done(call('{"q":')), completed(call('{"q":'))],
    reply: response(call('{"q":')),
  },
  {
    id: 'responses-nameless-call',
    stream: [created, done(call(ARGS, '')), completed(call(ARGS, ''))],
    reply: response(call(ARGS, '')),
  },
]

// Anthropic Messages.
const start = {
  type: 'message_start',
  message: { id: 'msg', type: 'message', role: 'assistant', model: 'm', content: [] },
}
const begin = (index: number, content_block: Fields): Fields => ({ type: 'content_block_start', index, content_block })
const emit = (index: number, emitted: string): Fields => ({
  ...{ type: 'content_block_delta', index },
  delta: { type: 'text_delta', text: emitted },
})
const write = (index: number, partial_json: string): Fields => ({
  ...{ type: 'content_block_delta', index },
  delta: { type: 'input_json_delta', partial_json },
})
const stop = (index: number): Fields => ({ type: 'content_block_stop', index })
const ends = (stop_reason: string): Fields => ({
  type: 'message_delta',
  delta: { stop_reason },
  usage: { output_tokens: 3 },
})
const over = { type: 'message_stop' }
const TEXT = { type: 'text', text: '' }
const TOOL = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }
const ANTHROPIC: readonly Omit<ScriptedAnswer, 'wire'>[] = [
  {
    id: 'anthropic-second-start',
    stream: [start, begin(0, TEXT), emit(0, 'Hi'), start, stop(0), ends('end_turn'), over],
  },
  {
    id: 'anthropic-text-twice',
    stream: [start, begin(0, TEXT), emit(0, 'Hi'), begin(0, TEXT), emit(0, 'Hi'), stop(0), ends('end_turn'), over],
  },
  {
    id: 'anthropic-cut-arguments',
    stream: [start, begin(0, TOOL), write(0, '{"q":'), stop(0), ends('tool_use'), over],
  },
  { id: 'anthropic-arguments-of-nothing', stream: [start, write(0, ARGS), stop(0), ends('end_turn'), over] },
  { id: 'anthropic-no-reason', stream: [start, begin(0, TEXT), emit(0, 'Hi'), stop(0), over] },
  { id: 'anthropic-no-calls', stream: [start, begin(0, TEXT), emit(0, 'Hi'), stop(0), ends('tool_use'), over] },
]

// Gemini generateContent.
const parts = (...all: Fields[]): Fields => ({ candidates: [{ content: { role: 'model', parts: all }, index: 0 }] })
const finish = { candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'STOP', index: 0 }] }
const GEMINI: readonly Omit<ScriptedAnswer, 'wire'>[] = [
  { id: 'gemini-nameless-call', stream: [parts({ functionCall: { args: { q: 1 } } }), finish] },
  { id: 'gemini-arguments-as-text', stream: [parts({ functionCall: { name: 'look', args: '{"q":' } }), finish] },
]

const of = (wire: LaneWire, answers: readonly Omit<ScriptedAnswer, 'wire'>[]): ScriptedAnswer[] =>
  answers.map((answer) => ({ ...answer, wire }))

export const INVALID_ANSWERS: readonly ScriptedAnswer[] = [
  ...of('chat', CHAT),
  ...of('responses', RESPONSES),
  ...of('anthropic', ANTHROPIC),
  ...of('gemini', GEMINI),
]

/** The same in order: what is refused above is refused for what is wrong with it. */
export const VALID_ANSWERS: readonly ScriptedAnswer[] = [
  ...of('chat', [
    {
      id: 'chat-valid',
      stream: [chunk(chatCall(ARGS)), chunk({}, 'tool_calls'), DONE],
      reply: chatReply(wholeCall(ARGS), 'tool_calls'),
    },
    {
      id: 'chat-words-behind-the-finish',
      stream: [chunk({ content: 'Hi' }, 'stop'), chunk({ content: ' there' }), chatUsage, DONE],
      reply: chatReply({ content: 'Hi there' }, 'whatever'),
    },
  ]),
  ...of('responses', [
    {
      id: 'responses-valid',
      stream: [created, added(message('')), text('Hi'), done(message('Hi')), completed(message('Hi'))],
      reply: response(call(ARGS)),
    },
  ]),
  ...of('anthropic', [
    { id: 'anthropic-valid', stream: [start, begin(0, TOOL), write(0, ARGS), stop(0), ends('tool_use'), over] },
  ]),
  ...of('gemini', [
    { id: 'gemini-valid', stream: [parts({ functionCall: { name: 'look', args: { q: 1 } } }), finish] },
    { id: 'gemini-words-behind-the-finish', stream: [parts({ text: 'Hi' }), finish, parts({ text: ' there' })] },
  ]),
]
