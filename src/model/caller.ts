import type { Allowance } from './allowance.ts'
import type { AccountId, AccountRow, KeyId, KeyRow } from './ids.ts'
import type { LimitRates } from './limit.ts'

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
