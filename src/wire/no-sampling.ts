import type { Sampling } from '../model/conversation.ts'

/** Whatever the provider does by itself. */
export const NO_SAMPLING: Sampling = {
  temperature: undefined,
  topP: undefined,
  presencePenalty: undefined,
  frequencyPenalty: undefined,
  stop: [],
  seed: undefined,
  logitBias: undefined,
  topLogprobs: undefined,
}
