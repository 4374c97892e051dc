import type { Fields } from '../../lib/is-object.ts'
import type { FinishReason } from '../../model/event.ts'
import type { UpstreamSaid } from '../refusals/provider-error.ts'

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
  model_length: 'length',
  max_tokens: 'length',
}

/** Words for an ending that are no ending of an answer, but a failure of the provider. */
const FAILED_WORDS: ReadonlySet<unknown> = new Set(['error', 'abort', 'insufficient_system_resource'])

/** Some servers say in a finish reason that they have failed. */
export const failureInFinish = ({ finish_reason: reason }: Fields): UpstreamSaid | undefined =>
  FAILED_WORDS.has(reason) ? { message: `it ended with "${reason}"`, code: undefined } : undefined

/** What an answer has of tool calls; `cut`: the arguments of one break off. */
export type CallsSoFar = 'none' | 'whole' | 'cut'

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
