import type { Fields } from '../../lib/is-object.ts'
import type { FinishReason } from '../../model/event.ts'
import type { UpstreamSaid } from '../refusals/provider-error.ts'
import { BROKEN_ARGUMENTS, NAMELESS_CALL, NO_CALLS } from '../tools/call-faults.ts'

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
export const failureInFinish = ({ finish_reason: reason }: Fields): UpstreamSaid | undefined =>
  FAILED_WORDS.has(reason) ? { message: `it ended with "${reason}"`, code: undefined } : undefined

/** The tool calls of an answer. `cut`: the arguments of one break off; `broken`: they are not JSON; `nameless`: a call has no name. */
export type CallsSoFar = 'none' | 'whole' | 'cut' | 'broken' | 'nameless'

/**
 * A finish reason in the words that clients know. An answer with tool calls that stopped has stopped to call them; one whose
 * arguments break off was cut by its cap, although some servers say the same of it (vLLM, in streams).
 */
export function finishWord(reason: unknown, answer: { callsSoFar(): CallsSoFar }): string | null {
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
