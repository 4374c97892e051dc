import type { FinishReason } from '../../model/event.ts'
import type { UpstreamSaid } from '../refusals/provider-error.ts'

/** The model wrote a call that its own server could not parse. */
const MALFORMED_CALL = 'MALFORMED_FUNCTION_CALL'

/** The model has failed, not finished: asked again, or asked of another, the same may go well. */
const FAILURES: ReadonlySet<unknown> = new Set([
  ...[MALFORMED_CALL, 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS'],
  ...['MALFORMED_RESPONSE', 'MISSING_THOUGHT_SIGNATURE'],
])

/** A continuation is what a long answer breaks off for: nobody asks for the rest of it here. */
const LENGTHS: ReadonlySet<string> = new Set(['MAX_TOKENS', 'CONTINUATION'])

const FILTERED = /^(?:SAFETY|RECITATION|BLOCKLIST|PROHIBITED_CONTENT|SPII|IMAGE_.*)$/

/** Why an answer ends. A word that nobody knows ends it as well as any. */
export function finishReasonOf(word: string, hasCalls: boolean): FinishReason {
  if (LENGTHS.has(word)) return 'length'
  if (FILTERED.test(word)) return 'content-filter'
  // STOP, also where the model waits for the results of its calls.
  return hasCalls ? 'tool-calls' : 'stop'
}

export const failureInFinish = (word: unknown): UpstreamSaid | undefined =>
  FAILURES.has(word)
    ? { message: `it ended with "${word}"`, code: undefined, ...(word === MALFORMED_CALL ? { slipped: true } : {}) }
    : undefined
