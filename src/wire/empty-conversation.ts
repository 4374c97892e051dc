import type { Conversation } from '../model/conversation.ts'
import { NO_SAMPLING } from './no-sampling.ts'

/** Nothing is said and nothing is asked for. */
export const EMPTY_CONVERSATION: Conversation = {
  instructions: undefined,
  items: [],
  tools: [],
  toolChoice: undefined,
  parallelToolCalls: undefined,
  format: undefined,
  verbosity: undefined,
  reasoning: { summary: undefined },
  sampling: NO_SAMPLING,
  identity: { user: undefined, safetyIdentifier: undefined, promptCacheKey: undefined },
}
