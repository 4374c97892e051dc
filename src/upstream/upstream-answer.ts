/** What came of asking a provider. The body is read by whoever asked; `cancel` ends the exchange at any moment. */
export type UpstreamOutcome =
  | UpstreamAnswer
  /** No answer: why, and whether the provider may have begun to work on the request. */
  | { readonly kind: 'failed'; readonly reason: UpstreamFailure; readonly message: string }

export type UpstreamFailure = 'not-sent' | 'broken-off' | 'timeout' | 'cancelled'

export interface UpstreamAnswer {
  readonly kind: 'answer'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: UpstreamBody
}

export interface UpstreamBody {
  /**
   * Everything that has arrived since the last call, or the next that arrives; an empty list at the end. One read of the
   * provider's socket is one list, so that it becomes one write to the client's.
   */
  read(): Promise<readonly Buffer[]>
  cancel(): void
}

/** The provider's connection ended before its answer did. */
export class UpstreamBrokenOff extends Error {
  override readonly name = 'UpstreamBrokenOff'
}
