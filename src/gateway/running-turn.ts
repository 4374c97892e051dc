import type { AdmittedTurn } from '../ledger/ledger.ts'
import { type Problem, passingProblem } from '../model/problem.ts'
import type { Cancellation } from './cancellation.ts'
import type { Keeping } from './keep-answer.ts'
import { ledgerUnavailable } from './refusals.ts'
import type { Turn, TurnEncoder } from './turn.ts'

/** A turn that runs: its money is held, and everything is open that closes with it. */
export interface RunningTurn extends Turn {
  readonly hold: AdmittedTurn
  readonly encoder: TurnEncoder
  readonly releaseGate: ReleaseGate
  readonly keeping: Keeping
  readonly cancellation: Cancellation
}

/** What has to be durable before the first word leaves: R1, and nothing of a response that could not be asked for. */
export class ReleaseGate {
  /** It may leave now. */
  isOpen = false
  readonly #clearance: Promise<Problem | undefined>

  constructor(hold: Pick<AdmittedTurn, 'durable'>, keeping: Pick<Keeping, 'begun'>) {
    this.#clearance = clear(hold, keeping).then((found) => {
      this.isOpen = found === undefined
      return found
    })
  }

  /** Resolves when it may, or to why it may not. Never rejects. */
  opened(): Promise<Problem | undefined> {
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
