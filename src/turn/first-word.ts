import type { AdmittedTurn } from '../ledger/ledger.ts'
import { type Problem, problem } from '../model/problem.ts'
import { ledgerUnavailable } from './refusals.ts'
import type { StoredTurn } from './stored-turn.ts'

/** What has to be durable before the first word leaves. */
export interface FirstWord {
  /** It may leave now. */
  readonly isClear: boolean
  /** Resolves when it may, or to why it may not. Never rejects. */
  cleared(): Promise<Problem | undefined>
  /** R1: no content before its hold, and nothing of a response that could not be asked for. */
  waitFor(hold: Pick<AdmittedTurn, 'durable'>, stored: Pick<StoredTurn, 'begun'> | undefined): void
}

export function createFirstWord(): FirstWord {
  let clearance: Promise<Problem | undefined> | undefined
  const word = {
    isClear: false,
    cleared() {
      if (clearance === undefined) throw new Error('It is not known yet what the first word waits for')
      return clearance
    },
    waitFor(hold: Pick<AdmittedTurn, 'durable'>, stored: Pick<StoredTurn, 'begun'> | undefined) {
      clearance = clear(hold, stored).then((found) => {
        word.isClear = found === undefined
        return found
      })
    },
  }
  return word
}

async function clear(
  hold: Pick<AdmittedTurn, 'durable'>,
  stored: Pick<StoredTurn, 'begun'> | undefined,
): Promise<Problem | undefined> {
  if ((await hold.durable) === 'lost') return ledgerUnavailable()
  return stored === undefined || (await stored.begun) ? undefined : notStored()
}

const notStored = (): Problem =>
  problem(
    'server_is_overloaded',
    'The response cannot be stored at the moment. Nothing was charged; send it with "store": false, or try again in 2s.',
    { retryAfterSeconds: 2 },
  )
