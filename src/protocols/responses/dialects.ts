import { type Effort, PLAIN_TRAITS, spellEffort } from '../../model/effort.ts'
import type { KindBeyondFunctions } from '../../model/turn.ts'
import { type DialectTraits, dialectByName } from '../shared/lane-target.ts'

/**
 * The oddities of servers that speak Responses, as data: an oddity is a column, a server is a row. Facts come from vendors'
 * references and recorded answers; each row names its source.
 */
export interface ResponsesDialect extends DialectTraits {
  readonly wire: 'responses'
  /** Kinds of tools beyond functions that the server takes; other servers get them as functions. */
  readonly nativeTools: readonly KindBeyondFunctions[]
  /** Top-level fields beyond the standard ones that the server understands. */
  readonly extraFields: readonly string[]
  /** Compacts a conversation itself on request; only it can read the result. */
  readonly compacts: boolean
  /** Sends its reasoning sealed on request, and takes it back. */
  readonly sealsReasoning: boolean
}

/** These servers ignore a service tier, or refuse it. Others may know tiers of which we know nothing: the operator has priced them. */
const WITHOUT_TIERS = new Set(['deepseek', 'vllm', 'ollama', 'llamacpp', 'lmstudio', 'github-copilot'])

const GENERIC: ResponsesDialect = {
  wire: 'responses',
  name: 'generic',
  aliases: [],
  nativeTools: [],
  extraFields: [],
  withoutFields: [],
  hidesReasoning: false,
  compacts: false,
  sealsReasoning: false,
  cannot: ['n', 'stop'],
  pricedValues: { service_tier: 'any' },
  traits: PLAIN_TRAITS,
  source: 'What nearly every compatible server accepts: functions and plain reasoning, without state.',
}

const row = (name: string, source: string, over: Partial<ResponsesDialect> = {}): ResponsesDialect => ({
  ...GENERIC,
  name,
  source,
  ...(WITHOUT_TIERS.has(name) && { pricedValues: {} }),
  ...over,
})

const LOCAL_SAMPLING = ['top_k', 'min_p', 'repetition_penalty']
const PENALTIES = ['presence_penalty', 'frequency_penalty']
/** DeepSeek's guide maps the other efforts like this. */
const NONE_LOW_HIGH_MAX = {
  ...{ none: 'none', minimal: 'low', low: 'low', medium: 'high' },
  ...{ high: 'high', xhigh: 'high', max: 'max', ultra: 'max' },
}
const CACHE_OPTIONS = ['prompt_cache_retention', 'prompt_cache_options']

export const RESPONSES_DIALECTS: readonly ResponsesDialect[] = [
  GENERIC,
  row(
    'openai',
    'API reference: custom tools and namespaces; reasoning is encrypted, only a summary is shown; compaction; max_output_tokens of at least 16.',
    {
      nativeTools: ['custom', 'namespace'],
      extraFields: CACHE_OPTIONS,
      withoutFields: PENALTIES,
      outputTokensMin: 16,
      hidesReasoning: true,
      compacts: true,
      sealsReasoning: true,
    },
  ),
  row('azure', 'As OpenAI, recorded: content_filters beside the output; the key goes in the api-key header.', {
    nativeTools: ['custom', 'namespace'],
    extraFields: CACHE_OPTIONS,
    withoutFields: PENALTIES,
    outputTokensMin: 16,
    hidesReasoning: true,
    sealsReasoning: true,
  }),
  row(
    'deepseek',
    'Recorded: raw reasoning as reasoning_text, ids without a prefix, a phase on messages. Guide: efforts none, low, high, max.',
    { traits: { ...PLAIN_TRAITS, efforts: NONE_LOW_HIGH_MAX } },
  ),
  row('xai', 'API docs: encrypted reasoning on request; what it thinks is sent as a summary.', {
    sealsReasoning: true,
  }),
  row('groq', 'Console docs, Responses API: the named fields are not supported.', {
    withoutFields: ['store', 'include', 'top_logprobs', 'truncation', 'safety_identifier', 'prompt_cache_key'],
  }),
  row('vllm', 'Docs: extra sampling fields; encrypted reasoning is an error; cache_salt.', {
    extraFields: LOCAL_SAMPLING,
    cacheSaltField: 'cache_salt',
  }),
  row('ollama', 'Docs, OpenAI compatibility: without state; functions only.'),
  row('llamacpp', 'Server README: tools that are no functions are skipped.', { extraFields: LOCAL_SAMPLING }),
  row('lmstudio', 'Recorded: arguments come whole, with their end and without deltas; log probabilities unasked.', {
    extraFields: ['top_k', 'repeat_penalty'],
  }),
  row('github-copilot', 'No reference. Public clients: vscode-copilot-chat and opencode ask for encrypted reasoning.', {
    withoutFields: PENALTIES,
    outputTokensMin: 16,
    hidesReasoning: true,
    sealsReasoning: true,
  }),
  row('bedrock', 'help.openai.com, Responses API on Amazon Bedrock: encrypted reasoning; no penalties, as OpenAI.', {
    withoutFields: PENALTIES,
    outputTokensMin: 16,
    hidesReasoning: true,
    sealsReasoning: true,
  }),
  row('vercel-gateway', 'vercel.com/docs/ai-gateway, Responses: reasoning.effort; state is ours.', {
    hidesReasoning: true,
  }),
  row('openrouter', 'API docs: Responses API, without state.', {
    extraFields: ['top_k', 'min_p', 'top_a', 'repetition_penalty'],
  }),
]

export const responsesDialect = dialectByName(RESPONSES_DIALECTS, GENERIC)

export const SEALED_REASONING = 'reasoning.encrypted_content'
export const LOGPROBS = 'message.output_text.logprobs'

/**
 * The `include` field for a lane. It asks every server that has sealed reasoning for it, even if the client does not, because a
 * lane without state could not continue the conversation otherwise. Everything else that can be included belongs to hosted tools.
 */
export function includeFor(dialect: ResponsesDialect, wants: { readonly logprobs: boolean }): readonly string[] {
  if (dialect.withoutFields.includes('include')) return []
  const logprobs = wants.logprobs && takesLogprobs(dialect)
  return [...(dialect.sealsReasoning ? [SEALED_REASONING] : []), ...(logprobs ? [LOGPROBS] : [])]
}

interface EffortTarget {
  readonly effort: Effort | undefined
  readonly dialect: ResponsesDialect
}

/** The value of `reasoning.effort` for this model; undefined leaves it out. */
export function effortName({ effort, dialect }: EffortTarget): string | undefined {
  if (effort === undefined || dialect.withoutFields.includes('reasoning')) return undefined
  const spelling = spellEffort(dialect.traits.efforts, effort)
  if (spelling === 'disabled') return 'none'
  return typeof spelling === 'string' ? spelling : undefined
}

/** The client set an effort that this protocol cannot express for the model, because the model takes a number or nothing similar. */
export const isEffortLost = (target: EffortTarget): boolean =>
  target.effort !== undefined && effortName(target) === undefined

/** A server that refuses logprobs refuses them in every field. */
export const takesLogprobs = ({ withoutFields }: ResponsesDialect): boolean =>
  !withoutFields.includes('include') && !withoutFields.includes('logprobs')
