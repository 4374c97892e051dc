/** Ids that are ours on what we write. */
export interface MintIds {
  completionId(): string
  responseId(): string
  callId(): string
  /** `msg_`, `rs_`, `fc_`, `ctc_`, `cmp_` and random letters. */
  itemId(prefix: 'msg' | 'rs' | 'fc' | 'ctc' | 'cmp'): string
}
