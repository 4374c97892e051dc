import { type RandomBytes, randomId } from '../lib/random-id.ts'
import type { MintIds } from '../wire/mint-ids.ts'

export const mintIdsOf = (random: RandomBytes): MintIds => ({
  completionId: () => randomId('chatcmpl-', random),
  responseId: () => randomId('resp_', random),
  callId: () => randomId('call_', random),
  itemId: (prefix) => randomId(`${prefix}_`, random),
})
