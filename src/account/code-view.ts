import { formatUsd } from '../model/money.ts'
import type { CodeWithAccount } from '../store/codes.ts'
import { isoTime, isoTimeOrNull } from './iso-time.ts'

export type CodeState = 'open' | 'redeemed' | 'expired' | 'withdrawn'

/** A code as the operator sees it: never its text, which is stored nowhere. */
export interface CodeView {
  readonly id: string
  /** What a person recognises it by: its beginning and its end. */
  readonly shown: string
  readonly amount: string
  readonly note: string
  readonly created_at: string
  readonly expires_at: string | null
  readonly state: CodeState
  /** The id of the account. */
  readonly redeemed_by: string | null
  readonly redeemed_at: string | null
}

export const codeView = (code: CodeWithAccount, now: number): CodeView => ({
  id: code.id,
  shown: code.shown,
  amount: formatUsd(code.amount_nano),
  note: code.note,
  created_at: isoTime(code.created_at),
  expires_at: isoTimeOrNull(code.expires_at),
  state: stateOf(code, now),
  redeemed_by: code.redeemer,
  redeemed_at: isoTimeOrNull(code.redeemed_at),
})

/** What has happened to it is said before what time has done. */
function stateOf(code: CodeWithAccount, now: number): CodeState {
  if (code.redeemed_at !== null) return 'redeemed'
  if (code.withdrawn_at !== null) return 'withdrawn'
  return code.expires_at !== null && code.expires_at <= now ? 'expired' : 'open'
}
