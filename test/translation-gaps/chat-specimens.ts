import type { ContentPart, ConversationItem, ToolChoice, ToolDefinition } from '../../src/model/conversation.ts'
import { asked, type Specimen } from './specimen.ts'

const user = (content: unknown = 'q', more: object = {}) => ({ role: 'user', content, ...more })
const QUESTION = { messages: [user()] }
const PDF = 'data:application/pdf;base64,JVBERi0xLjQK'
const PLAIN = [{ type: 'text', text: 'q' }]

const field = (name: string, value: unknown, more: object = {}): Specimen =>
  asked(name, { ...QUESTION, ...more }, { ...QUESTION, ...more, [name]: value })

const emitted = (what: string, message: object, before: object[] = []): Specimen =>
  asked(what, { messages: [user(), ...before] }, { messages: [user(), ...before, message] })

const part = (what: string, content: object): Specimen =>
  asked(what, { messages: [user(PLAIN)] }, { messages: [user([...PLAIN, content])] })

const assistant = (more: object) => ({ role: 'assistant', content: 'a', ...more })
const custom = { type: 'custom', custom: { name: 'patch', description: 'd' } }
const look = { type: 'function', function: { name: 'look', description: 'd', parameters: { type: 'object' } } }
const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } }
const customCall = { id: 'call_1', type: 'custom', custom: { name: 'patch', input: 'free "text"' } }
const calls = (each: object) => ({ role: 'assistant', content: null, tool_calls: [each] })
const result = (content: unknown) => ({ role: 'tool', tool_call_id: 'call_1', content })

const inFunction = (what: string, over: object): Specimen =>
  asked(
    `tools[].function.${what}`,
    { ...QUESTION, tools: [look] },
    { ...QUESTION, tools: [{ ...look, function: { ...look.function, ...over } }] },
  )
const TOOLS = { tools: [look, custom] }
const choice = (what: string, value: unknown, more: object = TOOLS): Specimen =>
  asked(what, { ...QUESTION, ...more }, { ...QUESTION, ...more, tool_choice: value })

/** Of each kind at least one: the compiler misses a kind that has none. */
const ITEMS: Readonly<Record<ConversationItem['type'], readonly Specimen[]>> = {
  message: [
    emitted('messages[]: system', { role: 'system', content: 's' }),
    emitted('messages[]: developer', { role: 'developer', content: 's' }),
    emitted('messages[]: user', user('another')),
    emitted('messages[]: assistant', assistant({})),
    emitted('messages[]: assistant without words', { role: 'assistant', content: '' }),
    asked('messages[].name', { messages: [user()] }, { messages: [user('q', { name: 'ann' })] }),
  ],
  reasoning: [
    asked(
      'messages[].reasoning_content',
      { messages: [user(), assistant({})] },
      { messages: [user(), assistant({ reasoning_content: 'r' })] },
    ),
  ],
  'tool-call': [
    emitted('messages[].tool_calls[]: function', calls(call)),
    emitted('messages[].tool_calls[]: custom', calls(customCall)),
    emitted('messages[].function_call', { role: 'assistant', function_call: { name: 'look', arguments: '{}' } }),
  ],
  'tool-result': [
    emitted('messages[]: tool', result('r'), [calls(call)]),
    emitted('messages[]: function', { role: 'function', name: 'look', content: 'r' }, [
      { role: 'assistant', function_call: { name: 'look', arguments: '{}' } },
    ]),
    emitted('messages[]: tool, of a custom call', result('r'), [calls(customCall)]),
    emitted(
      'messages[]: tool, in several texts',
      result([
        { type: 'text', text: 'r' },
        { type: 'text', text: 's' },
      ]),
      [calls(call)],
    ),
  ],
}

const PARTS: Readonly<Record<ContentPart['type'], readonly Specimen[]>> = {
  text: [part('content[]: text', { type: 'text', text: 'more' })],
  refusal: [
    asked(
      'messages[].refusal',
      { messages: [user(), assistant({})] },
      { messages: [user(), assistant({ refusal: 'no' })] },
    ),
    asked(
      'content[]: refusal',
      { messages: [user(), assistant({})] },
      {
        messages: [
          user(),
          assistant({
            content: [
              { type: 'text', text: 'a' },
              { type: 'refusal', refusal: 'no' },
            ],
          }),
        ],
      },
    ),
  ],
  image: [
    part('content[]: image_url', { type: 'image_url', image_url: { url: 'https://a/b.png', detail: 'low' } }),
    part('content[]: image_url without detail', { type: 'image_url', image_url: { url: 'https://a/b.png' } }),
  ],
  file: [part('content[]: file, file_data', { type: 'file', file: { file_data: PDF, filename: 'a.pdf' } })],
  audio: [part('content[]: input_audio', { type: 'input_audio', input_audio: { data: 'AA==', format: 'mp3' } })],
}

const KINDS: Readonly<Record<ToolDefinition['type'], readonly Specimen[]>> = {
  function: [
    asked('tools[]: function', QUESTION, { ...QUESTION, tools: [look] }),
    inFunction('strict', { strict: true }),
    asked(
      'tools[].function without parameters',
      { ...QUESTION, tools: [look] },
      { ...QUESTION, tools: [look, { type: 'function', function: { name: 'go' } }] },
    ),
    field('functions', [look.function]),
  ],
  custom: [
    asked('tools[]: custom', QUESTION, { ...QUESTION, tools: [custom] }),
    asked(
      'tools[].custom.format: grammar',
      { ...QUESTION, tools: [custom] },
      {
        ...QUESTION,
        tools: [
          {
            type: 'custom',
            custom: {
              ...custom.custom,
              format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } },
            },
          },
        ],
      },
    ),
  ],
}

const CHOICES: Readonly<Record<ToolChoice['type'], readonly Specimen[]>> = {
  auto: [choice('tool_choice: auto', 'auto')],
  none: [choice('tool_choice: none', 'none'), choice('tool_choice without tools', 'none', {})],
  required: [choice('tool_choice: required', 'required')],
  tool: [
    choice('tool_choice: function', { type: 'function', function: { name: 'look' } }),
    choice('tool_choice: custom', { type: 'custom', custom: { name: 'patch' } }),
    field('function_call', { name: 'look' }, TOOLS),
  ],
  allowed: [
    choice('tool_choice: allowed_tools', {
      type: 'allowed_tools',
      allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'look' } }] },
    }),
  ],
}

const schema = { name: 'n', description: 'd', schema: { type: 'object' }, strict: true }
const format = (what: string, value: object) => asked(what, QUESTION, { ...QUESTION, response_format: value })

const SETTINGS: readonly Specimen[] = [
  field('model', 'other'),
  field('stream', true),
  field('stream_options', { include_usage: true }, { stream: true }),
  field('max_tokens', 77),
  field('max_completion_tokens', 77),
  field('reasoning_effort', 'high'),
  field('reasoning', { effort: 'high' }),
  field('n', 2),
  field('temperature', 0.5),
  field('top_p', 0.5),
  field('presence_penalty', 0.5),
  field('frequency_penalty', 0.5),
  field('stop', ['x']),
  field('seed', 7),
  field('logprobs', true),
  field('top_logprobs', 5, { logprobs: true }),
  field('logit_bias', { 5: 1 }),
  field('parallel_tool_calls', false, TOOLS),
  format('response_format: text', { type: 'text' }),
  format('response_format: json_object', { type: 'json_object' }),
  format('response_format: json_schema', { type: 'json_schema', json_schema: schema }),
  format('response_format: json_schema without schema', { type: 'json_schema', json_schema: { name: 'n' } }),
  field('verbosity', 'low'),
  field('user', 'u'),
  field('safety_identifier', 's'),
  field('prompt_cache_key', 'k'),
]

/** A thing that a chat client can say, each. */
export const CHAT_SPECIMENS: readonly Specimen[] = [
  ...SETTINGS,
  ...[ITEMS, PARTS, KINDS, CHOICES].flatMap((kinds) => Object.values(kinds).flat()),
]
