import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Effort } from '../../model/effort.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { tryParse } from '../json/try-parse.ts'

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
}

/**
 * What a response repeats of its request may be 40 kB of tools, and is said three times and more in a stream: it is put
 * into words once.
 */
export function createResponseObject(options: ResponseOptions): ResponseObject {
  let echoJson: string | undefined
  return {
    json(state) {
      echoJson ??= innerJson(echoOf(options))
      return `{${innerJson(headOf(options, state))},${echoJson},${innerJson(tailOf(options.request, state))}}`
    },
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
  const { fields } = request
  const reasoning = isObject(fields.reasoning) ? fields.reasoning : {}
  return {
    instructions: textOr(fields.instructions, null),
    previous_response_id: request.previousResponseId ?? null,
    max_output_tokens: numberOr(fields.max_output_tokens, null),
    max_tool_calls: numberOr(fields.max_tool_calls, null),
    tools: toolsOf(forwarded(request, 'tools')),
    tool_choice: forwarded(request, 'tool_choice') ?? 'auto',
    parallel_tool_calls: typeof fields.parallel_tool_calls === 'boolean' ? fields.parallel_tool_calls : true,
    text: textFieldOf(fields.text),
    reasoning: { effort: effort ?? null, summary: reasoning.summary ?? reasoning.generate_summary ?? null },
    temperature: numberOr(fields.temperature, 1),
    top_p: numberOr(fields.top_p, 1),
    presence_penalty: numberOr(fields.presence_penalty, 0),
    frequency_penalty: numberOr(fields.frequency_penalty, 0),
    top_logprobs: numberOr(fields.top_logprobs, 0),
    truncation: textOr(fields.truncation, 'disabled'),
    background: false,
    service_tier: 'default',
    metadata: isObject(fields.metadata) ? fields.metadata : {},
    safety_identifier: textOr(fields.safety_identifier, null),
    prompt_cache_key: textOr(fields.prompt_cache_key, null),
    ...(typeof fields.user === 'string' ? { user: fields.user } : {}),
  }
}

/** A field as the provider gets it: nobody shall believe in a tool that was left out. */
function forwarded({ fields, rewritten }: ResponsesRequest, name: string): unknown {
  const written = rewritten.get(name)
  if (written === undefined) return fields[name]
  return written === null ? undefined : tryParse(written.toString('utf8'))
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
