import { type Fields, isObject } from '../../lib/is-object.ts'

/** What a choice of a stream says: its delta, or the message of a server that sends its whole answer in one chunk. */
export function saidBy({ delta, message }: Fields): Fields {
  if (isObject(delta)) return delta
  return isObject(message) ? message : {}
}

/** Words that a server sends as a list of parts (Mistral's thinking and text), as the two strings that clients read. */
export interface PlainContent {
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

const FINISH_WORDS: Readonly<Record<string, string>> = {
  eos: 'stop',
  end_turn: 'stop',
  model_length: 'length',
  max_tokens: 'length',
}

/** Words for an ending that are no ending of an answer, but a failure of the provider. */
const FAILED_WORDS = new Set(['error', 'abort', 'insufficient_system_resource'])

export const saysFailure = (reason: unknown): boolean => typeof reason === 'string' && FAILED_WORDS.has(reason)

/** What an answer has of tool calls; `cut`: the arguments of one break off. */
export type CallsSoFar = 'none' | 'whole' | 'cut'

/**
 * A finish reason in the words that clients know. An answer with tool calls that stopped has stopped to call them; one whose
 * arguments break off was cut by its cap, although some servers say the same of it (vLLM, in streams).
 */
export function finishWord(reason: unknown, callsSoFar: () => CallsSoFar): string | null {
  if (typeof reason !== 'string' || reason === '') return null
  const word = (Object.hasOwn(FINISH_WORDS, reason) ? FINISH_WORDS[reason] : undefined) ?? reason
  if (word !== 'stop' && word !== 'tool_calls') return word
  const calls = callsSoFar()
  if (calls === 'cut') return 'length'
  return calls === 'whole' ? 'tool_calls' : word
}
