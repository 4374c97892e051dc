/** What may be done in a minute, and at once: by a key, an account, or with a model. Absent means no such limit. */
export interface LimitRates {
  readonly requestsPerMinute?: number
  /** How much may be taken at once after a pause; one minute's worth unless said otherwise. */
  readonly requestsBurst?: number
  readonly tokensPerMinute?: number
  readonly tokensBurst?: number
  readonly concurrent?: number
}

export type LimitScope = 'key' | 'account' | 'model' | 'account-model'
export type LimitKind = 'requests' | 'tokens' | 'concurrent'

/** One limit that applies to one turn: where its state is kept, and what the turn takes from it. */
export interface AppliedLimit {
  readonly scope: LimitScope
  readonly kind: LimitKind
  /** Names the state this limit is counted on, e.g. `key:17:tokens`. */
  readonly subject: string
  /** Requests or tokens per minute; for `concurrent`, how many at once. */
  readonly limit: number
  readonly burst: number
  readonly cost: number
}

/** How a limit stands after a decision: what the `x-ratelimit-*` headers say. */
export interface LimitStatus {
  readonly kind: LimitKind
  readonly limit: number
  readonly remaining: number
  readonly resetMs: number
}
