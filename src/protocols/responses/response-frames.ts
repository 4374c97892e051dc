import { type Fields, isObject } from '../../lib/types.ts'
import type { Effort } from '../../model/effort.ts'
import type { SettledCharge } from '../../model/ending.ts'
import { inputTokensOf } from '../../model/price.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { encodeCharge } from '../shared/stream-state.ts'
import { requestedField } from './fields.ts'

export interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'
  readonly output: readonly Fields[]
  readonly usage?: Fields
  readonly error?: { readonly code: string; readonly message: string }
  readonly incompleteReason?: 'max_output_tokens' | 'content_filter'
  /** The client asked for storage, and storing failed. */
  readonly unstored?: true
  /** In seconds, for a completed response. */
  readonly completedAt?: number
  /** What was charged; before the end, what was asked for. */
  readonly serviceTier?: string
}

export interface ResponseOptions {
  readonly request: ResponsesRequest
  /** The public model id that the client sent. */
  readonly model: string
  /** The effort in force, by suffix, field or catalogue. */
  readonly effort: Effort | undefined
  readonly responseId: string
  /** In seconds. */
  readonly createdAt: number
}

/** The members of an object without the braces around them. */
const membersJson = (fields: Fields): string => JSON.stringify(fields).slice(1, -1)

/** A field that the client left out has the default of a provider, because some clients do not accept null for a number. */
function echoOf({ request, effort }: ResponseOptions): Fields {
  const field = (name: string) => requestedField(request, name)
  const text = (name: string, fallback: string | null = null) => {
    const value = field(name)
    return typeof value === 'string' ? value : fallback
  }
  const number = (name: string, fallback: number | null) => {
    const value = field(name)
    return typeof value === 'number' ? value : fallback
  }
  const reasoning = field('reasoning')
  const { summary, generate_summary: olderSummary } = isObject(reasoning) ? reasoning : {}
  const tools = field('tools')
  const metadata = field('metadata')
  const parallel = field('parallel_tool_calls')
  const user = field('user')
  return {
    instructions: text('instructions'),
    previous_response_id: request.previousResponseId ?? null,
    max_output_tokens: number('max_output_tokens', null),
    max_tool_calls: number('max_tool_calls', null),
    tools: Array.isArray(tools) ? tools.map(echoedTool) : [],
    tool_choice: field('tool_choice') ?? 'auto',
    parallel_tool_calls: typeof parallel === 'boolean' ? parallel : true,
    text: echoedText(field('text')),
    reasoning: { effort: effort ?? null, summary: summary ?? olderSummary ?? null },
    temperature: number('temperature', 1),
    top_p: number('top_p', 1),
    presence_penalty: number('presence_penalty', 0),
    frequency_penalty: number('frequency_penalty', 0),
    top_logprobs: number('top_logprobs', 0),
    truncation: text('truncation', 'disabled'),
    background: request.inBackground,
    metadata: isObject(metadata) ? metadata : {},
    safety_identifier: text('safety_identifier'),
    prompt_cache_key: text('prompt_cache_key'),
    ...(typeof user === 'string' ? { user } : {}),
  }
}

function echoedTool(tool: unknown): unknown {
  if (!isObject(tool) || tool.type !== 'function') return tool
  const { description = null, parameters = null, strict = null } = tool
  return { ...tool, description, parameters, strict }
}

function echoedText(text: unknown): Fields {
  const { format, verbosity } = isObject(text) ? text : {}
  const isSchema = isObject(format) && format.type === 'json_schema'
  const echoed = isSchema
    ? { ...format, description: format.description ?? null, strict: format.strict ?? false }
    : isObject(format)
      ? format
      : { type: 'text' }
  return { format: echoed, ...(typeof verbosity === 'string' ? { verbosity } : {}) }
}

/** Usage in the names of Responses, with the charge beside it. */
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

/** An event of the client's stream, before it has a number. Most events are a text delta without other fields. */
export type UnsentEvent =
  | readonly [type: string, fields: Fields]
  | { readonly template: DeltaTemplate; readonly text: string }

/** A delta frame up to its number, from there to its text, and behind the text. */
export interface DeltaTemplate {
  readonly head: string
  readonly before: string
  readonly behind: string
}

/** Between two frames of an answer. */
export interface FramePlace {
  readonly nextNumber: number
  readonly isOpen: boolean
}

export const START: FramePlace = { nextNumber: 0, isOpen: false }

/**
 * Writes the SSE frames of one answer with a response object of our own and sequence numbers without a gap. It lives as long
 * as its turn and outlives a lane that failed before any content. A frame gets its number when it is written, so every
 * written frame has to be sent, in this order.
 */
export class FrameWriter {
  /** True once `response.created` is written. */
  isOpen = false
  readonly #options: ResponseOptions
  #nextNumber = 0
  #echoJson: string | undefined

  constructor(options: ResponseOptions) {
    this.#options = options
  }

  /** `response.created` and `response.in_progress`, which come before any other frame; empty when they are written already. */
  opening(): string {
    if (this.isOpen) return ''
    this.isOpen = true
    const state: ResponseState = { status: 'in_progress', output: [] }
    const response = `,"response":${this.responseJson(state)}`
    return (
      this.#numbered(frameHead('response.created'), response) +
      this.#numbered(frameHead('response.in_progress'), response)
    )
  }

  /** One frame. The type and the number come first; fields with these two names are ignored. */
  frame(type: string, fields: Fields): string {
    const { type: _type, sequence_number: _number, ...others } = fields
    const members = membersJson(others)
    return this.#numbered(frameHead(type), members === '' ? '' : `,${members}`)
  }

  event(event: UnsentEvent): string {
    if (!('template' in event)) return this.frame(...event)
    const { head, before, behind } = event.template
    return this.#numbered(head, before + JSON.stringify(event.text).slice(1, -1) + behind)
  }

  /** One frame with the whole response object. */
  responseFrame(type: string, state: ResponseState): string {
    return this.#numbered(frameHead(type), `,"response":${this.responseJson(state)}`)
  }

  /** The response object, with every key in every state: typed clients require all of them. */
  responseJson(state: ResponseState): string {
    const { request, responseId, createdAt, model } = this.#options
    const head = membersJson({
      id: responseId,
      object: 'response',
      created_at: createdAt,
      completed_at: state.completedAt ?? null,
      status: state.status,
      error: state.error ?? null,
      incomplete_details: state.incompleteReason === undefined ? null : { reason: state.incompleteReason },
      model,
    })
    const tail = membersJson({
      store: request.storedInput !== undefined && state.unstored === undefined,
      output: state.output,
      service_tier: state.serviceTier ?? request.priced?.service_tier ?? 'default',
      usage: state.usage ?? null,
    })
    return `{${head},${this.#echo()},${tail}}`
  }

  /** Keeps what the response repeats of the request, so that the body can be freed. */
  forgetBody(): void {
    this.#echo()
  }

  /** Up to 40 kB of tools, and a stream contains the response at least three times, so it is serialized once. */
  #echo(): string {
    this.#echoJson ??= membersJson(echoOf(this.#options))
    return this.#echoJson
  }

  place(): FramePlace {
    return { nextNumber: this.#nextNumber, isOpen: this.isOpen }
  }

  /** Goes back to a place: the frames that were written since then will not be sent. */
  rewindTo({ nextNumber, isOpen }: FramePlace): void {
    this.#nextNumber = nextNumber
    this.isOpen = isOpen
  }

  #numbered(head: string, members: string): string {
    const number = this.#nextNumber
    this.#nextNumber += 1
    return `${head}${number}${members}}\n\n`
  }
}

/** A frame up to its number. The event name repeats the type: clients read one or the other. */
export const frameHead = (type: string): string => `event: ${type}\ndata: {"type":"${type}","sequence_number":`
