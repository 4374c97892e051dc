import { controlFieldsOf, type FieldTable, integer, number } from '../fields/field-rule.ts'
import type { NestedTable } from '../fields/read-fields.ts'

const OUTPUT_CAP = integer(1, Number.MAX_SAFE_INTEGER)

/** What happens to each field of a Chat Completions request: `docs/protocols/chat-fields.md`. */
export const CHAT_FIELDS: FieldTable = {
  model: { policy: 'control', check: { kind: 'string' } },
  messages: { policy: 'passed', check: { kind: 'array' } },
  stream: { policy: 'control', check: { kind: 'boolean' } },
  stream_options: { policy: 'control', check: { kind: 'object' } },
  max_tokens: { policy: 'control', check: OUTPUT_CAP },
  max_completion_tokens: { policy: 'control', check: OUTPUT_CAP },
  reasoning_effort: { policy: 'control', check: { kind: 'string' } },
  reasoning: { policy: 'control', check: { kind: 'object' } },
  n: { policy: 'control', check: integer(1, 128) },
  cache_salt: { policy: 'control' },
  prompt_cache_isolation_key: { policy: 'control' },

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

export const CONTROL_FIELDS = controlFieldsOf(CHAT_FIELDS)

/** What is inside the control fields that are objects. They are written anew, so what we do not read goes nowhere. */
export const NESTED_FIELDS: NestedTable = {
  reasoning: { effort: { kind: 'string' }, mode: 'standard-only' },
  stream_options: { include_usage: { kind: 'boolean' } },
}
