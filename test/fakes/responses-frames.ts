import type { ProviderAnswer } from './answers.ts'

/** What a healthy provider says, in the words of the Responses wire, for fakes to say whole, in part or wrongly. */

/** The same counts as `USAGE` in chat-frames.ts: four of the eleven input tokens are cached. */
export const RESPONSES_USAGE = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 18,
}

/** An item of an answer, in the pieces in which it is said. */
export type OutputItem =
  | { readonly kind: 'reasoning'; readonly summary: readonly string[]; readonly sealed?: string }
  | { readonly kind: 'message'; readonly words: readonly string[]; readonly phase?: string }
  | (OutputCall & { readonly kind: 'function' | 'custom' })

interface OutputCall {
  readonly name: string
  readonly namespace?: string
  readonly words: readonly string[]
}

export interface OutputAnswer {
  readonly items: readonly OutputItem[]
  readonly status?: 'completed' | 'incomplete'
  readonly usage?: unknown
  /** Items are said several at once, a piece of each in turn. */
  readonly isInterleaved?: boolean
}

type Event = Readonly<Record<string, unknown>> & { readonly type: string }

/** An item and the events that tell it. */
interface DeliveredItem {
  readonly item: object
  readonly start: readonly Event[]
  readonly words: readonly Event[]
  readonly end: readonly Event[]
}

export const responseObject = (model: string, more: object): object => ({
  ...{ id: 'resp_theirs', object: 'response', created_at: 1_700_000_000, status: 'in_progress', error: null },
  ...{ incomplete_details: null, model, output: [], usage: null, store: false, ...more },
})

/** A whole answer as the events of a stream, numbered. */
export function answerEvents(model: string, answer: OutputAnswer): Event[] {
  const reported = answer.items.map((item, index) => emitItem(item, index, answer.status ?? 'completed'))
  const begun = responseObject(model, {})
  const body = answerBody(model, answer)
  const events: Event[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...(answer.isInterleaved
      ? interleave(reported)
      : reported.flatMap(({ start, words, end }) => [...start, ...words, ...end])),
    { type: `response.${answer.status ?? 'completed'}`, response: body },
  ]
  return events.map((event, number) => ({ ...event, sequence_number: number }))
}

/** The same answer as JSON. */
export function answerBody(
  model: string,
  { items, status = 'completed', usage = RESPONSES_USAGE }: OutputAnswer,
): object {
  return responseObject(model, {
    status,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    output: items.map((item, index) => emitItem(item, index, status).item),
    usage,
  })
}

/** An event of a stream; those of Chat have no types. */
export interface OutputEvent {
  readonly type?: string
  readonly [name: string]: unknown
}

/** Events with their names, as these servers write them. */
export const emitEvents = (providerAnswer: ProviderAnswer, events: readonly OutputEvent[]): Promise<void> =>
  providerAnswer.bytes(
    events
      .map((event) => `${event.type === undefined ? '' : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`)
      .join(''),
  )

function interleave(reported: readonly DeliveredItem[]): Event[] {
  const longest = Math.max(0, ...reported.map(({ words }) => words.length))
  const rounds = Array.from({ length: longest }, (_, at) => reported.flatMap(({ words }) => words.slice(at, at + 1)))
  return [...reported.flatMap(({ start }) => start), ...rounds.flat(), ...reported.flatMap(({ end }) => end)]
}

function emitItem(emitted: OutputItem, index: number, status: string): DeliveredItem {
  if (emitted.kind === 'reasoning') return emitReasoning(emitted, index)
  return emitted.kind === 'message' ? emitMessage(emitted, index, status) : emitCall(emitted, index, status)
}

function emitReasoning(
  { summary, sealed }: Extract<OutputItem, { kind: 'reasoning' }>,
  output_index: number,
): DeliveredItem {
  const item_id = `rs_theirs_${output_index}`
  const place = { item_id, output_index, summary_index: 0 }
  const text = summary.join('')
  const begun = {
    id: item_id,
    type: 'reasoning',
    summary: [],
    ...(sealed === undefined ? {} : { encrypted_content: 's' }),
  }
  const item = {
    ...{ ...begun, summary: text === '' ? [] : [{ type: 'summary_text', text }] },
    ...(sealed === undefined ? {} : { encrypted_content: sealed }),
  }
  const part = (emitted: string) => ({ ...place, part: { type: 'summary_text', text: emitted } })
  const isSilent = text === ''
  return {
    item,
    start: [
      { type: 'response.output_item.added', output_index, item: begun },
      ...(isSilent ? [] : [{ type: 'response.reasoning_summary_part.added', ...part('') }]),
    ],
    words: summary.map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...place, delta })),
    end: [
      ...(isSilent
        ? []
        : [
            { type: 'response.reasoning_summary_text.done', ...place, text },
            { type: 'response.reasoning_summary_part.done', ...part(text) },
          ]),
      { type: 'response.output_item.done', output_index, item },
    ],
  }
}

function emitMessage(
  { words, phase }: Extract<OutputItem, { kind: 'message' }>,
  output_index: number,
  status: string,
): DeliveredItem {
  const item_id = `msg_theirs_${output_index}`
  const place = { item_id, output_index, content_index: 0 }
  const text = words.join('')
  const part = (emitted: string) => ({ type: 'output_text', text: emitted, annotations: [], logprobs: [] })
  const head = { id: item_id, type: 'message', role: 'assistant', ...(phase === undefined ? {} : { phase }) }
  const item = { ...head, status, content: [part(text)] }
  return {
    item,
    start: [
      { type: 'response.output_item.added', output_index, item: { ...head, status: 'in_progress', content: [] } },
      { type: 'response.content_part.added', ...place, part: part('') },
    ],
    words: words.map((delta) => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] })),
    end: [
      { type: 'response.output_text.done', ...place, text, logprobs: [] },
      { type: 'response.content_part.done', ...place, part: part(text) },
      { type: 'response.output_item.done', output_index, item },
    ],
  }
}

const CALLS = {
  function: { type: 'function_call', prefix: 'fc', stem: 'response.function_call_arguments', text: 'arguments' },
  custom: { type: 'custom_tool_call', prefix: 'ctc', stem: 'response.custom_tool_call_input', text: 'input' },
} as const

function emitCall(
  { kind, name, namespace, words }: Extract<OutputItem, { kind: 'function' | 'custom' }>,
  output_index: number,
  status: string,
): DeliveredItem {
  const { type, prefix, stem, text } = CALLS[kind]
  const item_id = `${prefix}_theirs_${output_index}`
  const head = { id: item_id, type, call_id: `call_theirs_${output_index}`, name }
  const named = { ...head, ...(namespace === undefined ? {} : { namespace }) }
  const item = { ...named, [text]: words.join(''), status }
  const place = { item_id, output_index }
  return {
    item,
    start: [{ type: 'response.output_item.added', output_index, item: { ...item, [text]: '', status: 'in_progress' } }],
    words: words.map((delta) => ({ type: `${stem}.delta`, ...place, delta })),
    end: [
      { type: `${stem}.done`, ...place, [text]: words.join('') },
      { type: 'response.output_item.done', output_index, item },
    ],
  }
}
