import type { ResponsesRequest } from '../../model/turn.ts'
import { integer, number } from '../fields/check-value.ts'
import { controlFieldsOf, type FieldTable, type NestedTable } from '../fields/read-fields.ts'
import { tryParse, writtenMember } from '../json/bytes.ts'

/** The policy of each field of a Responses request: `docs/protocols/responses-fields.md`. */
export const RESPONSES_FIELDS: FieldTable = {
  model: { policy: 'control', check: { kind: 'string' } },
  input: { policy: 'passed' },
  instructions: { policy: 'passed', check: { kind: 'string' } },
  stream: { policy: 'control', check: { kind: 'boolean' } },
  stream_options: { policy: 'control', check: { kind: 'object' } },
  max_output_tokens: { policy: 'control', check: integer(1, Number.MAX_SAFE_INTEGER) },
  reasoning: { policy: 'control', check: { kind: 'object' } },
  store: { policy: 'control', check: { kind: 'boolean' } },
  background: { policy: 'control', check: { kind: 'boolean' } },
  previous_response_id: { policy: 'control', check: { kind: 'string' } },
  include: { policy: 'control', check: { kind: 'strings' } },
  n: { policy: 'control', check: integer(1, 1) },
  cache_salt: { policy: 'control' },
  prompt_cache_isolation_key: { policy: 'control' },

  text: { policy: 'passed', check: { kind: 'object' } },
  tools: { policy: 'passed', check: { kind: 'array' } },
  tool_choice: { policy: 'passed', check: { kind: 'string-or-object' } },
  parallel_tool_calls: { policy: 'passed', check: { kind: 'boolean' } },
  temperature: { policy: 'passed', check: number(0, 2) },
  top_p: { policy: 'passed', check: number(0, 1) },
  presence_penalty: { policy: 'passed', check: number(-2, 2) },
  frequency_penalty: { policy: 'passed', check: number(-2, 2) },
  top_logprobs: { policy: 'passed', check: integer(0, 20) },
  truncation: { policy: 'passed', check: { kind: 'one-of', words: ['auto', 'disabled'] } },
  user: { policy: 'passed', check: { kind: 'string' } },
  safety_identifier: { policy: 'passed', check: { kind: 'string' } },
  prompt_cache_key: { policy: 'passed', check: { kind: 'string' } },

  metadata: { policy: 'ignored', check: { kind: 'object' } },
  client_metadata: { policy: 'ignored' },
  moderation: { policy: 'ignored' },
  context_management: { policy: 'ignored' },
  max_tool_calls: { policy: 'ignored', check: integer(0, Number.MAX_SAFE_INTEGER) },
  prompt_cache_retention: { policy: 'ignored' },
  prompt_cache_options: { policy: 'ignored' },

  service_tier: { policy: 'priced' },
  speed: { policy: 'priced' },
  inference_geo: { policy: 'priced' },
  priority: { policy: 'standard-only' },

  conversation: { policy: 'refused' },
  prompt: { policy: 'refused' },
  models: { policy: 'refused' },
  plugins: { policy: 'refused' },
  search_parameters: { policy: 'refused' },
  enable_search: { policy: 'refused' },
  web_search_options: { policy: 'refused' },
}

export const CONTROL_FIELDS = controlFieldsOf(RESPONSES_FIELDS)

/** The members of fields that are objects. An unknown member of a control field goes to no lane. */
export const NESTED_FIELDS: NestedTable = {
  reasoning: {
    effort: { kind: 'string' },
    summary: { kind: 'string' },
    generate_summary: { kind: 'string' },
    context: { kind: 'string' },
    mode: 'standard-only',
  },
  stream_options: { include_obfuscation: { kind: 'boolean' } },
  text: { format: { kind: 'object' }, verbosity: { kind: 'string' } },
}

/**
 * The value of a field as every lane gets it; null counts as absent. It is parsed each time, because a parsed value that lives
 * as long as its turn takes ten times the memory of its bytes.
 */
export function requestedField(request: Pick<ResponsesRequest, 'body' | 'rewritten'>, name: string): unknown {
  const written = writtenMember(request, name)
  return written === undefined ? undefined : (tryParse(written.toString('utf8')) ?? undefined)
}
