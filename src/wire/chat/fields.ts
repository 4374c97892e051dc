/**
 * What happens to each field of a Chat Completions request. `docs/protocols/chat-fields.md` is
 * kept equal to this table by a test.
 *
 * - `control`: Millrace decides on it and writes it anew for the provider, so that what we price and what the provider
 *   reads is the same thing.
 * - `passed`: goes to the provider as it came.
 * - `ignored`: accepted, left out of what goes to the provider, and named in `x-millrace-ignored-fields`.
 * - `standard-only`: would change price or destination; `auto`, `default`, `standard` and null count as absent, anything
 *   else is refused.
 * - `refused`: asks for something that is not provided.
 */
export type FieldPolicy = 'control' | 'passed' | 'ignored' | 'standard-only' | 'refused'

export interface FieldRule {
  readonly policy: FieldPolicy
  readonly check?: ValueCheck
}

export type ValueCheck =
  | { readonly kind: 'number'; readonly min: number; readonly max: number }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'string' }
  | { readonly kind: 'object' }
  | { readonly kind: 'array' }
  | { readonly kind: 'string-or-strings'; readonly most: number }
  | { readonly kind: 'string-or-object' }
  | { readonly kind: 'text-only' }

const number = (min: number, max: number): ValueCheck => ({ kind: 'number', min, max })
const integer = (min: number, max: number): ValueCheck => ({ kind: 'integer', min, max })
const OUTPUT_CAP = integer(1, Number.MAX_SAFE_INTEGER)

export const CHAT_FIELDS: Readonly<Record<string, FieldRule>> = {
  model: { policy: 'control', check: { kind: 'string' } },
  messages: { policy: 'passed', check: { kind: 'array' } },
  stream: { policy: 'control', check: { kind: 'boolean' } },
  stream_options: { policy: 'control', check: { kind: 'object' } },
  max_tokens: { policy: 'control', check: OUTPUT_CAP },
  max_completion_tokens: { policy: 'control', check: OUTPUT_CAP },
  reasoning_effort: { policy: 'control', check: { kind: 'string' } },
  reasoning: { policy: 'control', check: { kind: 'object' } },
  n: { policy: 'control', check: integer(1, 128) },

  temperature: { policy: 'passed', check: number(0, 2) },
  top_p: { policy: 'passed', check: number(0, 1) },
  presence_penalty: { policy: 'passed', check: number(-2, 2) },
  frequency_penalty: { policy: 'passed', check: number(-2, 2) },
  stop: { policy: 'passed', check: { kind: 'string-or-strings', most: 4 } },
  seed: { policy: 'passed', check: integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER) },
  logprobs: { policy: 'passed', check: { kind: 'boolean' } },
  top_logprobs: { policy: 'passed', check: integer(0, 20) },
  logit_bias: { policy: 'passed', check: { kind: 'object' } },
  tools: { policy: 'passed', check: { kind: 'array' } },
  tool_choice: { policy: 'passed', check: { kind: 'string-or-object' } },
  parallel_tool_calls: { policy: 'passed', check: { kind: 'boolean' } },
  functions: { policy: 'passed', check: { kind: 'array' } },
  function_call: { policy: 'passed', check: { kind: 'string-or-object' } },
  response_format: { policy: 'passed', check: { kind: 'object' } },
  verbosity: { policy: 'passed', check: { kind: 'string' } },
  user: { policy: 'passed', check: { kind: 'string' } },
  safety_identifier: { policy: 'passed', check: { kind: 'string' } },
  prompt_cache_key: { policy: 'passed', check: { kind: 'string' } },

  modalities: { policy: 'ignored', check: { kind: 'text-only' } },
  store: { policy: 'ignored' },
  metadata: { policy: 'ignored' },
  prediction: { policy: 'ignored' },
  moderation: { policy: 'ignored' },
  prompt_cache_retention: { policy: 'ignored' },
  prompt_cache_options: { policy: 'ignored' },

  service_tier: { policy: 'standard-only' },
  speed: { policy: 'standard-only' },
  priority: { policy: 'standard-only' },

  models: { policy: 'refused' },
  plugins: { policy: 'refused' },
  search_parameters: { policy: 'refused' },
  enable_search: { policy: 'refused' },
  web_search_options: { policy: 'refused' },
  audio: { policy: 'refused' },
}

/** Lower-cased names of the control fields: `Model` beside or instead of `model` is refused, some servers would read it. */
export const CONTROL_FIELDS: ReadonlySet<string> = new Set(
  Object.entries(CHAT_FIELDS).flatMap(([name, rule]) => (rule.policy === 'control' ? [name] : [])),
)

/**
 * Whether a field may go to a provider as the client wrote it, if the operator says so. What is decided on here may not, in
 * whatever letter case: some servers would read it.
 */
export function mayBePassedOn(name: string): boolean {
  const lower = name.toLowerCase()
  if (!Object.hasOwn(CHAT_FIELDS, lower)) return true
  const policy = CHAT_FIELDS[lower]?.policy
  return policy === 'passed' || policy === 'ignored'
}

export const STANDARD_VALUES: ReadonlySet<unknown> = new Set([undefined, null, 'auto', 'default', 'standard', false])
