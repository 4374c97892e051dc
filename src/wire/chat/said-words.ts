import { type Fields, isObject } from '../../lib/is-object.ts'
import { stringOf } from '../../lib/string-of.ts'

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
export function bytesOfWords(said: Fields): number {
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
