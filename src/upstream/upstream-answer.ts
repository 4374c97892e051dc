import type { DeadlinePhase } from './deadlines.ts'

/** What came of asking a provider. The body is read by whoever asked; `cancel` ends the exchange at any moment. */
export type UpstreamOutcome = UpstreamAnswer | UpstreamFailed

/** No answer: why, and whether the provider may have begun to work on the request. */
export interface UpstreamFailed {
  readonly kind: 'failed'
  readonly reason: UpstreamFailure
  /** For the operator's log: it names the upstream by its id, and holds no address and no credential. */
  readonly message: string
  /** What was waited for when it took too long. */
  readonly expired?: DeadlinePhase
  /** Of the error beneath: the network's, the library's, or one of ours. */
  readonly code?: string
}

/**
 * `not-sent`: nothing of the request left. `broken-off`: it left, and what became of it is not known. `redirected`: the
 * provider points elsewhere, where nobody goes.
 */
export type UpstreamFailure = 'not-sent' | 'broken-off' | 'timeout' | 'cancelled' | 'redirected'

/** Certainly no work was begun, so that asking again can cost nobody anything. */
export const isUntouched = ({ reason, expired }: UpstreamFailed): boolean =>
  reason === 'not-sent' || reason === 'redirected' || expired === 'connect'

export interface UpstreamAnswer {
  readonly kind: 'answer'
  readonly status: number
  /** By lower-case name, as far as anybody needs them. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: UpstreamBody
}

export interface UpstreamBody {
  /**
   * Everything that has arrived since the last call, or the next that arrives; an empty list at the end. One read of the
   * provider's socket is one list, so that it becomes one write to the client's.
   */
  read(): Promise<readonly Buffer[]>
  /** Cuts the connection, so that the provider stops working. */
  cancel(): void
  /** Nothing more is wanted, and the end must be near: it is waited for briefly, so that the connection can serve again. */
  release(): void
}

/** The provider's connection ended before its answer did. */
export class UpstreamBrokenOff extends Error {
  override readonly name = 'UpstreamBrokenOff'
}

/** A time limit of the call was reached. */
export class UpstreamTimedOut extends Error {
  override readonly name = 'UpstreamTimedOut'
  readonly phase: DeadlinePhase

  constructor(phase: DeadlinePhase) {
    super(`The provider was too slow (${phase}).`)
    this.phase = phase
  }
}

/** We ended the call. */
export class UpstreamCancelled extends Error {
  override readonly name = 'UpstreamCancelled'
}

/** The provider pointed elsewhere. */
export class UpstreamRedirected extends Error {
  override readonly name = 'UpstreamRedirected'
}
