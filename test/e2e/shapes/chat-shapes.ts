/** A request as some client sends it. The model is put in; what is asked last is to count. */
export interface Shape {
  /** Names the test. */
  readonly shape: string
  readonly body: object
  /** What the answer is, or has in it; else it counts to three. */
  readonly description?: string
  /** Fields that the header names because no lane gets them. */
  readonly ignored?: string
}

export const COUNT = 'count to 3'
export const COUNTED = '1 2 3'

const count = { role: 'user', content: COUNT }
const sends = { role: 'user', content: 'How is it?' }
const text = (words: string) => ({ type: 'text', text: words })
const call = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }
const result = { role: 'tool', tool_call_id: 'call_1', content: 'snow' }
const tool = {
  type: 'function',
  function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
}

const messages = (shape: string, ...emitted: readonly object[]): Shape => ({ shape, body: { messages: emitted } })
const fields = (shape: string, more: object, ignored?: string): Shape => ({
  shape,
  body: { messages: [count], ...more },
  ...(ignored === undefined ? {} : { ignored }),
})
const tools = (shape: string, ...declared: readonly object[]): Shape => fields(shape, { tools: declared })
const afterACall = (shape: string, assistant: object, ...more: readonly object[]): Shape =>
  messages(shape, sends, { role: 'assistant', ...assistant }, result, ...more, count)
const afterWords = (shape: string, assistant: object): Shape =>
  messages(shape, sends, { role: 'assistant', ...assistant }, count)

export const CHAT_SHAPES: readonly Shape[] = [
  messages('a user who speaks in a list of parts', { role: 'user', content: [text('count '), text('to 3')] }),
  messages('a system message as a list of parts', { role: 'system', content: [text('Be brief.')] }, count),
  messages('a developer message as a list of parts', { role: 'developer', content: [text('Be brief.')] }, count),
  messages('a developer message in front', { role: 'developer', content: 'Be brief.' }, count),
  messages('system messages between turns', sends, { role: 'system', content: 'Be brief.' }, count),
  messages('developer messages between turns', sends, { role: 'developer', content: 'Be brief.' }, count),
  messages('two system messages', { role: 'system', content: 'One.' }, { role: 'system', content: 'Two.' }, count),
  messages('a system message that is empty', { role: 'system', content: '' }, count),
  messages('a user message that is empty', { role: 'user', content: '' }, count),
  messages('two users in a row', sends, count),
  messages('a user with a name of null', { ...count, name: null }),
  afterWords('an assistant who speaks in a list of parts', { content: [text('It is '), text('cold.')] }),
  afterWords('an assistant message that is empty', { content: '' }),
  afterWords('an assistant message with an empty list', { content: [] }),
  afterWords('an assistant message that is null', { content: null }),
  afterWords('an assistant message without content', {}),
  afterWords('an assistant message as an SDK gives it back', {
    ...{ content: 'Cold.', refusal: null, tool_calls: null, function_call: null },
  }),
  afterWords('an assistant message with an empty list of calls', { content: 'Cold.', tool_calls: [] }),
  afterWords('an assistant message with its reasoning', { content: 'Cold.', reasoning_content: 'Let me think.' }),
  afterACall('a call beside null', { content: null, tool_calls: [call] }),
  afterACall('a call beside nothing', { tool_calls: [call] }),
  afterACall('a call beside an empty text', { content: '', tool_calls: [call] }),
  afterACall('a call beside an empty list', { content: [], tool_calls: [call] }),
  afterACall('a call beside words', { content: 'Let me look.', tool_calls: [call] }),
  afterACall('a call with its reasoning', { content: null, reasoning_content: 'Look.', tool_calls: [call] }),
  afterACall('a call beside nulls', { content: null, refusal: null, function_call: null, tool_calls: [call] }),
  {
    shape: 'a tool message as a list of parts',
    body: {
      messages: [
        sends,
        { role: 'assistant', content: null, tool_calls: [call] },
        { ...result, content: [text('snow')] },
      ],
      tools: [tool],
    },
    description: '"snow"',
  },
  {
    shape: 'a tool message with a name',
    body: {
      messages: [sends, { role: 'assistant', tool_calls: [call] }, { ...result, name: 'get_weather' }],
      tools: [tool],
    },
    description: '"snow"',
  },
  afterACall('a tool message that is empty', { tool_calls: [call] }),
  messages(
    'a call and its result without the tool being declared again',
    sends,
    { role: 'assistant', content: null, tool_calls: [call] },
    result,
    count,
  ),
  tools('a tool with strict: true', { ...tool, function: { ...tool.function, strict: true } }),
  tools('a tool with strict: false', { ...tool, function: { ...tool.function, strict: false } }),
  tools('a tool with strict: null', { ...tool, function: { ...tool.function, strict: null } }),
  tools('a tool without parameters', { type: 'function', function: { name: 'get_time' } }),
  tools('a tool without properties', { type: 'function', function: { name: 'get_time', parameters: {} } }),
  fields('tool_choice "auto" without tools', { tool_choice: 'auto' }),
  fields('tool_choice "none" without tools', { tool_choice: 'none' }),
  fields('parallel_tool_calls without tools', { parallel_tool_calls: true }),
  fields('no tools as an empty list, with what goes with tools', {
    ...{ tools: [], tool_choice: 'auto', parallel_tool_calls: false },
  }),
  fields('no tools as null, with what goes with tools', {
    ...{ tools: null, tool_choice: 'auto', parallel_tool_calls: null },
  }),
  fields('no functions as an empty list', { functions: [] }),
  fields('stream_options without a stream, or with it', { stream_options: { include_usage: true } }),
  fields('stream_options as null', { stream_options: null }),
  fields('n: 1', { n: 1 }),
  fields('an empty user', { user: '' }),
  fields('stop as an empty list', { stop: [] }),
  fields('plain text as response_format', { response_format: { type: 'text' } }),
  fields('service_tier "auto"', { service_tier: 'auto' }),
  fields('store: true', { store: true }, 'store'),
  fields('store: false and metadata', { store: false, metadata: { editor: 'x' } }, 'store, metadata'),
  fields('empty metadata', { metadata: {} }, 'metadata'),
  fields('modalities of text', { modalities: ['text'] }, 'modalities'),
  fields('every optional field as null', {
    ...{ stream: null, stream_options: null, max_tokens: null, max_completion_tokens: null, reasoning_effort: null },
    ...{ reasoning: null, n: null, temperature: null, top_p: null, presence_penalty: null, frequency_penalty: null },
    ...{ stop: null, seed: null, logprobs: null, top_logprobs: null, logit_bias: null, tools: null, tool_choice: null },
    ...{ parallel_tool_calls: null, functions: null, function_call: null, response_format: null, verbosity: null },
    ...{ user: null, safety_identifier: null, prompt_cache_key: null, modalities: null, store: null, metadata: null },
    ...{ service_tier: null, prediction: null, audio: null, web_search_options: null, unheard_of: null },
  }),
  fields('an empty reasoning object', { reasoning: {} }),
  fields('a reasoning object with an effort of null', { reasoning: { effort: null }, reasoning_effort: null }),
]
