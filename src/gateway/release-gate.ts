import type { AdmittedTurn } from '../ledger/ledger.ts'
import { type Problem, retryableProblem } from '../model/problem.ts'
import type { AnswerKeeper } from './keep-answer.ts'
import { ledgerUnavailable } from './refusals.ts'

/**
 * Keeps content back until the hold is durable, and with it the row of a response that may be fetched by its id (R1). The hold may
 * wait a few milliseconds for the commit of others, because the first content of a provider comes later than that.
 */
export class ReleaseGate {
  isOpen = false
  readonly #hold: Pick<AdmittedTurn, 'durable' | 'hurry'>
  readonly #opened: Promise<Problem | undefined>

  constructor(hold: Pick<AdmittedTurn, 'durable' | 'hurry'>, keeping: AnswerKeeper | undefined) {
    this.#hold = hold
    this.#opened = this.#open(keeping)
  }

  /** Content is waiting: resolves when it may leave, or to the problem that keeps it back. Never rejects. */
  async pass(): Promise<Problem | undefined> {
    if (this.isOpen) return undefined
    this.#hold.hurry()
    return this.#opened
  }

  async #open(keeping: AnswerKeeper | undefined): Promise<Problem | undefined> {
    if ((await this.#hold.durable) !== 'durable') return ledgerUnavailable()
    const begun = keeping?.begun
    if (begun !== undefined && !(await begun)) {
      const what =
        'The response cannot be stored at the moment; to run the request without storing it, set "store": false.'
      return retryableProblem('server_is_overloaded', what, { retryAfterSeconds: 2 })
    }
    this.isOpen = true
    return undefined
  }
}
