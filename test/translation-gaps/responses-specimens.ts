import type { ContentPart, ToolChoice, ToolDefinition } from '../../src/model/conversation.ts'
import type { ForwardedItemType } from '../../src/protocols/responses/input-items.ts'
import { asked, type Specimen } from './specimen.ts'

const user = (content: unknown = 'q') => ({ type: 'message', role: 'user', content })
const QUESTION = { input: [user()] }
const PDF = 'data:application/pdf;base64,JVBERi0xLjQK'
const PLAIN = [{ type: 'input_text', text: 'q' }]

const field = (name: string, value: unknown, more: object = {}): Specimen =>
  asked(name, { ...QUESTION, ...more }, { ...QUESTION, ...more, [name]: value })

const item = (what: string, emitted: object, before: object[] = []): Specimen =>
  asked(what, { input: [user(), ...before] }, { input: [user(), ...before, emitted] })

const part = (what: string, content: object): Specimen =>
  asked(what, { input: [user(PLAIN)] }, { input: [user([...PLAIN, content])] })

const look = { type: 'function', name: 'look', description: 'd', parameters: { type: 'object' }, strict: false }
const custom = { type: 'custom', name: 'patch', description: 'd' }
const namespace = { type: 'namespace', name: 'agents', description: 'd', tools: [look] }
const TOOLS = { tools: [look, custom] }
const choice = (what: string, value: unknown, more: object = TOOLS): Specimen =>
  asked(what, { ...QUESTION, ...more }, { ...QUESTION, ...more, tool_choice: value })

const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"a":1}' }
const customCall = { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: 'free "text"' }
const output = (emitted: unknown) => ({ type: 'function_call_output', call_id: 'call_1', output: emitted })
const answered = (emitted: object) => [{ role: 'assistant', content: 'a' }, emitted, output('r')]
const answer = (more: object) => ({ type: 'message', role: 'assistant', content: 'a', ...more })
const after = (what: string, without: object, withIt: object) =>
  asked(what, { input: [user(), without] }, { input: [user(), withIt] })

/** Of each kind at least one: the compiler misses a kind that has none. */
const ITEMS: Readonly<Record<Exclude<ForwardedItemType, 'compaction'>, readonly Specimen[]>> = {
  message: [
    item('input[]: message, user', user('another')),
    item('input[]: message, system', { role: 'system', content: 's' }),
    item('input[]: message, developer', { role: 'developer', content: 's' }),
    item('input[]: message, assistant', answer({})),
    item('input[]: message, assistant without words', answer({ content: [] })),
    item('input[]: message, two of an assistant in a row', answer({ content: 'b' }), [answer({})]),
    item('input[]: message, system in several texts', {
      role: 'system',
      content: [
        { type: 'input_text', text: 's' },
        { type: 'input_text', text: 't' },
      ],
    }),
    after('input[].phase', answer({}), answer({ phase: 'commentary' })),
    after('input[].id', answer({}), answer({ id: 'msg_1' })),
    after('input[].status', answer({}), answer({ status: 'incomplete' })),
  ],
  reasoning: [
    item('input[]: reasoning, content', {
      type: 'reasoning',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'r' }],
    }),
    item('input[]: reasoning, summary', { type: 'reasoning', summary: [{ type: 'summary_text', text: 'r' }] }),
    item('input[]: reasoning, encrypted_content of a Responses lane', {
      ...{ type: 'reasoning', summary: [], encrypted_content: 'mr1.responses' },
    }),
    item('input[]: reasoning, encrypted_content of a Chat lane', {
      ...{ type: 'reasoning', summary: [], encrypted_content: 'mr1.chat' },
    }),
  ].map((specimen) => ({
    ...specimen,
    with: { input: [...inputOf(specimen.with), answer({})] },
    without: { input: [...inputOf(specimen.without), answer({})] },
  })),
  function_call: [
    asked('input[]: function_call', { input: [user()] }, { input: [user(), call, output('r')] }),
    asked('input[]: function_call without an output', { input: [user()] }, { input: [user(), call] }),
    asked(
      'input[].namespace',
      { input: [user(), ...answered(call)] },
      { input: [user(), ...answered({ ...call, namespace: 'agents' })] },
    ),
  ],
  function_call_output: [
    asked(
      'input[]: function_call_output, not behind its call',
      { input: [user(), call, output('r')] },
      { input: [user(), call, user('meanwhile'), output('r')] },
    ),
    asked(
      'input[]: function_call_output, in several texts',
      { input: [user(), call, output('r')] },
      {
        input: [
          user(),
          call,
          output([
            { type: 'input_text', text: 'r' },
            { type: 'input_text', text: 's' },
          ]),
        ],
      },
    ),
    asked(
      'input[]: function_call_output, with an image',
      { input: [user(), call, output('r')] },
      { input: [user(), call, output([{ type: 'input_image', image_url: 'https://a/b.png', detail: 'low' }])] },
    ),
  ],
  custom_tool_call: [
    asked(
      'input[]: custom_tool_call',
      { input: [user()] },
      { input: [user(), customCall, { ...output('r'), type: 'custom_tool_call_output' }] },
    ),
  ],
  custom_tool_call_output: [
    asked(
      'input[]: custom_tool_call_output',
      { input: [user(), customCall] },
      { input: [user(), customCall, { ...output('r'), type: 'custom_tool_call_output' }] },
    ),
  ],
  additional_tools: [item('input[]: additional_tools', { type: 'additional_tools', tools: [look] })],
}

function inputOf(request: object): readonly object[] {
  return (request as { input: readonly object[] }).input
}

const PARTS: Readonly<Record<ContentPart['type'], readonly Specimen[]>> = {
  text: ['input_text', 'output_text', 'text', 'summary_text', 'reasoning_text'].map((type) =>
    part(`content[]: ${type}`, { type, text: 'more' }),
  ),
  refusal: [
    after(
      'content[]: refusal',
      answer({}),
      answer({
        content: [
          { type: 'output_text', text: 'a' },
          { type: 'refusal', refusal: 'no' },
        ],
      }),
    ),
  ],
  image: [part('content[]: input_image', { type: 'input_image', image_url: 'https://a/b.png', detail: 'low' })],
  file: [
    part('content[]: input_file, file_data', { type: 'input_file', file_data: PDF, filename: 'a.pdf' }),
    part('content[]: input_file, file_url', { type: 'input_file', file_url: 'https://a/b.pdf' }),
  ],
  audio: [part('content[]: input_audio', { type: 'input_audio', input_audio: { data: 'AA==', format: 'mp3' } })],
}

const KINDS: Readonly<Record<ToolDefinition['type'] | 'namespace', readonly Specimen[]>> = {
  function: [
    asked('tools[]: function', QUESTION, { ...QUESTION, tools: [look] }),
    asked('tools[].strict', { ...QUESTION, tools: [look] }, { ...QUESTION, tools: [{ ...look, strict: true }] }),
    asked('tools[]: function without strict', QUESTION, { ...QUESTION, tools: [{ ...look, strict: undefined }] }),
  ],
  custom: [
    asked('tools[]: custom', QUESTION, { ...QUESTION, tools: [custom] }),
    asked(
      'tools[].format: grammar',
      { ...QUESTION, tools: [custom] },
      { ...QUESTION, tools: [{ ...custom, format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } }] },
    ),
  ],
  namespace: [
    asked('tools[]: namespace', QUESTION, { ...QUESTION, tools: [namespace] }),
    asked(
      'tools[]: namespace, description',
      { ...QUESTION, tools: [namespace] },
      { ...QUESTION, tools: [{ ...namespace, description: 'other' }] },
    ),
  ],
}

const CHOICES: Readonly<Record<ToolChoice['type'], readonly Specimen[]>> = {
  auto: [choice('tool_choice: auto', 'auto')],
  none: [choice('tool_choice: none', 'none'), choice('tool_choice without tools', 'none', {})],
  required: [choice('tool_choice: required', 'required')],
  tool: [
    choice('tool_choice: function', { type: 'function', name: 'look' }),
    choice('tool_choice: custom', { type: 'custom', name: 'patch' }),
  ],
  allowed: [
    choice('tool_choice: allowed_tools', {
      type: 'allowed_tools',
      mode: 'required',
      tools: [{ type: 'function', name: 'look' }],
    }),
  ],
}

const schema = { type: 'json_schema', name: 'n', description: 'd', schema: { type: 'object' }, strict: true }
const text = (what: string, value: object) => asked(what, QUESTION, { ...QUESTION, text: value })
const inField = (name: string, member: string, value: unknown) =>
  asked(`${name}.${member}`, QUESTION, { ...QUESTION, [name]: { [member]: value } })
const include = (what: string) => asked(`include: ${what}`, QUESTION, { ...QUESTION, include: [what] })

const SETTINGS: readonly Specimen[] = [
  field('model', 'other'),
  asked('input as a text', { input: [user(), user('Hello')] }, { input: 'Hello' }),
  field('instructions', 'i'),
  field('stream', true),
  field('stream_options', { include_obfuscation: true }, { stream: true }),
  field('max_output_tokens', 77),
  inField('reasoning', 'effort', 'high'),
  inField('reasoning', 'summary', 'auto'),
  inField('reasoning', 'generate_summary', 'auto'),
  inField('reasoning', 'context', 'auto'),
  field('store', true),
  field('previous_response_id', 'resp_1'),
  include('reasoning.encrypted_content'),
  include('message.output_text.logprobs'),
  field('n', 1),
  text('text.format: text', { format: { type: 'text' } }),
  text('text.format: json_object', { format: { type: 'json_object' } }),
  text('text.format: json_schema', { format: schema }),
  text('text.verbosity', { verbosity: 'low' }),
  field('parallel_tool_calls', false, TOOLS),
  field('temperature', 0.5),
  field('top_p', 0.5),
  field('presence_penalty', 0.5),
  field('frequency_penalty', 0.5),
  field('top_logprobs', 5),
  field('truncation', 'auto'),
  field('user', 'u'),
  field('safety_identifier', 's'),
  field('prompt_cache_key', 'k'),
]

/** A thing that a Responses client can say, each. */
export const RESPONSES_SPECIMENS: readonly Specimen[] = [
  ...SETTINGS,
  ...[ITEMS, PARTS, KINDS, CHOICES].flatMap((kinds) => Object.values(kinds).flat()),
]
