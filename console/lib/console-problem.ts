import type { ConsoleError } from '../../src/contract/values.ts'

type Fault = ConsoleError['error']

/** Something that was refused or did not arrive, with all that a person may need to have it put right. */
export class ConsoleProblem extends Error {
  override readonly name = 'ConsoleProblem'
  readonly status: number
  readonly code: string
  /** The field of a form that is to blame. */
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

/** The person closed the question for their password: they know, and need no message. */
export const wasCancelled = (error: unknown): boolean => hasCode(error, 'cancelled')

/** Only what may pass by itself is asked again: a refusal stays one. */
export const mayPass = ({ status }: ConsoleProblem): boolean => status === 0 || status >= 500

/** Any failure as a problem, so that what shows it needs one way only. */
export const asProblem = (error: unknown): ConsoleProblem =>
  error instanceof ConsoleProblem
    ? error
    : new ConsoleProblem(0, { code: 'unexpected', message: error instanceof Error ? error.message : String(error) })

/** A file of the console, loaded when it was needed, was not there. */
export const partLost = (): ConsoleProblem =>
  new ConsoleProblem(0, { code: 'part_lost', message: 'A part of the console could not be loaded.' })
