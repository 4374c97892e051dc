import type { ProblemCode } from '../../../src/model/problem.ts'

/** What of a field a provider gets: the members of its request that are different from those without the field. */
export interface Sent {
  /** A lane that speaks Responses. */
  readonly plain?: object
  /** The same of OpenAI itself. */
  readonly native?: object
  /** A lane that speaks Chat. */
  readonly chat?: object
  /** A lane that speaks Responses without custom tools, which the request has: it is translated too. */
  readonly translated?: object
}

export type LaneName = keyof Sent

export interface Served {
  readonly value: unknown
  /** For lanes that are not named: the member as it came where its policy is `passed`, else nothing. */
  readonly sent?: Sent
  /** What stands in x-millrace-ignored-fields, on all lanes or on those that are named. */
  readonly ignored?: string | Readonly<Partial<Record<LaneName, string>>>
}

export type Refused = readonly [value: unknown, code: ProblemCode, param?: string]

export interface Samples {
  readonly served: readonly Served[]
  readonly refused: readonly Refused[]
}

const wrongTypes = (...values: readonly unknown[]): Refused[] => values.map((value) => [value, 'invalid_type'])
const everywhere = (sent: object): Sent => ({ plain: sent, native: sent, chat: sent, translated: sent })
const NOTHING = everywhere({})

const passed = (values: readonly unknown[], ...refused: readonly Refused[]): Samples => ({
  served: values.map((value) => ({ value })),
  refused,
})
const ignored = (name: string, ...values: readonly unknown[]): Samples => ({
  served: values.map((value) => ({ value, sent: NOTHING, ignored: name })),
  refused: [],
})
/** What OpenAI's own servers understand. */
const nativeOnly = (name: string, value: unknown): Samples => ({
  served: [{ value, sent: { native: { [name]: value } }, ignored: { plain: name, chat: name, translated: name } }],
  refused: [],
})
const STANDARD: Samples = {
  served: ['auto', 'default', 'standard', false].map((value) => ({ value })),
  refused: ['priority', 'flex', true, 1].map((value): Refused => [value, 'unsupported_value']),
}
const notProvided = (...values: readonly unknown[]): Samples => ({
  served: [],
  refused: values.map((value): Refused => [value, 'unsupported_parameter']),
})
const range = (min: number, max: number): Refused[] => [
  [min - 0.1, 'invalid_value'],
  [max + 0.1, 'invalid_value'],
  ...wrongTypes('1', true),
]
/** OpenAI's Responses have no penalties; a conversation for a Responses lane has none either. */
const penalty = (name: string): Samples => ({
  served: [{ value: 1, sent: { native: {} }, ignored: { native: name } }],
  refused: range(-2, 2),
})

const SCHEMA = { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true } as const
const { type, ...schema } = SCHEMA
const LOOK_UP = { type: 'function', name: 'look_up', parameters: { type: 'object' } }
const WORDS = [{ type: 'message', role: 'user', content: 'Hi' }]
const TRANSLATED_WORDS = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }]
const SEALED = 'reasoning.encrypted_content'
const LOGPROBS = 'message.output_text.logprobs'

/** For each field: values that are served, and values that are refused with the code they get. */
export const SAMPLES: Readonly<Record<string, Samples>> = {
  model: passed([], ...wrongTypes(5, {}, ['swift'])),
  input: {
    served: [
      {
        value: 'Hi',
        sent: {
          plain: { input: WORDS },
          native: { input: WORDS },
          chat: { messages: [{ role: 'user', content: 'Hi' }] },
          translated: { input: TRANSLATED_WORDS },
        },
      },
      {
        value: WORDS,
        sent: { chat: { messages: [{ role: 'user', content: 'Hi' }] }, translated: { input: TRANSLATED_WORDS } },
      },
    ],
    refused: [
      ['', 'missing_required_parameter'],
      [[], 'invalid_value'],
      ...wrongTypes(5, {}),
      [['Hi'], 'invalid_type', 'input[0]'],
      [[{ role: 'nobody', content: 'Hi' }], 'invalid_value', 'input[0].role'],
      [[{ type: 'compaction', encrypted_content: 'x' }], 'invalid_encrypted_content', 'input[0].encrypted_content'],
      [
        [{ type: 'message', role: 'user', content: [{ type: 'input_image', image_url: 'https://example.com/x.png' }] }],
        'unsupported_content',
        'input[0].content[0]',
      ],
    ],
  },
  instructions: {
    served: [
      {
        value: 'Be brief',
        sent: {
          chat: {
            messages: [
              { role: 'system', content: 'Be brief' },
              { role: 'user', content: 'Good day' },
            ],
          },
        },
      },
    ],
    refused: wrongTypes(5, ['Be brief']),
  },
  stream: passed([], ...wrongTypes('true', 1)),
  stream_options: {
    served: [{ value: { include_obfuscation: true } }, { value: {} }],
    refused: [
      ...wrongTypes(true),
      [{ include_obfuscation: 'no' }, 'invalid_type', 'stream_options.include_obfuscation'],
    ],
  },
  max_output_tokens: {
    served: [
      { value: 50, sent: { ...everywhere({ max_output_tokens: 50 }), chat: { max_tokens: 50 } } },
      { value: 1_000_000, sent: NOTHING },
    ],
    refused: [[0, 'invalid_value'], [-1, 'invalid_value'], ...wrongTypes(1.5, '5')],
  },
  reasoning: {
    served: [
      { value: {}, sent: NOTHING },
      { value: { effort: null, summary: null }, sent: NOTHING },
      {
        value: { effort: 'Low' },
        sent: { ...everywhere({ reasoning: { effort: 'low' } }), chat: { reasoning_effort: 'low' } },
      },
      { value: { summary: 'auto' }, sent: { ...everywhere({ reasoning: { summary: 'auto' } }), chat: {} } },
      {
        value: { generate_summary: 'concise' },
        sent: {
          ...everywhere({ reasoning: { generate_summary: 'concise' } }),
          ...{ chat: {}, translated: { reasoning: { summary: 'concise' } } },
        },
      },
      {
        value: { context: 'all_turns' },
        sent: { ...everywhere({ reasoning: { context: 'all_turns' } }), chat: {}, translated: {} },
        ignored: { chat: 'reasoning.context', translated: 'reasoning.context' },
      },
      { value: { mode: 'standard' }, sent: NOTHING },
      { value: { odd: 1 }, sent: NOTHING, ignored: 'reasoning.odd' },
    ],
    refused: [
      ...wrongTypes('low', 3),
      [{ effort: 3 }, 'invalid_type', 'reasoning.effort'],
      [{ mode: 'pro' }, 'unsupported_value', 'reasoning.mode'],
      [{ summary: 1 }, 'invalid_type', 'reasoning.summary'],
    ],
  },
  store: passed([], ...wrongTypes('no', 0)),
  previous_response_id: passed([], ...wrongTypes(5, {}), ['resp_nobody', 'previous_response_not_found']),
  include: {
    served: [
      { value: [] },
      { value: [SEALED] },
      { value: ['web_search_call.results', 'nobody.knows'] },
      {
        value: [LOGPROBS],
        sent: {
          plain: { include: [LOGPROBS] },
          native: { include: [SEALED, LOGPROBS] },
          chat: { logprobs: true, top_logprobs: 0 },
          translated: { include: [LOGPROBS], top_logprobs: 0 },
        },
      },
    ],
    refused: wrongTypes('all', [5]),
  },
  n: { served: [{ value: 1 }], refused: [[0, 'invalid_value'], [2, 'invalid_value'], ...wrongTypes('1')] },
  cache_salt: { served: [{ value: 'mine', sent: { plain: {}, native: {}, chat: {}, translated: {} } }], refused: [] },
  prompt_cache_isolation_key: { served: [{ value: 'mine' }], refused: [] },
  text: {
    served: [
      { value: {}, sent: { chat: {}, translated: {} } },
      { value: { format: { type: 'text' } }, sent: { chat: {} } },
      { value: { format: { type: 'json_object' } }, sent: { chat: { response_format: { type: 'json_object' } } } },
      { value: { format: SCHEMA }, sent: { chat: { response_format: { type, json_schema: schema } } } },
      { value: { verbosity: 'low' }, sent: { chat: { verbosity: 'low' } } },
      { value: { odd: 1 }, sent: { chat: {}, translated: {} }, ignored: { chat: 'text.odd', translated: 'text.odd' } },
    ],
    refused: [
      ...wrongTypes('plain', 5),
      [{ format: 'json' }, 'invalid_type', 'text.format'],
      [{ verbosity: 1 }, 'invalid_type', 'text.verbosity'],
    ],
  },
  tools: {
    served: [],
    refused: [
      ...wrongTypes('look_up', {}),
      [['look_up'], 'invalid_type', 'tools[0]'],
      [[{ name: 'look_up' }], 'missing_required_parameter', 'tools[0].type'],
      [[LOOK_UP, { type: 'function' }], 'missing_required_parameter', 'tools[1].name'],
      [[LOOK_UP, LOOK_UP], 'invalid_value', 'tools[1].name'],
    ],
  },
  tool_choice: passed(
    [],
    ...wrongTypes(5, []),
    ['never', 'invalid_value'],
    ['required', 'invalid_value'],
    [{ type: 'function', name: 'nobody' }, 'invalid_value'],
    [{ type: 'web_search' }, 'unsupported_tool'],
  ),
  parallel_tool_calls: {
    served: [true, false].map((value) => ({ value, sent: { chat: {} } })),
    refused: wrongTypes('yes'),
  },
  temperature: passed([0, 1.5], ...range(0, 2)),
  top_p: passed([0, 0.5], ...range(0, 1)),
  presence_penalty: penalty('presence_penalty'),
  frequency_penalty: penalty('frequency_penalty'),
  top_logprobs: {
    served: [
      {
        value: 3,
        sent: { chat: { logprobs: true, top_logprobs: 3 }, translated: { top_logprobs: 3, include: [LOGPROBS] } },
      },
    ],
    refused: [[21, 'invalid_value'], ...wrongTypes(1.5)],
  },
  truncation: {
    served: [
      { value: 'disabled', sent: { chat: {}, translated: {} } },
      { value: 'auto', sent: { chat: {}, translated: {} }, ignored: { chat: 'truncation', translated: 'truncation' } },
    ],
    refused: [['middle', 'invalid_value'], ...wrongTypes(5)],
  },
  user: passed(['me'], ...wrongTypes(5)),
  safety_identifier: passed(['hash'], ...wrongTypes({})),
  prompt_cache_key: passed(['cache'], ...wrongTypes(5)),
  metadata: {
    ...ignored('metadata', { a: 'b' }, {}),
    refused: [...wrongTypes('a', []), [{ a: 1 }, 'invalid_type', 'metadata.a']],
  },
  client_metadata: ignored('client_metadata', { a: 'b' }, 'x'),
  moderation: ignored('moderation', {}, true),
  context_management: ignored('context_management', [{ type: 'compaction', compact_threshold: 1000 }]),
  max_tool_calls: { ...ignored('max_tool_calls', 3), refused: [[-1, 'invalid_value'], ...wrongTypes('3')] },
  prompt_cache_retention: nativeOnly('prompt_cache_retention', '24h'),
  prompt_cache_options: nativeOnly('prompt_cache_options', { mode: 'implicit' }),
  service_tier: STANDARD,
  speed: STANDARD,
  inference_geo: STANDARD,
  priority: STANDARD,
  background: {
    served: [{ value: false }],
    refused: wrongTypes('no'),
  },
  conversation: notProvided('conv_1', { id: 'conv_1' }),
  prompt: notProvided({ id: 'pmpt_1' }),
  models: notProvided(['a', 'b'], 'a'),
  plugins: notProvided([{ id: 'web' }]),
  search_parameters: notProvided({ mode: 'on' }),
  enable_search: notProvided(true),
  web_search_options: notProvided({}),
}
