import { type RandomBytes, randomId } from '../lib/random-id.ts'

/** Ids that are ours on what we write. */
export interface MintIds {
  completionId(): string
  responseId(): string
  callId(): string
  /** `msg_`, `rs_`, `fc_`, `ctc_`, `cmp_` and random letters. */
  itemId(prefix: 'msg' | 'rs' | 'fc' | 'ctc' | 'cmp'): string
}

export const mintIdsOf = (random: RandomBytes): MintIds => ({
  completionId: () => randomId('chatcmpl-', random),
  responseId: () => randomId('resp_', random),
  callId: () => randomId('call_', random),
  itemId: (prefix) => randomId(`${prefix}_`, random),
})
