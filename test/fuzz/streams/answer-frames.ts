import type { LaneWire } from '../../../src/model/wire.ts'
import type { EncodedFrame, Json } from './dice.ts'

/** What each of the four wires can say, in no wire's words. */
export interface PlainAnswer {
  /** No two of a kind but calls follow each other. */
  readonly pieces: readonly Piece[]
  readonly end: 'stop' | 'length' | 'filter'
  readonly counts: {
    readonly input: number
    readonly cached: number
    readonly output: number
    readonly thought: number
  }
}

/**
 * A thought is told as its wire tells thoughts: as a summary, or as it is; a refusal as a text where the wire has no other word
 * for it. The words of a call are its arguments.
 */
export type Piece =
  | { readonly kind: 'refusal'; readonly words: readonly string[] }
  | { readonly kind: 'thought'; readonly words: readonly string[] }
  | { readonly kind: 'text'; readonly words: readonly string[] }
  | { readonly kind: 'call'; readonly name: string; readonly words: readonly string[] }

export const CANONICAL: PlainAnswer = {
  pieces: [
    { kind: 'thought', words: ['Need ', 'weather: 漢.'] },
    { kind: 'text', words: ['Naïve ', 'café ', '漢字 🦜', '.', ' "Yes"\n', ' Then.'] },
    { kind: 'call', name: 'get_weather', words: ['{"city":', '"Oslo"', '}'] },
  ],
  end: 'stop',
  counts: { input: 35, cached: 10, output: 42, thought: 12 },
}

const hasCalls = ({ pieces }: PlainAnswer): boolean => pieces.some(({ kind }) => kind === 'call')
const named = (type: string, fields: Json = {}): EncodedFrame => ({ name: type, emitted: { type, ...fields } })

function inChat(answer: PlainAnswer): EncodedFrame[] {
  const { input, cached, output, thought } = answer.counts
  const chunk = (delta: Json, finish_reason: string | null = null): EncodedFrame => ({
    emitted: {
      ...{ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' },
      choices: [{ index: 0, delta, finish_reason }],
    },
  })
  let calls = 0
  const delivered = answer.pieces.flatMap((piece) => {
    if (piece.kind === 'thought') return piece.words.map((reasoning_content) => chunk({ reasoning_content }))
    if (piece.kind === 'text') return piece.words.map((content) => chunk({ content }))
    if (piece.kind === 'refusal') return piece.words.map((refusal) => chunk({ refusal }))
    const index = calls++
    const begun = { index, id: `c_${index}`, type: 'function', function: { name: piece.name, arguments: '' } }
    const more = piece.words.map((words) => chunk({ tool_calls: [{ index, function: { arguments: words } }] }))
    return [chunk({ tool_calls: [begun] }), ...more]
  })
  const finish = { stop: hasCalls(answer) ? 'tool_calls' : 'stop', length: 'length', filter: 'content_filter' }[
    answer.end
  ]
  const usage = {
    ...{ prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
    ...{ prompt_tokens_details: { cached_tokens: cached }, completion_tokens_details: { reasoning_tokens: thought } },
  }
  return [
    chunk({ role: 'assistant', content: '' }),
    ...delivered,
    chunk({}, finish),
    { emitted: { id: 'c1', choices: [], usage } },
    { emitted: '[DONE]' },
  ]
}

function inResponses({ pieces, end, counts }: PlainAnswer): EncodedFrame[] {
  const items = pieces.map((piece, index) => itemOf(piece, index))
  const { input, cached, output, thought } = counts
  const usage = {
    ...{ input_tokens: input, output_tokens: output, total_tokens: input + output },
    ...{ input_tokens_details: { cached_tokens: cached }, output_tokens_details: { reasoning_tokens: thought } },
  }
  const status = end === 'stop' ? 'completed' : 'incomplete'
  const reason = { stop: undefined, length: 'max_output_tokens', filter: 'content_filter' }[end]
  const incomplete_details = reason === undefined ? null : { reason }
  const response = { id: 'resp_1', status, output: items.map(({ done }) => done), usage, incomplete_details }
  return [
    named('response.created', { response: { id: 'resp_1', status: 'in_progress', output: [] } }),
    ...items.flatMap(({ added, done, delivered }, output_index) => [
      named('response.output_item.added', { output_index, item: added }),
      ...delivered.map(([type, fields]) => named(type, { item_id: done.id, output_index, ...fields })),
      named('response.output_item.done', { output_index, item: done }),
    ]),
    named(`response.${status}`, { response }),
  ]
}

interface ItemFrames {
  readonly added: Json
  readonly done: Json
  readonly delivered: readonly (readonly [string, Json])[]
}

/** What events and parts are called, and where their words stand. */
const PARTS = {
  text: {
    ...{ outer: 'content_part', inner: 'output_text', field: 'text' },
    part: { type: 'output_text', annotations: [], logprobs: [] },
  },
  refusal: { outer: 'content_part', inner: 'refusal', field: 'refusal', part: { type: 'refusal' } },
  thought: {
    ...{ outer: 'reasoning_summary_part', inner: 'reasoning_summary_text', field: 'text' },
    part: { type: 'summary_text' },
  },
} as const

function itemOf(piece: Piece, index: number): ItemFrames {
  const whole = piece.words.join('')
  if (piece.kind === 'call') {
    const item = { id: `fc_${index}`, type: 'function_call', call_id: `c_${index}`, name: piece.name }
    const stem = 'response.function_call_arguments'
    return {
      added: { ...item, status: 'in_progress', arguments: '' },
      done: { ...item, status: 'completed', arguments: whole },
      delivered: [
        ...piece.words.map((delta) => [`${stem}.delta`, { delta }] as const),
        [`${stem}.done`, { arguments: whole }],
      ],
    }
  }
  const { inner, outer, part, field } = PARTS[piece.kind]
  const isThought = piece.kind === 'thought'
  const place = isThought ? { summary_index: 0 } : { content_index: 0 }
  const logprobs = piece.kind === 'text' ? { logprobs: [] } : {}
  const item = isThought
    ? { id: `rs_${index}`, type: 'reasoning' }
    : { id: `msg_${index}`, type: 'message', role: 'assistant' }
  const list = isThought ? 'summary' : 'content'
  const status = (word: string): Json => (isThought ? {} : { status: word })
  return {
    added: { ...item, ...status('in_progress'), [list]: [] },
    done: { ...item, ...status('completed'), [list]: [{ ...part, [field]: whole }] },
    delivered: [
      [`response.${outer}.added`, { ...place, part: { ...part, [field]: '' } }],
      ...piece.words.map((delta) => [`response.${inner}.delta`, { ...place, delta, ...logprobs }] as const),
      [`response.${inner}.done`, { ...place, [field]: whole, ...logprobs }],
      [`response.${outer}.done`, { ...place, part: { ...part, [field]: whole } }],
    ],
  }
}

function inAnthropic(answer: PlainAnswer): EncodedFrame[] {
  const { input, cached, output, thought } = answer.counts
  const usage = { input_tokens: input - cached, cache_creation_input_tokens: 0, cache_read_input_tokens: cached }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] }
  const stop = { stop: hasCalls(answer) ? 'tool_use' : 'end_turn', length: 'max_tokens', filter: 'refusal' }[answer.end]
  const blocks = answer.pieces.flatMap((piece, index) => [
    named('content_block_start', { index, content_block: blockOf(piece, index) }),
    ...piece.words.map((words) => named('content_block_delta', { index, delta: blockDeltaOf(piece, words) })),
    named('content_block_stop', { index }),
  ])
  return [
    named('message_start', { message: { ...message, usage: { ...usage, output_tokens: 1 } } }),
    named('ping'),
    ...blocks,
    named('message_delta', {
      delta: { stop_reason: stop, stop_sequence: null },
      usage: { output_tokens: output, output_tokens_details: { thinking_tokens: thought } },
    }),
    named('message_stop'),
  ]
}

function blockOf(piece: Piece, index: number): Json {
  if (piece.kind === 'thought') return { type: 'thinking', thinking: '', signature: '' }
  return piece.kind === 'call'
    ? { type: 'tool_use', id: `toolu_${index}`, name: piece.name, input: {} }
    : { type: 'text', text: '' }
}

function blockDeltaOf({ kind }: Piece, words: string): Json {
  if (kind === 'thought') return { type: 'thinking_delta', thinking: words }
  return kind === 'call' ? { type: 'input_json_delta', partial_json: words } : { type: 'text_delta', text: words }
}

function inGemini({ pieces, end, counts }: PlainAnswer): EncodedFrame[] {
  const { input, cached, output, thought } = counts
  const usageMetadata = {
    ...{ promptTokenCount: input, cachedContentTokenCount: cached, thoughtsTokenCount: thought },
    ...{ candidatesTokenCount: output - thought, totalTokenCount: input + output },
  }
  const chunk = (parts: readonly Json[], over: Json = {}): EncodedFrame => ({
    emitted: {
      candidates: [{ content: { role: 'model', parts }, index: 0, ...over }],
      usageMetadata,
      responseId: 'r1',
    },
  })
  const delivered = pieces.flatMap((piece) => {
    if (piece.kind === 'thought') return piece.words.map((text) => chunk([{ text, thought: true }]))
    if (piece.kind !== 'call') return piece.words.map((text) => chunk([{ text }]))
    return [chunk([{ functionCall: { name: piece.name, args: JSON.parse(piece.words.join('') || '{}') } }])]
  })
  return [...delivered, chunk([], { finishReason: { stop: 'STOP', length: 'MAX_TOKENS', filter: 'SAFETY' }[end] })]
}

const WRITERS = { chat: inChat, responses: inResponses, anthropic: inAnthropic, gemini: inGemini } as const

/** The answer as servers stream it that speak this wire. */
export const framesOf = (wire: LaneWire, answer: PlainAnswer): EncodedFrame[] => WRITERS[wire](answer)
