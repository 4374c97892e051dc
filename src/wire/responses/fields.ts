import { type FieldTable, integer, number } from '../fields/field-rule.ts'

const OUTPUT_CAP = integer(1, Number.MAX_SAFE_INTEGER)

/** What happens to each field of a Responses request. */
export const RESPONSES_FIELDS: FieldTable = {
  model: { policy: 'control', check: { kind: 'string' } },
  input: { policy: 'passed' },
  instructions: { policy: 'passed' },
  stream: { policy: 'control', check: { kind: 'boolean' } },
  stream_options: { policy: 'control', check: { kind: 'object' } },
  max_output_tokens: { policy: 'control', check: OUTPUT_CAP },
  reasoning: { policy: 'control', check: { kind: 'object' } },
  store: { policy: 'control', check: { kind: 'boolean' } },
  include: { policy: 'control', check: { kind: 'array' } },
  previous_response_id: { policy: 'control', check: { kind: 'string' } },
  temperature: { policy: 'passed', check: number(0, 2) },
  top_p: { policy: 'passed', check: number(0, 1) },
  metadata: { policy: 'ignored', check: { kind: 'object' } },
  service_tier: { policy: 'standard-only' },
  background: { policy: 'refused' },
}
