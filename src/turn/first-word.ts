import type { AdmittedTurn } from '../ledger/ledger.ts'
import { type Problem, passingProblem } from '../model/problem.ts'
import type { Keeping } from './keep/keeping.ts'
import { ledgerUnavailable } from './ledger-unavailable.ts'

/** What has to be durable before the first word leaves: R1, and nothing of a response that could not be asked for. */
export class FirstWord {
  /** It may leave now. */
  isClear = false
  readonly #clearance: Promise<Problem | undefined>

  constructor(hold: Pick<AdmittedTurn, 'durable'>, keeping: Pick<Keeping, 'begun'>) {
    this.#clearance = clear(hold, keeping).then((found) => {
      this.isClear = found === undefined
      return found
    })
  }

  /** Resolves when it may, or to why it may not. Never rejects. */
  cleared(): Promise<Problem | undefined> {
    return this.#clearance
  }
}

async function clear(
  hold: Pick<AdmittedTurn, 'durable'>,
  keeping: Pick<Keeping, 'begun'>,
): Promise<Problem | undefined> {
  if ((await hold.durable) === 'lost') return ledgerUnavailable()
  return keeping.begun === undefined || (await keeping.begun) ? undefined : notStored()
}

const notStored = (): Problem =>
  passingProblem(
    'server_is_overloaded',
    'The response cannot be stored at the moment; with "store": false it need not be.',
    { retryAfterSeconds: 2 },
  )
