import type { Networks } from '../lib/network.ts'
import type { Allowance } from './allowance.ts'
import type { AccountId, AccountRow, KeyId, KeyRow } from './ids.ts'
import type { RunRule } from './run.ts'
import type { StepDown } from './step-down.ts'

/** A wallet key draws on the prepaid balance, a builder key on the subscription's allowance: never on both. */
export type KeyKind = 'wallet' | 'builder'

/**
 * The caller and its rights: read from the bearer token (`auth/callers.ts`), or made for a person who uses the playground of the console.
 * It is checked again before admission.
 */
export interface Caller {
  readonly accountId: AccountId
  readonly account: AccountRow
  readonly keyId: KeyId
  readonly key: KeyRow
  readonly keyName: string
  readonly kind: KeyKind
  /** Model ids or globs; undefined means every model of this kind. */
  readonly models: readonly string[] | undefined
  /** Limits of the key; configured defaults fill in the rest. */
  readonly limits: RateLimits
  /** Of the key, its person and its team. */
  readonly caps: readonly Allowance[]
  /** The only client addresses that may use the key; undefined means any. */
  readonly networks: Networks | undefined
  /** Whether its requests need a run, or which budget each conversation gets. */
  readonly run: RunRule | undefined
  /** Its cheaper model near a cap; undefined: that of the model which is asked for. */
  readonly stepDown: StepDown | undefined
  /** The running subscription that a builder key draws on. */
  readonly plan: CallerPlan | undefined
  /** The row of the person that the key belongs to. */
  readonly person: number | undefined
  /** Whether the key reads only what keys of its person have requested, as the key of a member does. */
  readonly readsOwnOnly: boolean
  /** The CI job whose token was exchanged for the key. */
  readonly job: CallerJob | undefined
}

/** What a job cannot choose itself. */
export interface CallerJob {
  /** All requests are in this run, or in a run inside it. */
  readonly run: string
  /** Of every receipt, as it stores them. */
  readonly tags: string | null
}

/** Whose requests and responses may be read: those of an account; with a person, only theirs. */
export interface ReadScope {
  readonly account: AccountId
  readonly person?: number | undefined
}

export const readScopeOf = ({ accountId, person, readsOwnOnly }: Caller): ReadScope => ({
  account: accountId,
  person: readsOwnOnly ? person : undefined,
})

/** Counts until just before `endsAt`. */
export interface CallerPlan {
  readonly id: string
  readonly endsAt: number | undefined
}

/** Clients that get some errors in another form, because of their measured reaction: `docs/clients/broken-streams.md`. */
export type ClientProgram = 'codex' | 'opencode'

/** Limits of a key, an account or a model. */
export interface RateLimits {
  readonly requestsPerMinute?: number
  /** By default one minute's worth. */
  readonly requestsBurst?: number
  readonly tokensPerMinute?: number
  readonly tokensBurst?: number
  readonly concurrent?: number
}

export type LimitScope = 'key' | 'account' | 'model' | 'account-model'
export type LimitKind = 'requests' | 'tokens' | 'concurrent'

/** A limit that applies to a turn, with the turn's cost. */
export interface AppliedLimit {
  readonly scope: LimitScope
  readonly kind: LimitKind
  /** The name of its counter, e.g. `key:17:tokens`. */
  readonly subject: string
  /** Requests or tokens per minute; for `concurrent`, how many at once. */
  readonly limit: number
  readonly burst: number
  readonly cost: number
}

/** A limit after a decision, for the `x-ratelimit-*` headers. */
export interface LimitStatus {
  readonly kind: LimitKind
  readonly limit: number
  readonly remaining: number
  readonly resetMs: number
}
