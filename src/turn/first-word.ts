import type { AdmittedTurn } from '../ledger/ledger.ts'
import { type Problem, problem } from '../model/problem.ts'
import { ledgerUnavailable } from './refusals.ts'
import type { StoredTurn } from './stored-turn.ts'

/** What has to be durable before the first word leaves. */
export interface FirstWord {
  /** Undefined when it may; else why it may not. Never rejects. */
  readonly cleared: Promise<Problem | undefined>
  /** It may leave now. */
  readonly isClear: boolean
}

/** R1: no content before its hold, and nothing of a response that could not be asked for. */
export function awaitFirstWord(hold: Pick<AdmittedTurn, 'durable'>, stored?: Pick<StoredTurn, 'begun'>): FirstWord {
  const clearance = async () => {
    if ((await hold.durable) === 'lost') return ledgerUnavailable()
    if (stored && !(await stored.begun)) return notStored()
    word.isClear = true
    return undefined
  }
  const word = { cleared: Promise.resolve<Problem | undefined>(undefined), isClear: false }
  word.cleared = clearance()
  return word
}

const notStored = (): Problem =>
  problem(
    'server_is_overloaded',
    'The response cannot be stored at the moment. Nothing was charged; send it with "store": false, or try again in 2s.',
    { retryAfterSeconds: 2 },
  )
