import fc from 'fast-check'

// Random requests of both protocols that mean something: what is hostile is tried elsewhere.

const words = fc.constantFrom('a', 'é漢', '"\\\n', '🙂', '{"input":"x"}', 'q')
const addresses = fc.constantFrom('https://a.example/b.png?c=é&d="e"', 'HTTP://a/b', 'https://[::1]:8/x')
const pictures = fc.oneof(
  addresses,
  fc.constantFrom('data:image/png;base64,iVBORw0KGgoAAAAN', 'data:image/x;a=b;base64,AA=='),
)
const documents = fc.constantFrom(
  'data:application/pdf;base64,JVBERi0xLjQK',
  'data:text/plain;charset=utf-8;base64,aGk',
)
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined })
const some = <Value>(value: fc.Arbitrary<Value>) => fc.array(value, { minLength: 1, maxLength: 3 })
const detail = maybe(fc.constantFrom('low', 'high'))

export interface RandomRequest {
  readonly body: object
  /** What is in it, to be counted. */
  readonly kinds: readonly string[]
}

const SETTINGS = {
  ...{ temperature: fc.constantFrom(0, 0.5), top_p: fc.constantFrom(0, 0.5), parallel_tool_calls: fc.boolean() },
  ...{ presence_penalty: fc.constantFrom(-1, 0, 1), frequency_penalty: fc.constantFrom(-1, 0, 1) },
  ...{ user: words, safety_identifier: words, prompt_cache_key: words },
}
const schema = { schema: { type: 'object' }, strict: true }

// Responses.

const sayText = fc.record({ type: fc.constantFrom('input_text', 'output_text', 'text'), text: words })
const image = pictures.chain((url) => detail.map((each) => ({ type: 'input_image', image_url: url, detail: each })))
const otherPart = fc.oneof(
  image,
  documents.map((data) => ({ type: 'input_file', file_data: data, filename: 'a.pdf' })),
  addresses.map((url) => ({ type: 'input_file', file_url: url })),
  words.map((data) => ({ type: 'input_audio', input_audio: { data, format: 'mp3' } })),
)
const refusal = words.map((emitted) => ({ type: 'refusal', refusal: emitted }))
const TOOLS = [
  { type: 'function', name: 'look', description: 'd', parameters: { type: 'object' } },
  { type: 'function', name: 'go', strict: true },
  { type: 'custom', name: 'patch', description: 'd', format: { type: 'grammar', syntax: 'lark', definition: 'x' } },
  { type: 'custom', name: 'note' },
  {
    type: 'namespace',
    name: 'ns',
    tools: [
      { type: 'function', name: 'ask' },
      { type: 'custom', name: 'draw' },
    ],
  },
]

const output = fc.oneof(
  words,
  some(sayText),
  fc.tuple(some(sayText), image).map(([emitted, shown]) => [...emitted, shown]),
  some(image),
)
const calling = fc.record({
  tool: fc.constantFrom(
    { type: 'function', name: 'look' },
    { type: 'custom', name: 'patch' },
    { type: 'function', name: 'ask', namespace: 'ns' },
    { type: 'custom', name: 'draw', namespace: 'ns' },
  ),
  text: words,
  output: maybe(output),
  isLate: fc.boolean(),
})

/** Items with the output of a call behind the next item, or where it comes at once. */
const item = fc.oneof(
  some(fc.oneof({ weight: 3, arbitrary: sayText }, otherPart)).map((content) => ({
    first: { role: 'user', content: [{ type: 'input_text', text: 'q' }, ...content] },
  })),
  fc.record({ role: fc.constantFrom('system', 'developer'), content: some(sayText) }).map((first) => ({ first })),
  fc
    .record({
      content: fc.array(fc.oneof({ weight: 3, arbitrary: sayText }, refusal), { maxLength: 2 }),
      phase: maybe(fc.constantFrom('commentary', 'final_answer')),
    })
    .map((emitted) => ({ first: { type: 'message', role: 'assistant', ...emitted } })),
  fc
    .record({
      summary: fc.array(
        words.map((emitted) => ({ type: 'summary_text', text: emitted })),
        { maxLength: 2 },
      ),
      encrypted_content: maybe(words),
    })
    .map((emitted) => ({ first: { type: 'reasoning', ...emitted } })),
  calling.map((call) => ({ call })),
)

type RandomItem = { readonly first: object } | { readonly call: Calling }
interface Calling {
  readonly tool: { readonly type: string; readonly name: string; readonly namespace?: string }
  readonly text: string
  readonly output: unknown
  readonly isLate: boolean
}

function inputOf(items: readonly RandomItem[]): object[] {
  const input: object[] = []
  const late: object[] = []
  for (const [at, each] of items.entries()) {
    if ('first' in each) input.push(each.first)
    else {
      const { tool, text, output, isLate } = each.call
      const [type, field] = tool.type === 'custom' ? ['custom_tool_call', 'input'] : ['function_call', 'arguments']
      const { type: _type, ...name } = tool
      input.push({ type, call_id: `call_${at}`, ...name, [field!]: text })
      if (output !== undefined) (isLate ? late : input).push({ type: `${type}_output`, call_id: `call_${at}`, output })
    }
  }
  return [...input, ...late, { role: 'user', content: 'q' }]
}

const named = (type: string, name: string, namespace?: string) => ({ type, name, ...(namespace ? { namespace } : {}) })
const choice = fc.constantFrom<unknown>(
  ...['auto', 'none', 'required', named('function', 'look'), named('custom', 'patch'), named('function', 'ask', 'ns')],
  { type: 'allowed_tools', mode: 'auto', tools: [named('function', 'look'), named('custom', 'draw', 'ns')] },
  { type: 'allowed_tools', mode: 'required', tools: [{ type: 'namespace', name: 'ns' }] },
)
const choosing = fc.oneof(
  fc.record({ tools: fc.constant(TOOLS), tool_choice: choice }, { requiredKeys: ['tools'] }),
  fc.record({ tool_choice: fc.constantFrom('auto', 'none') }, { requiredKeys: [] }),
)

export const randomResponsesRequest: fc.Arbitrary<RandomRequest> = fc
  .tuple(
    fc.array(item, { maxLength: 10 }),
    choosing,
    fc.record(
      {
        ...SETTINGS,
        instructions: words,
        top_logprobs: fc.constantFrom(0, 5),
        text: fc.record(
          {
            format: fc.constantFrom(
              { type: 'text' },
              { type: 'json_object' },
              { type: 'json_schema', name: 'n', ...schema },
            ),
            verbosity: words,
          },
          { requiredKeys: [] },
        ),
        reasoning: fc.record({ summary: fc.constantFrom('auto', 'detailed') }, { requiredKeys: [] }),
        include: fc.subarray(['reasoning.encrypted_content', 'message.output_text.logprobs']),
      },
      { requiredKeys: [] },
    ),
  )
  .map(([items, tools, settings]) => kindsIn({ input: inputOf(items), ...tools, ...settings }))

// Chat.

const emitted = fc.record({ type: fc.constant('text'), text: words })
const shown = fc.oneof(
  fc.record({ url: pictures, detail }).map((image_url) => ({ type: 'image_url', image_url })),
  documents.map((data) => ({ type: 'file', file: { file_data: data, filename: 'a.pdf' } })),
  words.map((data) => ({ type: 'input_audio', input_audio: { data, format: 'mp3' } })),
)
const name = maybe(fc.constant('ann'))
const chatCall = fc.record({ custom: fc.boolean(), words, result: fc.oneof(words, some(emitted)) })
const message = fc.oneof(
  fc.record({ role: fc.constant('user'), content: fc.oneof(words, some(fc.oneof(emitted, shown))), name }),
  fc.record({ role: fc.constantFrom('system', 'developer'), content: fc.oneof(words, some(emitted)), name }),
  fc.record({
    role: fc.constant('assistant'),
    content: fc.oneof(words, fc.constantFrom('', null)),
    refusal: maybe(words),
    reasoning_content: maybe(words),
    calls: fc.array(chatCall, { maxLength: 3 }),
  }),
)

function messagesOf(messages: readonly Record<string, unknown>[]): object[] {
  return messages.flatMap(({ calls = [], ...rest }, at) => {
    const made = (calls as { custom: boolean; words: string; result: unknown }[]).map((call, index) => ({
      ...call,
      id: `call_${at}_${index}`,
    }))
    const tool_calls = made.map(({ custom, words: input, id }) =>
      custom
        ? { id, type: 'custom', custom: { name: 'patch', input } }
        : { id, type: 'function', function: { name: 'look', arguments: input } },
    )
    const results = made.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result }))
    return [made.length === 0 ? rest : { ...rest, tool_calls }, ...results]
  })
}

const CHAT_TOOLS = [
  { type: 'function', function: { name: 'look', description: 'd', parameters: { type: 'object' }, strict: true } },
  { type: 'function', function: { name: 'go' } },
  {
    type: 'custom',
    custom: { name: 'patch', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'x' } } },
  },
]
const look = { type: 'function', function: { name: 'look' } }
const patch = { type: 'custom', custom: { name: 'patch' } }
const chatChoosing = fc.oneof(
  fc.record(
    {
      tools: fc.constant(CHAT_TOOLS),
      tool_choice: fc.constantFrom<unknown>(...['auto', 'none', 'required', look, patch], {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [look, patch] },
      }),
    },
    { requiredKeys: ['tools'] },
  ),
  fc.record({ tool_choice: fc.constantFrom('auto', 'none') }, { requiredKeys: [] }),
)

export const randomChatRequest: fc.Arbitrary<RandomRequest> = fc
  .tuple(
    fc.array(message, { maxLength: 8 }),
    chatChoosing,
    fc.record(
      {
        ...SETTINGS,
        ...{ stop: fc.constantFrom('a', ['a', 'b']), seed: fc.constantFrom(0, 7), logit_bias: fc.constant({ 5: 1 }) },
        ...{ logprobs: fc.boolean(), top_logprobs: fc.constantFrom(0, 5), verbosity: words },
        response_format: fc.constantFrom<object>(
          { type: 'text' },
          { type: 'json_object' },
          { type: 'json_schema', json_schema: { name: 'n', ...schema } },
          { type: 'json_schema', json_schema: { name: 'n' } },
        ),
      },
      { requiredKeys: [] },
    ),
  )
  .map(([messages, tools, settings]) =>
    kindsIn({ messages: [...messagesOf(messages), { role: 'user', content: 'q' }], ...tools, ...settings }),
  )

/** Every type and role in it, and how tools are chosen. */
function kindsIn(body: object): RandomRequest {
  const kinds: string[] = []
  JSON.stringify(body, (key, value) => {
    if ((key === 'type' || key === 'role') && typeof value === 'string') kinds.push(`${key} ${value}`)
    if (key === 'tool_choice') kinds.push(`choice ${typeof value === 'string' ? value : value.type}`)
    return value
  })
  return { body, kinds }
}
