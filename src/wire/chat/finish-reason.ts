import type { FinishReason } from '../../model/event.ts'

/** Why an answer ended, in chat's words. */
export const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
}
