import type { Fields } from '../../lib/types.ts'
import { type EffortSpelling, PLAIN_TRAITS } from '../../model/effort.ts'
import { type DialectTraits, dialectByName } from '../shared/lane-target.ts'
import type { CountedBeside } from '../shared/stream-state.ts'

/**
 * The oddities of servers that speak Chat, as data: an oddity is a column, a server is a row. Facts are from the vendors'
 * references and from recorded answers; each row says what it rests on.
 */
export interface ChatDialect extends DialectTraits {
  readonly wire: 'chat'
  /** The name under which the server reads the output cap. */
  readonly capField: 'max_completion_tokens' | 'max_tokens'
  /** The server knows the developer role; elsewhere such messages are sent as system messages. */
  readonly developerRole: boolean
  /** `stream_options.include_usage` may be sent; servers without it always report usage. */
  readonly usageOption: boolean
  /** The fields of an effort; its spelling depends on the model (`traits.efforts`). */
  readonly effort: EffortForm
  /** The server's own fields for the same: they could contradict an effort, and are left out beside one. */
  readonly effortSwitches: readonly string[]
  /** Top-level fields beyond the standard ones that the server understands. */
  readonly extraFields: readonly string[]
  /** Fields that go under another name. */
  readonly renamedFields: Readonly<Record<string, string>>
  /** What the server counts outside of `prompt_tokens` and `completion_tokens`, where its total does not show it. */
  readonly countedSeparately: readonly CountedBeside[]
  /** The server wants its reasoning back with the messages that it led to, and refuses a tool loop without it. */
  readonly requiresReasoning: boolean
  /** Tools that take free text; elsewhere they go as functions of one string. */
  readonly customTools: boolean
  /** `tool_choice` may be a list of the tools that are allowed; elsewhere only those are declared. */
  readonly allowedTools: boolean
  /** Assistant messages may have a `refusal`; elsewhere its text is content. */
  readonly refusals: boolean
  /** Members of assistant messages that the server refuses: clients return what answers of others had. */
  readonly withoutAnswerMembers: readonly string[]
  /** Messages may have a `name`. */
  readonly messageNames: boolean
  /** How the ids of tool calls may look. */
  readonly callIds: 'any' | 'nine-letters'
  /** One answer may arrive as several choices, its text in one and its calls in the next. */
  readonly splitsChoices: boolean
  /** Whether a last assistant message needs `prefix` to be continued. */
  readonly prefill: 'plain' | 'prefix'
}

/** These servers ignore a service tier, or refuse it. Others may know tiers of which we know nothing: the operator has priced them. */
const WITHOUT_TIERS = new Set([
  ...[
    'demo',
    'deepseek',
    'mistral',
    'moonshot',
    'alibaba',
    'together',
    'github-copilot',
    'google-vertex',
    'anthropic-compat',
  ],
  ...['vllm', 'ollama', 'llamacpp', 'lmstudio'],
])

const GENERIC: ChatDialect = {
  wire: 'chat',
  name: 'generic',
  aliases: [],
  capField: 'max_tokens',
  developerRole: false,
  usageOption: true,
  effort: 'word',
  effortSwitches: [],
  extraFields: [],
  withoutFields: [],
  renamedFields: {},
  countedSeparately: [],
  hidesReasoning: false,
  requiresReasoning: false,
  customTools: false,
  allowedTools: false,
  refusals: false,
  withoutAnswerMembers: [],
  messageNames: true,
  callIds: 'any',
  splitsChoices: false,
  prefill: 'plain',
  cannot: ['file_url'],
  pricedValues: { service_tier: 'any' },
  traits: PLAIN_TRAITS,
  source: 'What nearly every compatible server accepts: the older cap name and no developer role.',
}

const row = (name: string, source: string, over: Partial<ChatDialect> = {}): ChatDialect => ({
  ...GENERIC,
  name,
  source,
  ...(WITHOUT_TIERS.has(name) && { pricedValues: {} }),
  ...over,
})

/** What only OpenAI's own models were made for. */
const OPENAI_ONLY = { customTools: true, allowedTools: true, refusals: true } as const
const LOCAL_SAMPLING = ['top_k', 'min_p', 'repetition_penalty']

/** For servers that know three efforts, as DeepSeek's guide maps the others. */
const LOW_HIGH_MAX = {
  ...{ minimal: 'low', low: 'low', medium: 'high', high: 'high', xhigh: 'high' },
  ...{ max: 'max', ultra: 'max' },
}
/** For servers that take a number of tokens. No document gives numbers: these are ours. */
const BUDGETS = { none: 'disabled', minimal: 1024, low: 4096, medium: 12_288, high: 24_576 }

export const CHAT_DIALECTS: readonly ChatDialect[] = [
  GENERIC,
  row('demo', 'Our own: the standard fields, as the protocol names them now.', {
    capField: 'max_completion_tokens',
    developerRole: true,
  }),
  row('openai', 'API reference: max_tokens is refused by reasoning models; reasoning is only a number in usage.', {
    capField: 'max_completion_tokens',
    developerRole: true,
    ...OPENAI_ONLY,
    hidesReasoning: true,
    extraFields: ['prompt_cache_retention', 'prompt_cache_options', 'prediction'],
  }),
  row('azure', 'As OpenAI; the key goes in the api-key header; the first chunk may have no choices.', {
    capField: 'max_completion_tokens',
    developerRole: true,
    ...OPENAI_ONLY,
    hidesReasoning: true,
  }),
  row(
    'deepseek',
    'API docs: prompt_cache_hit_tokens in usage; thinking switch, efforts low, high and max and what others come to; in tool loops reasoning_content goes back.',
    {
      effort: 'switch-and-word',
      effortSwitches: ['thinking'],
      traits: { ...PLAIN_TRAITS, efforts: { ...LOW_HIGH_MAX, none: 'disabled' } },
      extraFields: ['thinking'],
      requiresReasoning: true,
    },
  ),
  row(
    'groq',
    'Console docs: usage in x_groq of the last chunk; logprobs, logit_bias, n over 1 and names are refused. janhq/jan#8136: reasoning_content too.',
    {
      messageNames: false,
      withoutAnswerMembers: ['reasoning_content', 'reasoning_details', 'annotations', 'refusal'],
      capField: 'max_completion_tokens',
      extraFields: ['reasoning_format', 'include_reasoning'],
      withoutFields: ['logprobs', 'top_logprobs', 'logit_bias'],
    },
  ),
  row(
    'mistral',
    'API reference: random_seed; unknown fields are 422; content may be a list with thinking parts. Reasoning guide: efforts are none and high. A last message of the assistant is refused without prefix.',
    {
      effortSwitches: ['prompt_mode'],
      traits: { ...PLAIN_TRAITS, efforts: { none: 'none', low: 'high', medium: 'high', high: 'high' } },
      callIds: 'nine-letters',
      prefill: 'prefix',
      withoutAnswerMembers: ['reasoning_content', 'reasoning', 'reasoning_details', 'annotations', 'refusal'],
      extraFields: ['safe_prompt', 'prompt_mode'],
      withoutFields: [
        ...['logprobs', 'top_logprobs', 'logit_bias'],
        ...['user', 'safety_identifier', 'prompt_cache_key', 'verbosity'],
      ],
      renamedFields: { seed: 'random_seed' },
    },
  ),
  row(
    'xai',
    'Recorded: completion_tokens 1 beside reasoning_tokens 290. AI SDK: more may be cached than prompt_tokens says.',
    { capField: 'max_completion_tokens', countedSeparately: ['reasoning', 'cached'] },
  ),
  row(
    'moonshot',
    'Recorded: cached_tokens at the top level of usage. Docs: reasoning_content is kept in tool loops; efforts low, high and max, or a switch, by the model.',
    {
      aliases: ['moonshotai'],
      effort: 'word-or-switch',
      effortSwitches: ['thinking'],
      traits: { ...PLAIN_TRAITS, efforts: { ...LOW_HIGH_MAX, none: 'disabled' } },
      extraFields: ['thinking'],
      requiresReasoning: true,
    },
  ),
  row(
    'alibaba',
    'Recorded: id "" on later tool-call fragments. Docs: enable_thinking, and thinking_budget in tokens.',
    {
      aliases: ['qwen'],
      effort: 'budget',
      effortSwitches: ['enable_thinking', 'thinking_budget'],
      traits: { ...PLAIN_TRAITS, efforts: BUDGETS },
      extraFields: ['enable_thinking', 'thinking_budget', 'top_k'],
    },
  ),
  row('openrouter', 'API docs: reasoning object; comments while it works; errors with 200.', {
    effort: 'object',
    extraFields: ['top_k', 'min_p', 'top_a', 'repetition_penalty', 'transforms', 'include_reasoning'],
  }),
  row('together', 'API docs.', { extraFields: LOCAL_SAMPLING }),
  row('fireworks', 'API docs; API reference: prompts are cached apart by prompt_cache_isolation_key.', {
    extraFields: LOCAL_SAMPLING,
    cacheSaltField: 'prompt_cache_isolation_key',
  }),
  row(
    'vllm',
    'Docs: extra sampling fields; reasoning or reasoning_content by version; usage only when asked; cache_salt.',
    {
      cacheSaltField: 'cache_salt',
      effort: 'template',
      extraFields: [
        ...[...LOCAL_SAMPLING, 'chat_template_kwargs', 'structured_outputs'],
        ...['guided_json', 'guided_regex', 'guided_choice', 'guided_grammar', 'guided_decoding_backend'],
      ],
    },
  ),
  row('ollama', 'Docs, OpenAI compatibility: a subset; unknown fields are ignored.', {
    withoutFields: ['logit_bias', 'user', 'n'],
  }),
  row('llamacpp', 'Server README: sampling fields, timings beside usage.', {
    effort: 'template',
    extraFields: [...LOCAL_SAMPLING, 'grammar', 'cache_prompt', 'chat_template_kwargs'],
  }),
  row('lmstudio', 'Docs, OpenAI compatibility.', { extraFields: ['top_k', 'repeat_penalty'] }),
  row(
    'github-copilot',
    'No reference. Public clients: vscode-copilot-chat (headers, reasoning_text), opencode; text and calls in two choices: nanobot #1555.',
    { hidesReasoning: true, splitsChoices: true },
  ),
  row(
    'google-vertex',
    'docs.cloud.google.com, OpenAI libraries with Vertex AI: what is not in its table is ignored; efforts low, medium and high, or a thinking_config.',
    {
      effort: 'google',
      traits: { ...PLAIN_TRAITS, efforts: { low: 'low', medium: 'medium', high: 'high' } },
      withoutFields: [
        ...['logprobs', 'top_logprobs', 'logit_bias', 'parallel_tool_calls'],
        ...['user', 'safety_identifier', 'prompt_cache_key', 'verbosity'],
      ],
      countedSeparately: ['reasoning'],
      hidesReasoning: true,
    },
  ),
  row(
    'anthropic-compat',
    'platform.claude.com, OpenAI SDK compatibility: fields that are ignored, names among them; n is 1; thinking is not shown, nothing is cached.',
    {
      effort: 'thinking',
      effortSwitches: ['thinking'],
      extraFields: ['thinking'],
      traits: { ...PLAIN_TRAITS, efforts: { none: 'disabled', low: 'adaptive' }, jsonSchema: 'none' },
      withoutFields: [
        ...['response_format', 'logprobs', 'top_logprobs', 'logit_bias', 'presence_penalty', 'frequency_penalty'],
        ...['seed', 'user', 'safety_identifier', 'prompt_cache_key', 'verbosity'],
      ],
      messageNames: false,
      hidesReasoning: true,
      cannot: ['file_url', 'n'],
    },
  ),
  row('vercel-gateway', 'vercel.com/docs/ai-gateway, Chat Completions: reasoning object, effort or max_tokens.', {
    effort: 'object',
    hidesReasoning: true,
  }),
  row(
    'bedrock',
    'docs.aws.amazon.com/bedrock, Chat Completions API and OpenAI model parameters: max_completion_tokens, reasoning_effort.',
    { capField: 'max_completion_tokens', hidesReasoning: true },
  ),
]

export const chatDialect = dialectByName(CHAT_DIALECTS, GENERIC)

/** The fields in which servers read the effort, by its spelling; undefined where a server has no field for it. */
export const EFFORT_FIELDS = {
  /** The protocol's own field. */
  word: (spelling: EffortSpelling) => word(spelling === 'disabled' ? 'none' : spelling),

  /** OpenRouter: an object, in which a number of tokens has a place too. */
  object: (spelling: EffortSpelling) => {
    if (typeof spelling === 'number') return { reasoning: { max_tokens: spelling } }
    return { reasoning: { effort: spelling === 'disabled' ? 'none' : spelling } }
  },

  /** DeepSeek: a switch, and `reasoning_effort` beside it. */
  'switch-and-word': (spelling: EffortSpelling) => {
    if (spelling === 'disabled') return { thinking: { type: 'disabled' } }
    const fields = word(spelling)
    return fields && { thinking: { type: 'enabled' }, ...fields }
  },

  /** Moonshot: models that take `reasoning_effort` always think, and take no switch. */
  'word-or-switch': (spelling: EffortSpelling) =>
    spelling === 'disabled' ? { thinking: { type: 'disabled' } } : word(spelling),

  /** Alibaba: a switch and a number of tokens; a word only switches thinking on. */
  budget: (spelling: EffortSpelling) => {
    if (spelling === 'disabled') return { enable_thinking: false }
    return typeof spelling === 'number'
      ? { enable_thinking: true, thinking_budget: spelling }
      : { enable_thinking: true }
  },

  /** Vertex AI: `reasoning_effort`, or Gemini's own `thinking_config`; never both. */
  google: (spelling: EffortSpelling) => {
    const tokens = spelling === 'disabled' ? 0 : spelling
    if (typeof tokens === 'string') return word(tokens)
    return { extra_body: { google: { thinking_config: { thinking_budget: tokens } } } }
  },

  /** Anthropic: a number of tokens, or `adaptive`, with which the model decides how long it thinks. */
  thinking: (spelling: EffortSpelling) => {
    if (typeof spelling === 'number') return { thinking: { type: 'enabled', budget_tokens: spelling } }
    return { thinking: { type: spelling === 'disabled' ? 'disabled' : 'adaptive' } }
  },

  /** Self-hosted servers: the template of the prompt decides whether the model thinks. */
  template: (spelling: EffortSpelling) =>
    spelling === 'disabled' ? { chat_template_kwargs: { enable_thinking: false } } : word(spelling),
} as const satisfies Record<string, (spelling: EffortSpelling) => Fields | undefined>

type EffortForm = keyof typeof EFFORT_FIELDS

const word = (spelling: EffortSpelling): Fields | undefined =>
  typeof spelling === 'string' ? { reasoning_effort: spelling } : undefined
