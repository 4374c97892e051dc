import { stringOf } from '../../lib/text.ts'
import { type Fields, isObject } from '../../lib/types.ts'
import type { FinishReason } from '../../model/event.ts'
import { isError, readError, type UpstreamError } from '../refusals/provider-error.ts'
import type { StreamState } from '../shared/stream-state.ts'
import { parseFrameData } from '../sse/frames.ts'
import { BROKEN_ARGUMENTS, NAMELESS_CALL, NO_CALLS } from '../tools/tool-names.ts'

/** The chunk in a frame of a chat stream; undefined, with what it means noted, where there is none. */
export function parseChunk(state: Pick<StreamState, 'done' | 'invalid' | 'error'>, frame: Buffer): Fields | undefined {
  const chunk = parseFrameData(state, frame)
  if (chunk === undefined) return undefined
  const failed = chunk.error ?? (isObject(chunk.x_groq) ? chunk.x_groq.error : undefined)
  if (!isError(failed)) return chunk
  state.error = readError(failed)
  return undefined
}

/** What a choice of a stream says: its delta, or the message of a server that sends its whole answer in one chunk. */
export function saidBy({ delta, message }: Fields): Fields {
  if (isObject(delta)) return delta
  return isObject(message) ? message : {}
}

/** Words that a server sends as a list of parts (Mistral's thinking and text), as the two strings that clients read. */
interface PlainContent {
  readonly content: string
  readonly reasoning: string
}

export function plainContent(parts: readonly unknown[]): PlainContent {
  let content = ''
  let reasoning = ''
  for (const part of parts) {
    if (!isObject(part)) continue
    if (part.type === 'text' && typeof part.text === 'string') content += part.text
    if (part.type === 'thinking') reasoning += thinkingOf(part.thinking)
  }
  return { content, reasoning }
}

function thinkingOf(thinking: unknown): string {
  if (typeof thinking === 'string') return thinking
  return Array.isArray(thinking) ? plainContent(thinking).content : ''
}

/**
 * How many bytes of words a delta, or a whole message, holds: text, reasoning, refusals and calls in every shape that
 * servers use. It tells content from a head, and is the base of an estimate where a provider reports no usage; a stream
 * and a JSON answer are counted alike.
 */
export function textBytesOf(said: Fields): number {
  return (
    bytesOf(said.content) +
    bytesOf(said.refusal) +
    bytesOfReasoning(said) +
    bytesOfFunction(said.function_call) +
    bytesOfCalls(said.tool_calls)
  )
}

const bytesOf = (value: unknown): number => (typeof value === 'string' ? Buffer.byteLength(value) : 0)

/** Under whichever name; servers that send it under two send the same words twice. */
function bytesOfReasoning({ reasoning_content, reasoning, reasoning_text, reasoning_details }: Fields): number {
  const plain = Math.max(bytesOf(reasoning_content), bytesOf(reasoning), bytesOf(reasoning_text))
  if (plain > 0 || !Array.isArray(reasoning_details)) return plain
  return reasoning_details
    .filter(isObject)
    .reduce((sum, detail) => sum + bytesOf(detail.text) + bytesOf(detail.summary) + bytesOf(detail.data), 0)
}

function bytesOfCalls(calls: unknown): number {
  if (!Array.isArray(calls)) return 0
  return calls
    .filter(isObject)
    .reduce((sum, call) => sum + bytesOfFunction(call.function) + bytesOfFunction(call.custom), 0)
}

function bytesOfFunction(called: unknown): number {
  return isObject(called) ? bytesOf(called.name) + bytesOf(called.arguments) + bytesOf(called.input) : 0
}

/** How many calls begin in a delta, or are in a whole message: the fragments that name a tool. */
export function callsBegun({ function_call, tool_calls }: Fields): number {
  const names = (called: unknown): number => Number(isObject(called) && bytesOf(called.name) > 0)
  const calls = Array.isArray(tool_calls) ? tool_calls.filter(isObject) : []
  return calls.reduce((sum, call) => sum + (names(call.function) || names(call.custom)), names(function_call))
}

/** The reasoning in a message or a delta, under whichever name; servers that send it under two send the same words twice. */
export function reasoningTextOf({ reasoning_content, reasoning, reasoning_text, reasoning_details }: Fields): string {
  const plain = (stringOf(reasoning_content) || stringOf(reasoning) || stringOf(reasoning_text)) ?? ''
  if (plain !== '' || !Array.isArray(reasoning_details)) return plain
  return reasoning_details
    .filter(isObject)
    .map(({ text, summary }) => (stringOf(text) ?? '') + (stringOf(summary) ?? ''))
    .join('')
}

/** Why an answer ended, in chat's words. */
export const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
}

const FINISH_WORDS: Readonly<Record<string, string>> = {
  eos: 'stop',
  end_turn: 'stop',
  function_call: 'tool_calls',
  model_length: 'length',
  max_tokens: 'length',
}

/** Words for an ending that are no ending of an answer, but a failure of the provider. */
const FAILED_WORDS: ReadonlySet<unknown> = new Set(['error', 'abort', 'insufficient_system_resource'])

/** Some servers say in a finish reason that they have failed. */
export const failureInFinish = ({ finish_reason: reason }: Fields): UpstreamError | undefined =>
  FAILED_WORDS.has(reason) ? { message: `it ended with "${reason}"`, code: undefined } : undefined

/** The tool calls of an answer. `cut`: the arguments of one break off; `broken`: they are not JSON; `nameless`: a call has no name. */
export type CallsSoFar = 'none' | 'whole' | 'cut' | 'broken' | 'nameless'

/**
 * A finish reason in the words that clients know. An answer with tool calls that stopped has stopped to call them; one whose
 * arguments break off was cut by its cap, although some servers say the same of it (vLLM, in streams).
 */
export function finishReasonFrom(reason: unknown, answer: { callsSoFar(): CallsSoFar }): string | null {
  if (typeof reason !== 'string' || reason === '') return null
  const word = (Object.hasOwn(FINISH_WORDS, reason) ? FINISH_WORDS[reason] : undefined) ?? reason
  if (word !== 'stop' && word !== 'tool_calls') return word
  const calls = answer.callsSoFar()
  if (calls === 'cut') return 'length'
  return calls === 'whole' ? 'tool_calls' : word
}

/** What is wrong with the calls of an answer that ends with this finish reason; undefined for nothing. */
export function faultInCalls(word: string | null, answer: { callsSoFar(): CallsSoFar }): string | undefined {
  if (word === null) return undefined
  const calls = answer.callsSoFar()
  if (calls === 'broken') return BROKEN_ARGUMENTS
  if (calls === 'nameless') return NAMELESS_CALL
  return calls === 'none' && word === 'tool_calls' ? NO_CALLS : undefined
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
  const said = parts.map(saidBy)
  const texts = said.flatMap(({ content }) => (typeof content === 'string' ? [content] : []))
  const calls = said.flatMap(({ tool_calls: part }) => (Array.isArray(part) ? part : []))
  const ends = parts.flatMap(({ finish_reason: reason }) => (typeof reason === 'string' ? [reason] : []))
  const joined: Fields = {
    ...Object.assign({}, ...said.toReversed()),
    content: texts.length === 0 ? null : texts.join(''),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
  const finish = ends.find((reason) => reason === 'tool_calls') ?? ends[0] ?? null
  return [{ ...first, index: 0, [under]: joined, finish_reason: finish }]
}

export interface ModelRenamer {
  readonly publicModel: string
  renameFor(frame: Buffer, chunk: Fields): InPlaceRename | 'rewrite'
  /** Takes one frame, or several that all have the member as the frame had that this rename is for. */
  apply(rename: InPlaceRename, frames: Buffer): Buffer
}

/** The frame has the right name already, or its name can be replaced in its bytes. Any other frame has to be rewritten. */
export type InPlaceRename = 'none' | 'in-place'

/**
 * Puts the name that the client knows in place of the lane's. Inside JSON strings quotes are escaped, so the quoted
 * member can only be found where it is one; where a server writes it otherwise, or writes it twice, that is not sure.
 */
export function createModelRenamer(laneModel: string, publicModel: string): ModelRenamer {
  const needle = Buffer.from(`"model":${JSON.stringify(laneModel)}`)
  const replacement = Buffer.from(`"model":${JSON.stringify(publicModel)}`)
  const [needleText, replacementText] = [needle.toString('latin1'), replacement.toString('latin1')]
  return {
    publicModel,
    renameFor(frame, chunk) {
      if (chunk.model === publicModel) return 'none'
      const at = frame.indexOf(needle)
      const isSure = at !== -1 && chunk.model === laneModel && frame.indexOf(needle, at + needle.length) === -1
      return isSure ? 'in-place' : 'rewrite'
    },
    apply(rename, frames) {
      if (rename === 'none') return frames
      // Latin-1 has a character for each byte, whatever the bytes mean.
      return Buffer.from(frames.toString('latin1').split(needleText).join(replacementText), 'latin1')
    },
  }
}
