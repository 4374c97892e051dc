import type { Generated } from 'kysely'

export type Role = 'owner' | 'operator'

/** Whoever signs in to the console. An owner has an account, an operator may have one. */
export interface PeopleTable {
  row: Generated<number>
  id: string
  /** Lower case. */
  email: string
  role: Role
  account: number | null
  /** A PHC string: method, parameters, salt and hash. */
  password: string
  created_at: number
  password_changed_at: number
  disabled_at: number | null
}

export interface SessionsTable {
  row: Generated<number>
  /** For lists; it opens nothing. */
  id: string
  /** HMAC-SHA-256 of the secret, which is stored nowhere. */
  digest: Uint8Array
  person: number
  created_at: number
  /** Written at most once a minute. */
  seen_at: number
  expires_at: number
  /** When the password was last given. */
  confirmed_at: number
  agent: string
  address: string
}

export interface InvitesTable {
  row: Generated<number>
  digest: Uint8Array
  role: Role
  account: number | null
  /** Whose password it sets anew; null where it makes somebody. */
  person: number | null
  /** Null for the first person of a server, who chooses. */
  email: string | null
  created_at: number
  expires_at: number
  used_at: number | null
  created_by: string
}

/** What was done, by whom: a chain of hashes, only ever added to. */
export interface AuditTable {
  seq: number
  at: number
  /** An e-mail, `operator` for the command line, or `system`. */
  actor: string
  action: string
  target: string | null
  /** Whose owner may read it. */
  account: number | null
  detail: string
  prev_hash: Uint8Array
  hash: Uint8Array
}
