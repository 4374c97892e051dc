import type { FinishReason } from '../../model/event.ts'

/** Why an answer ends, by the server's word for it. */
const STOP_REASONS: ReadonlyMap<unknown, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['pause_turn', 'stop'],
  ['tool_use', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content-filter'],
])

export function finishReasonOf(stopReason: unknown, hasCalls: boolean): FinishReason {
  const reason = STOP_REASONS.get(stopReason) ?? 'stop'
  return reason === 'stop' && hasCalls ? 'tool-calls' : reason
}
