import fc from 'fast-check'

// Requests put together of pieces that are right nearly always: what is wrong is one member, deep inside.

const word = fc.constantFrom('', 'a', 'b', 'call_1', 'call_2', 'n', '__proto__', 'x'.repeat(70), '\u0000\ud800')
const address = fc.constantFrom('https://a.example/b', 'http://[::1]/', 'HTTPS://a')
const picture = fc.oneof(
  address,
  fc.constantFrom('data:image/png;base64,iVBORw0KGgoAAAAN', 'data:image/a;b=c;base64,AAA'),
)
const document = fc.constantFrom('data:application/pdf;base64,JVBERi0xLjQK', 'data:text/x;base64,aGk=')
const rubbish = fc.constantFrom<unknown>(null, 0, -1, true, [], {}, [null], { type: 'x' }, 'x')

/** Right forty times of forty-one. */
const mostly = <Value>(right: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 40, arbitrary: right }, { weight: 1, arbitrary: rubbish })
const maybe = (right: fc.Arbitrary<unknown>) => fc.option(mostly(right), { nil: null })
const just = (value: unknown) => mostly(fc.constant(value))

const part = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constantFrom('input_text', 'output_text', 'text', 'summary_text'),
      text: mostly(word),
    }),
  },
  fc.record({ type: just('refusal'), refusal: mostly(word) }),
  fc.record({ type: just('input_image'), image_url: mostly(picture), detail: maybe(word) }),
  fc.record({ type: just('input_file'), file_data: mostly(document), filename: maybe(word) }),
  fc.record({ type: just('input_file'), file_url: mostly(address), filename: maybe(word) }),
  fc.record({
    type: just('input_audio'),
    input_audio: mostly(fc.record({ data: mostly(word), format: mostly(word) })),
  }),
)
const content = mostly(fc.oneof(word, fc.array(mostly(part), { maxLength: 3 })))
const callId = mostly(fc.constantFrom('call_1', 'call_2', 'call_3'))
const name = mostly(fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'))

const tool = fc.oneof(
  fc.record({
    type: just('function'),
    name,
    description: maybe(word),
    parameters: maybe(fc.constant({ type: 'object' })),
    strict: maybe(fc.boolean()),
  }),
  fc.record({
    type: just('custom'),
    name,
    format: maybe(fc.constantFrom({ type: 'text' }, { type: 'grammar', syntax: 'lark', definition: 'x' })),
  }),
  fc.record({ type: fc.constantFrom('web_search', 'mcp', 'tool_search', '__proto__') }),
)
const tools = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: mostly(tool) },
    fc.record({ type: just('namespace'), name, tools: mostly(fc.array(mostly(tool), { maxLength: 2 })) }),
  ),
  { maxLength: 3 },
)

const item = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constantFrom('message', null),
      role: mostly(fc.constantFrom('user', 'assistant', 'system', 'developer')),
      content,
      phase: maybe(fc.constantFrom('commentary', 'final_answer')),
    }),
  },
  fc.record({ type: just('function_call'), call_id: callId, name, namespace: maybe(word), arguments: maybe(word) }),
  fc.record({ type: just('custom_tool_call'), call_id: callId, name, input: maybe(word) }),
  fc.record({
    type: fc.constantFrom('function_call_output', 'custom_tool_call_output'),
    call_id: callId,
    output: content,
  }),
  fc.record({
    type: just('reasoning'),
    summary: maybe(content),
    content: maybe(content),
    encrypted_content: maybe(word),
  }),
  fc.record({ type: fc.constantFrom('local_shell_call', 'web_search_call', 'tool_search_output'), call_id: callId }),
  fc.record({ type: just('additional_tools'), tools: mostly(tools) }),
)

const calls = [1, 2, 3].map((at) => ({ type: 'function_call', call_id: `call_${at}`, name: 'a', arguments: '{}' }))
const named = fc.record({ type: fc.constantFrom('function', 'custom', 'web_search'), name })
const toolChoice = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('auto', 'none') },
  fc.constantFrom('required', 'a', null),
  named,
  fc.record({
    type: just('allowed_tools'),
    mode: mostly(fc.constantFrom('auto', 'required')),
    tools: mostly(fc.array(named, { maxLength: 3 })),
  }),
)

export const composedRequest = fc
  .record(
    {
      model: fc.constant('demo'),
      // Nearly all begin with the calls that the outputs answer.
      input: fc.tuple(mostly(fc.constant(true)), fc.array(mostly(item), { minLength: 1, maxLength: 6 })),
      tools: mostly(tools),
      tool_choice: toolChoice,
      text: mostly(fc.record({ format: maybe(fc.constantFrom({ type: 'json_schema', name: 'a' }, { type: 'text' })) })),
      include: mostly(fc.array(fc.constantFrom('reasoning.encrypted_content', 'message.output_text.logprobs'))),
      reasoning: mostly(fc.record({ effort: maybe(word), summary: maybe(word) })),
      metadata: mostly(fc.dictionary(word, word)),
    },
    { requiredKeys: ['model', 'input'] },
  )
  .map(({ input: [begins, items], ...rest }) => ({ ...rest, input: begins === true ? [...calls, ...items] : items }))
