import type { ConsoleError } from '../../src/contract/values.ts'

type Fault = ConsoleError['error']

/** A refusal or a failed request. */
export class ConsoleProblem extends Error {
  override readonly name = 'ConsoleProblem'
  readonly status: number
  readonly code: string
  /** The form field that caused it. */
  readonly param: string | null
  readonly requestId: string | null
  readonly retryAfter: number | null

  constructor(status: number, fault: Pick<Fault, 'code' | 'message'> & Partial<Fault>) {
    super(fault.message)
    this.status = status
    this.code = fault.code
    this.param = fault.param ?? null
    this.requestId = fault.request_id ?? null
    this.retryAfter = fault.retry_after ?? null
  }
}

export const hasCode = (error: unknown, code: string): error is ConsoleProblem =>
  error instanceof ConsoleProblem && error.code === code

/** True if the user closed the password dialog. No message is needed. */
export const wasCancelled = (error: unknown): boolean => hasCode(error, 'cancelled')

/** Only temporary failures are retried. A refusal is final. */
export const mayPass = ({ status }: ConsoleProblem): boolean => status === 0 || status >= 500

export const asProblem = (error: unknown): ConsoleProblem =>
  error instanceof ConsoleProblem
    ? error
    : new ConsoleProblem(0, { code: 'unexpected', message: error instanceof Error ? error.message : String(error) })

/** A sentence of the page itself. No code has it, so it is shown as it is. */
export const saidProblem = (message: string): ConsoleProblem => new ConsoleProblem(0, { code: 'said', message })

/** A lazily loaded file of the console is missing. */
export const partLost = (): ConsoleProblem =>
  new ConsoleProblem(0, { code: 'part_lost', message: 'A part of the console could not be loaded.' })
