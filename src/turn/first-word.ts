import type { AdmittedTurn } from '../ledger/ledger.ts'
import type { Problem } from '../model/problem.ts'
import { ledgerUnavailable } from './refusals.ts'

/** What has to be durable before the first word leaves. */
export interface FirstWord {
  /** Undefined when it may; else why it may not. Never rejects. */
  readonly cleared: Promise<Problem | undefined>
  /** It may leave now. */
  readonly isClear: boolean
}

/** R1: no content before its hold. */
export function awaitFirstWord(hold: Pick<AdmittedTurn, 'durable'>): FirstWord {
  const clearance = async () => {
    if ((await hold.durable) === 'lost') return ledgerUnavailable()
    word.isClear = true
    return undefined
  }
  const word = { cleared: Promise.resolve<Problem | undefined>(undefined), isClear: false }
  word.cleared = clearance()
  return word
}
