/**
 * The oddities of servers that speak Chat, as data: an oddity is a column, a server is a row. Facts are from the vendors'
 * references and from recorded answers; each row says what it rests on.
 */
export interface ChatDialect {
  readonly wire: 'chat'
  readonly name: string
  /** Other names that the configuration accepts for it. */
  readonly aliases: readonly string[]
  /** The name under which the server reads the output cap. */
  readonly capField: 'max_completion_tokens' | 'max_tokens'
  /** Whether the server knows the developer role; else such messages are sent as system messages. */
  readonly developerRole: boolean
  /** Whether `stream_options.include_usage` may be sent; servers without it report usage unasked. */
  readonly usageOption: boolean
  /** How an effort is spelled. */
  readonly effort: 'reasoning_effort' | 'reasoning'
  /** Top-level fields beyond the standard ones that the server understands. */
  readonly extraFields: readonly string[]
  /** Standard fields that the server refuses or does not know: they are left out and named to the client. */
  readonly withoutFields: readonly string[]
  /** Fields that go under another name. */
  readonly renamedFields: Readonly<Record<string, string>>
  /** `completion_tokens` leaves reasoning out: it has to be added. */
  readonly reasoningBesideCompletion: boolean
  /** Reasoning is counted and not sent: what is read of a stream tells nothing of what it has cost. */
  readonly hidesReasoning: boolean
  /** The server wants its reasoning back with the messages that it led to, and refuses a tool loop without it. */
  readonly reasoningBack: boolean
  /** Tools that take free text; elsewhere they go as functions of one string. */
  readonly customTools: boolean
  /** `tool_choice` may be a list of the tools that are allowed; elsewhere only those are declared. */
  readonly allowedTools: boolean
  /** Assistant messages may have a `refusal`; elsewhere its words are content. */
  readonly refusals: boolean
  /** Messages may tell the name of who speaks. */
  readonly messageNames: boolean
  /** How the ids of tool calls may look. */
  readonly callIds: 'any' | 'nine-letters'
  readonly source: string
}

const GENERIC: ChatDialect = {
  wire: 'chat',
  name: 'generic',
  aliases: [],
  capField: 'max_tokens',
  developerRole: false,
  usageOption: true,
  effort: 'reasoning_effort',
  extraFields: [],
  withoutFields: [],
  renamedFields: {},
  reasoningBesideCompletion: false,
  hidesReasoning: false,
  reasoningBack: false,
  customTools: false,
  allowedTools: false,
  refusals: false,
  messageNames: true,
  callIds: 'any',
  source: 'What nearly every compatible server accepts: the older cap name and no developer role.',
}

const row = (name: string, source: string, over: Partial<ChatDialect> = {}): ChatDialect => ({
  ...GENERIC,
  name,
  source,
  ...over,
})

/** What only OpenAI's own models were made for. */
const OPENAI_ONLY = { customTools: true, allowedTools: true, refusals: true } as const
const LOCAL_SAMPLING = ['top_k', 'min_p', 'repetition_penalty']

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
    'API docs: prompt_cache_hit_tokens in usage; thinking switch; in tool loops reasoning_content goes back.',
    {
      extraFields: ['thinking'],
      reasoningBack: true,
    },
  ),
  row(
    'groq',
    'Console docs: usage in x_groq of the last chunk; logprobs, logit_bias, n over 1 and names are refused.',
    {
      messageNames: false,
      capField: 'max_completion_tokens',
      extraFields: ['reasoning_format', 'include_reasoning'],
      withoutFields: ['logprobs', 'top_logprobs', 'logit_bias'],
    },
  ),
  row('mistral', 'API reference: random_seed; unknown fields are 422; content may be a list with thinking parts.', {
    callIds: 'nine-letters',
    extraFields: ['safe_prompt', 'prompt_mode'],
    withoutFields: [
      'logprobs',
      'top_logprobs',
      'logit_bias',
      'user',
      'safety_identifier',
      'prompt_cache_key',
      'verbosity',
    ],
    renamedFields: { seed: 'random_seed' },
  }),
  row('xai', 'Recorded: completion_tokens 1 beside reasoning_tokens 290.', {
    capField: 'max_completion_tokens',
    reasoningBesideCompletion: true,
  }),
  row('moonshot', 'Recorded: cached_tokens at the top level of usage. Docs: reasoning_content is kept in tool loops.', {
    aliases: ['moonshotai'],
    reasoningBack: true,
  }),
  row('alibaba', 'Recorded: id "" on later tool-call fragments.', {
    aliases: ['qwen'],
    extraFields: ['enable_thinking', 'thinking_budget', 'top_k'],
  }),
  row('openrouter', 'API docs: reasoning object; comments while it works; errors with 200.', {
    effort: 'reasoning',
    extraFields: ['top_k', 'min_p', 'top_a', 'repetition_penalty', 'transforms', 'include_reasoning'],
  }),
  row('together', 'API docs.', { extraFields: LOCAL_SAMPLING }),
  row('fireworks', 'API docs.', { extraFields: LOCAL_SAMPLING }),
  row('vllm', 'Docs: extra sampling fields; reasoning or reasoning_content by version; usage only when asked.', {
    extraFields: [
      ...LOCAL_SAMPLING,
      'chat_template_kwargs',
      'structured_outputs',
      'guided_json',
      'guided_regex',
      'guided_choice',
    ],
  }),
  row('ollama', 'Docs, OpenAI compatibility: a subset; unknown fields are ignored.', {
    withoutFields: ['logit_bias', 'user', 'n'],
  }),
  row('llamacpp', 'Server README: sampling fields, timings beside usage.', {
    extraFields: [...LOCAL_SAMPLING, 'grammar', 'cache_prompt', 'chat_template_kwargs'],
  }),
  row('lmstudio', 'Docs, OpenAI compatibility.', { extraFields: ['top_k', 'repeat_penalty'] }),
]

const BY_NAME = new Map(
  CHAT_DIALECTS.flatMap((dialect) => [dialect.name, ...dialect.aliases].map((name) => [name, dialect] as const)),
)

/** The row of a dialect; a name that no row has speaks plain Chat. */
export const chatDialect = (name: string): ChatDialect => BY_NAME.get(name) ?? GENERIC
