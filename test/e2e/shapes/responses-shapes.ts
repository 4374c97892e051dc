import { COUNT, type Shape } from './chat-shapes.ts'

const count = { role: 'user', content: COUNT }
const sends = { role: 'user', content: 'How is it?' }
const emitted = (words: string) => ({ type: 'output_text', text: words, annotations: [], logprobs: [] })
const parsedOutput = (words: string) => ({ type: 'input_text', text: words })
const call = { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Oslo"}' }
const result = { type: 'function_call_output', call_id: 'call_1', output: 'snow' }
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const tool = { type: 'function', name: 'get_weather', parameters }

const items = (shape: string, ...input: readonly object[]): Shape => ({ shape, body: { input } })
const fields = (shape: string, more: object, ignored?: string): Shape => ({
  shape,
  body: { input: COUNT, ...more },
  ...(ignored === undefined ? {} : { ignored }),
})
const tools = (shape: string, ...declared: readonly object[]): Shape => fields(shape, { tools: declared })
const afterWords = (shape: string, assistant: object): Shape =>
  items(shape, sends, { role: 'assistant', ...assistant }, count)
const afterReasoning = (shape: string, reasoning: object): Shape =>
  items(shape, sends, { type: 'reasoning', ...reasoning }, { ...call, id: 'fc_1' }, result, count)

export const RESPONSES_SHAPES: readonly Shape[] = [
  fields('input as one text', {}),
  items('messages without a type', sends, { role: 'assistant', content: 'Cold.' }, count),
  items('messages with a type', { type: 'message', ...sends }, { type: 'message', ...count }),
  items('a user who speaks in parts', { role: 'user', content: [parsedOutput('count '), parsedOutput('to 3')] }),
  items('a system message in parts', { role: 'system', content: [parsedOutput('Be brief.')] }, count),
  items('a developer message in parts', { role: 'developer', content: [parsedOutput('Be brief.')] }, count),
  items('system and developer messages between turns', sends, { role: 'system', content: 'Be brief.' }, count),
  items('developer messages between turns', sends, { role: 'developer', content: 'Be brief.' }, count),
  items('a user message that is empty', { role: 'user', content: '' }, count),
  items('a developer message that is empty', { role: 'developer', content: '' }, count),
  items("a user's message in the assistant's parts", { role: 'user', content: [emitted(COUNT)] }),
  items("a user's message in the parts of chat", { role: 'user', content: [{ type: 'text', text: COUNT }] }),
  afterWords('an assistant who speaks in parts', { content: [emitted('It is '), emitted('cold.')] }),
  afterWords("an assistant message in the user's parts", { content: [parsedOutput('It is cold.')] }),
  afterWords('an assistant message in parts without annotations', {
    content: [{ type: 'output_text', text: 'Cold.' }],
  }),
  afterWords('an assistant message that is empty', { content: '' }),
  afterWords('an assistant message with an empty part', { content: [emitted('')] }),
  afterWords('an assistant message with an empty list', { content: [] }),
  afterWords('an assistant message that is null', { content: null }),
  afterWords('a phase on an assistant message', { content: 'Let me see.', phase: 'commentary' }),
  afterWords('a phase of null', { content: 'Let me see.', phase: null }),
  afterWords('an item with the id and status that it was given', {
    ...{ type: 'message', id: 'msg_0123', status: 'completed', content: [emitted('Cold.')] },
  }),
  items(
    'items with ids of the client',
    { ...sends, id: 'msg_mine' },
    { ...count, id: 'msg_mine_too', type: 'message' },
  ),
  items('items with a status of null', { ...sends, status: null, type: 'message' }, count),
  items('a call and its output', sends, call, result, count),
  items(
    'a call and its output with id and status',
    sends,
    { ...call, id: 'fc_1', status: 'completed' },
    { ...result, id: 'fco_1', status: 'completed' },
    count,
  ),
  items('a call and its output with ids of null', sends, { ...call, id: null }, { ...result, id: null }, count),
  items('a call without arguments', sends, { ...call, arguments: '' }, result, count),
  {
    shape: 'an output as a list of parts',
    body: { input: [sends, call, { ...result, output: [parsedOutput('snow')] }], tools: [tool] },
    description: '"snow"',
  },
  items('an output that is empty', sends, call, { ...result, output: '' }, count),
  afterReasoning('reasoning with content null and an empty summary', { id: 'rs_1', content: null, summary: [] }),
  afterReasoning('reasoning without a seal', { id: 'rs_1', summary: [], encrypted_content: null }),
  afterReasoning('reasoning without an id', { summary: [{ type: 'summary_text', text: 'Look.' }] }),
  afterReasoning('reasoning with its words', {
    ...{ id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Look.' }], status: 'completed' },
  }),
  tools('a tool with strict: true', { ...tool, strict: true }),
  tools('a tool with strict: false', { ...tool, strict: false }),
  tools('a tool with strict: null', { ...tool, strict: null, description: null }),
  tools('a tool without parameters', { type: 'function', name: 'get_time' }),
  tools('a tool whose parameters are null', { type: 'function', name: 'get_time', parameters: null }),
  fields('tool_choice "auto" without tools', { tool_choice: 'auto' }),
  fields('parallel_tool_calls without tools', { parallel_tool_calls: true }),
  fields('no tools as an empty list, with what goes with tools', {
    ...{ tools: [], tool_choice: 'auto', parallel_tool_calls: false },
  }),
  fields('no tools as null, with what goes with tools', {
    ...{ tools: null, tool_choice: 'auto', parallel_tool_calls: null },
  }),
  fields('nulls and empties', {
    ...{ previous_response_id: null, include: null, truncation: null, reasoning: {}, instructions: '', user: '' },
  }),
  fields('an empty previous_response_id', { previous_response_id: '' }),
  fields('an empty include', { include: [] }),
  fields('empty metadata', { metadata: {} }, 'metadata'),
  fields('client_metadata', { client_metadata: { 'x-codex-installation-id': 'a' } }, 'client_metadata'),
  fields('an empty text object', { text: {} }),
  fields('plain text as its format', { text: { format: { type: 'text' } } }),
  fields('store: false', { store: false }),
  fields('stream_options without a stream, or with it', { stream_options: { include_obfuscation: false } }),
  fields('background: false', { background: false }),
  fields('service_tier "auto"', { service_tier: 'auto' }),
  fields('n: 1', { n: 1 }),
  fields('every optional field as null', {
    ...{
      instructions: null,
      stream: null,
      stream_options: null,
      max_output_tokens: null,
      reasoning: null,
      store: null,
    },
    ...{ previous_response_id: null, include: null, text: null, tools: null, tool_choice: null, n: null },
    ...{ parallel_tool_calls: null, temperature: null, top_p: null, top_logprobs: null, truncation: null, user: null },
    ...{ safety_identifier: null, prompt_cache_key: null, metadata: null, client_metadata: null, service_tier: null },
    ...{ max_tool_calls: null, background: null, conversation: null, prompt: null, context_management: null },
    ...{ prompt_cache_retention: null, unheard_of: null },
  }),
  fields('a reasoning object whose members are null', { reasoning: { effort: null, summary: null } }),
]
