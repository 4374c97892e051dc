import { stringOf } from '../../lib/text.ts'
import { type Fields, isObject } from '../../lib/types.ts'
import type { FinishReason } from '../../model/event.ts'
import { isError, readBareError, readError, type UpstreamError } from '../refusals/provider-error.ts'
import type { StreamState } from '../shared/stream-state.ts'
import { nameOfFrame, parseFrameData } from '../sse/frames.ts'
import { BROKEN_ARGUMENTS, NAMELESS_CALL, NO_CALLS } from '../tools/tool-names.ts'

/** The chunk in a frame of a chat stream; undefined, with what it means noted in `state`, where there is none. */
export function parseChunk(state: Pick<StreamState, 'done' | 'invalid' | 'error'>, frame: Buffer): Fields | undefined {
  const chunk = parseFrameData(state, frame)
  if (chunk === undefined) return undefined
  const failed = chunk.error ?? (isObject(chunk.x_groq) ? chunk.x_groq.error : undefined)
  if (isError(failed)) state.error = readError(failed)
  else if (!hasChoices(chunk)) {
    // The name alone is no error: some servers name all their frames wrongly.
    const isNamed = typeof chunk.message === 'string' && nameOfFrame(frame) === 'error'
    state.error = isNamed ? readError(chunk) : readBareError(chunk)
  }
  return state.error === undefined ? chunk : undefined
}

export const hasChoices = ({ choices }: Fields): boolean => Array.isArray(choices) && choices.some(isObject)

/**
 * The delta of a choice, or the message of a server that sends its whole answer in one chunk. Behind content a message repeats the
 * answer: MiniMax ends a stream with it.
 */
export function deltaOf({ delta, message }: Fields, { isBehindContent = false } = {}): Fields {
  if (isObject(delta)) return delta
  return isObject(message) && !isBehindContent ? message : {}
}

/** Content that a server sends as a list of parts (Mistral's thinking and text), as the two strings that clients read. */
export function plainContent(parts: readonly unknown[]): { readonly content: string; readonly reasoning: string } {
  let content = ''
  let reasoning = ''
  for (const part of parts) {
    if (!isObject(part)) continue
    const { type, text, thinking } = part
    if (type === 'text' && typeof text === 'string') content += text
    if (type !== 'thinking') continue
    if (typeof thinking === 'string') reasoning += thinking
    else if (Array.isArray(thinking)) reasoning += plainContent(thinking).content
  }
  return { content, reasoning }
}

/**
 * Bytes of text, reasoning, refusals and calls in a delta or a whole message, in every shape that servers use. The count tells
 * content from a head, and is the base of an estimate where a provider reports no usage.
 */
export function textBytesOf(message: Fields): number {
  const { content, refusal, function_call, tool_calls } = message
  const { reasoning_content, reasoning, reasoning_text, reasoning_details } = message
  // Servers that send reasoning under two names send the same text twice.
  let bytes = Math.max(bytesOf(reasoning_content), bytesOf(reasoning), bytesOf(reasoning_text))
  if (bytes === 0 && Array.isArray(reasoning_details)) {
    for (const detail of reasoning_details) {
      if (isObject(detail)) bytes += bytesOf(detail.text) + bytesOf(detail.summary) + bytesOf(detail.data)
    }
  }
  bytes += bytesOf(content) + bytesOf(refusal)
  if (isObject(function_call)) bytes += bytesOfFunction(function_call)
  if (!Array.isArray(tool_calls)) return bytes
  for (const call of tool_calls) {
    if (isObject(call)) bytes += bytesOfFunction(call.function) + bytesOfFunction(call.custom)
  }
  return bytes
}

/** A delta with something for the client to show. */
export const hasContent = (delta: Fields): boolean =>
  textBytesOf(delta) > 0 || callsBegun(delta) > 0 || (Array.isArray(delta.content) && delta.content.length > 0)

const bytesOf = (value: unknown): number => (typeof value === 'string' ? Buffer.byteLength(value) : 0)

const bytesOfFunction = (called: unknown): number =>
  isObject(called) ? bytesOf(called.name) + bytesOf(called.arguments) + bytesOf(called.input) : 0

/** How many calls begin in a delta, or are in a whole message: the fragments that name a tool. */
export function callsBegun({ function_call, tool_calls }: Fields): number {
  let begun = hasName(function_call) ? 1 : 0
  if (!Array.isArray(tool_calls)) return begun
  for (const call of tool_calls) if (isObject(call) && (hasName(call.function) || hasName(call.custom))) begun += 1
  return begun
}

const hasName = (called: unknown): boolean => isObject(called) && typeof called.name === 'string' && called.name !== ''

export function reasoningTextOf({ reasoning_content, reasoning, reasoning_text, reasoning_details }: Fields): string {
  const plain = (stringOf(reasoning_content) || stringOf(reasoning) || stringOf(reasoning_text)) ?? ''
  if (plain !== '' || !Array.isArray(reasoning_details)) return plain
  return reasoning_details
    .filter(isObject)
    .map(({ text, summary }) => (stringOf(text) ?? '') + (stringOf(summary) ?? ''))
    .join('')
}

export const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
}

/** The words of servers in lower case, as clients know them. Any other word is a stop. */
const FINISH_WORDS: ReadonlyMap<string, string> = new Map([
  ...Object.values(FINISH_REASONS).map((word) => [word, word] as const),
  ['function_call', 'tool_calls'],
  ['tool_use', 'tool_calls'],
  ['model_length', 'length'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['sensitive', 'content_filter'],
])

const FAILED_FINISHES: ReadonlySet<string> = new Set([
  'error',
  'abort',
  'insufficient_system_resource',
  'network_error',
])

/** The failure in a choice: some servers report one as a finish reason, and OpenRouter has its error beside that. */
export function failureIn({ error, finish_reason: reason }: Fields): UpstreamError | undefined {
  if (isError(error)) return readError(error)
  return typeof reason === 'string' && FAILED_FINISHES.has(reason.toLowerCase())
    ? { message: `it ended with "${reason}"`, code: undefined }
    : undefined
}

/** The tool calls of an answer. `truncated`: the arguments of one break off; `broken`: they are not JSON; `nameless`: a call has no name. */
export type CallsSoFar = 'none' | 'whole' | 'truncated' | 'broken' | 'nameless'

interface Calls {
  callsSoFar(): CallsSoFar
}

/**
 * A finish reason that clients know. `stop` with tool calls becomes `tool_calls`. One whose arguments
 * break off was truncated by its cap, although some servers report `tool_calls` (vLLM, in streams).
 */
export function finishReasonFrom(reason: unknown, answer: Calls | undefined): string | null {
  if (typeof reason !== 'string' || reason === '') return null
  const known = FINISH_WORDS.get(reason.toLowerCase()) ?? 'stop'
  if (known !== 'stop' && known !== 'tool_calls') return known
  const calls = answer?.callsSoFar() ?? 'none'
  if (calls === 'truncated') return 'length'
  return calls === 'whole' ? 'tool_calls' : known
}

/** What is wrong with the calls of an answer that ends with this finish reason; undefined for nothing. */
export function faultInCalls(finish: string | null, answer: Calls | undefined): string | undefined {
  if (finish === null) return undefined
  const calls = answer?.callsSoFar() ?? 'none'
  if (calls === 'broken') return BROKEN_ARGUMENTS
  if (calls === 'nameless') return NAMELESS_CALL
  return calls === 'none' && finish === 'tool_calls' ? NO_CALLS : undefined
}

/**
 * Joins an answer that a server splits into several choices. Copilot puts Claude's text into the first choice and its tool calls
 * into the second, and both end with `tool_calls`: nanobot issue 1555.
 */
export function joinChoices(choices: readonly unknown[], under: 'delta' | 'message'): readonly unknown[] {
  const parts = choices.filter(isObject)
  const [first, ...others] = parts
  if (first === undefined) return choices
  if (others.length === 0) return first.index === 0 ? choices : [{ ...first, index: 0 }]
  const deltas = parts.map((part) => deltaOf(part))
  const texts = deltas.flatMap(({ content }) => stringOf(content) ?? [])
  const calls = deltas.flatMap(({ tool_calls: part }) => (Array.isArray(part) ? part : []))
  const ends = parts.flatMap(({ finish_reason: reason }) => stringOf(reason) ?? [])
  const joined: Fields = {
    ...Object.assign({}, ...deltas.toReversed()),
    content: texts.length === 0 ? null : texts.join(''),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  const finish = ends.find((reason) => reason === 'tool_calls') ?? ends[0] ?? null
  return [{ ...first, index: 0, [under]: joined, finish_reason: finish }]
}
