import type { Allowance } from './allowance.ts'
import type { AccountId, AccountRow, KeyId, KeyRow } from './ids.ts'

/** A wallet key draws on the prepaid balance, a builder key on the subscription's allowance: never on both. */
export type KeyKind = 'wallet' | 'builder'

/** Who is asking, and what they may do: made once from the bearer token, trusted from there on. */
export interface Caller {
  readonly accountId: AccountId
  readonly account: AccountRow
  readonly keyId: KeyId
  readonly key: KeyRow
  readonly keyName: string
  readonly kind: KeyKind
  /** Model ids or globs; undefined means every model of this kind. */
  readonly models: readonly string[] | undefined
  /** What the key itself carries; the configured defaults fill in the rest. */
  readonly limits: LimitRates
  /** What the key itself may spend in a day or a month, whatever it draws on. */
  readonly caps: readonly Allowance[]
  /** What a builder key draws on: the running subscription of its account. */
  readonly plan: CallerPlan | undefined
}

/** It counts until just before `endsAt`. */
export interface CallerPlan {
  readonly id: string
  readonly endsAt: number | undefined
}

/** Clients that get some errors in another form, because of how they were measured to react: `docs/clients/broken-streams.md`. */
export type ClientProgram = 'codex' | 'opencode'

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** Recognised by their headers: `codex_exec`, `codex_cli_rs` and `codex_vscode` are all Codex. */
export function findClientProgram(headers: Headers): ClientProgram | undefined {
  if (/^codex/.test(String(headers.originator ?? ''))) return 'codex'
  return /^opencode\//.test(String(headers['user-agent'] ?? '')) ? 'opencode' : undefined
}

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
