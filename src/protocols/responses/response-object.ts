import { type Fields, isObject } from '../../lib/types.ts'
import type { Effort } from '../../model/effort.ts'
import type { SettledCharge } from '../../model/ending.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { inputTokensOf } from '../../model/usage.ts'
import { encodeCharge } from '../shared/stream-state.ts'
import { requestedField } from './fields.ts'

export interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'
  readonly output: readonly Fields[]
  readonly usage?: Fields
  readonly error?: { readonly code: string; readonly message: string }
  readonly incompleteReason?: 'max_output_tokens' | 'content_filter'
  /** It could not be stored, whatever was asked for. */
  readonly unstored?: true
  /** In seconds, for a response that is complete. */
  readonly completedAt?: number
}

export interface ResponseOptions {
  readonly request: ResponsesRequest
  /** The public model id that the client asked for. */
  readonly model: string
  /** The one that is in force, by suffix, field or catalogue. */
  readonly effort: Effort | undefined
  readonly responseId: string
  /** In seconds. */
  readonly createdAt: number
}

/** The response object, with every key in every state: typed clients ask for all of them. */
interface ResponseObject {
  json(state: ResponseState): string
  /** From here on the body of the request is not needed. */
  forgetBody(): void
}

/**
 * What a response repeats of its request may be 40 kB of tools, and is said three times and more in a stream: it is put
 * into words once.
 */
export function createResponseObject(options: ResponseOptions): ResponseObject {
  let echoJson: string | undefined
  const echo = () => {
    echoJson ??= innerJson(echoOf(options))
    return echoJson
  }
  return {
    json: (state) => `{${innerJson(headOf(options, state))},${echo()},${innerJson(tailOf(options.request, state))}}`,
    forgetBody: () => void echo(),
  }
}

/** The members of an object without the braces around them. */
const innerJson = (fields: Fields): string => JSON.stringify(fields).slice(1, -1)

const headOf = ({ responseId, createdAt, model }: ResponseOptions, state: ResponseState): Fields => ({
  id: responseId,
  object: 'response',
  created_at: createdAt,
  completed_at: state.completedAt ?? null,
  status: state.status,
  error: state.error ?? null,
  incomplete_details: state.incompleteReason === undefined ? null : { reason: state.incompleteReason },
  model,
})

const tailOf = ({ storedInput }: ResponsesRequest, { output, usage, unstored }: ResponseState): Fields => ({
  store: storedInput !== undefined && unstored === undefined,
  output,
  usage: usage ?? null,
})

/** Where the client has said nothing, what a provider would do by itself: some clients take no null for a number. */
function echoOf({ request, effort }: ResponseOptions): Fields {
  const asked = (name: string) => requestedField(request, name)
  const reasoning = asked('reasoning')
  const { summary, generate_summary: olderSummary } = isObject(reasoning) ? reasoning : {}
  const metadata = asked('metadata')
  const parallel = asked('parallel_tool_calls')
  const user = asked('user')
  return {
    instructions: textOr(asked('instructions'), null),
    previous_response_id: request.previousResponseId ?? null,
    max_output_tokens: numberOr(asked('max_output_tokens'), null),
    max_tool_calls: numberOr(asked('max_tool_calls'), null),
    tools: toolsOf(asked('tools')),
    tool_choice: asked('tool_choice') ?? 'auto',
    parallel_tool_calls: typeof parallel === 'boolean' ? parallel : true,
    text: textFieldOf(asked('text')),
    reasoning: { effort: effort ?? null, summary: summary ?? olderSummary ?? null },
    temperature: numberOr(asked('temperature'), 1),
    top_p: numberOr(asked('top_p'), 1),
    presence_penalty: numberOr(asked('presence_penalty'), 0),
    frequency_penalty: numberOr(asked('frequency_penalty'), 0),
    top_logprobs: numberOr(asked('top_logprobs'), 0),
    truncation: textOr(asked('truncation'), 'disabled'),
    background: false,
    service_tier: 'default',
    metadata: isObject(metadata) ? metadata : {},
    safety_identifier: textOr(asked('safety_identifier'), null),
    prompt_cache_key: textOr(asked('prompt_cache_key'), null),
    ...(typeof user === 'string' ? { user } : {}),
  }
}

const toolsOf = (tools: unknown): unknown[] => (Array.isArray(tools) ? tools.map(toolOf) : [])

function toolOf(tool: unknown): unknown {
  if (!isObject(tool) || tool.type !== 'function') return tool
  const { description = null, parameters = null, strict = null } = tool
  return { ...tool, description, parameters, strict }
}

function textFieldOf(text: unknown): Fields {
  const { format, verbosity } = isObject(text) ? text : {}
  return {
    format: isObject(format) ? formatOf(format) : { type: 'text' },
    ...(typeof verbosity === 'string' ? { verbosity } : {}),
  }
}

function formatOf(format: Fields): Fields {
  if (format.type !== 'json_schema') return format
  return { ...format, description: format.description ?? null, strict: format.strict ?? false }
}

const numberOr = <Other>(value: unknown, other: Other): number | Other => (typeof value === 'number' ? value : other)
const textOr = <Other>(value: unknown, other: Other): string | Other => (typeof value === 'string' ? value : other)

/** The usage of an answer in Responses' own words, with the charge beside it. */
export function writeUsage(settled: SettledCharge): Fields {
  const { usage } = settled
  const input = inputTokensOf(usage)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cachedInput, cache_write_tokens: usage.cacheWrite },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + usage.output,
    millrace: encodeCharge(settled),
  }
}
