import type { Generated } from 'kysely'

/** People, their sessions and second factors, and how they were invited. */
export interface PeopleTables {
  /** People who sign in to the console. All but operators are members of an account; an operator may be one. */
  people: {
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
  sessions: {
    row: Generated<number>
    /** Public; not the secret. */
    id: string
    /** HMAC-SHA-256 of the secret, which is not stored. */
    digest: Uint8Array
    person: number
    created_at: number
    /** Written at most once a minute. */
    seen_at: number
    expires_at: number
    /** When the password was last confirmed. */
    confirmed_at: number
    agent: string
    address: string
    /** How it signed in: `password`, `code` (password and authenticator app), `recovery_code`, `passkey`, `link`. */
    means: Generated<string>
    /** 1: a second factor of this server was given in it. 2: a provider has asked for one. */
    strong: Generated<number>
  }
  /** The authenticator app of a person. */
  totp_secrets: {
    person: number
    /** The id of the key of the key ring that seals the secret. */
    ring_key: string
    sealed: Uint8Array
    created_at: number
    /** Null until the first right code: it does not count until then. */
    confirmed_at: number | null
    /** The time step of the last accepted code: a code works once. */
    last_step: number
    /** When all tries of codes are earned back, on all nodes together. */
    tries_until: number
  }
  /** Codes that stand for a lost factor, each used once. */
  recovery_codes: { person: number; digest: string; used_at: number | null }
  passkeys: {
    row: Generated<number>
    id: string
    person: number
    name: string
    /** The id that the authenticator gave it. */
    credential: Uint8Array
    /** COSE. */
    public_key: Uint8Array
    /** Of the authenticator; 0 where it does not count. */
    counter: number
    /** Separated by spaces. */
    transports: string
    created_at: number
    last_used_at: number | null
  }
  /** Challenges that a passkey has answered, kept until they expire. */
  used_challenges: { digest: string; expires_at: number }
  invites: {
    row: Generated<number>
    digest: Uint8Array
    role: Role
    account: number | null
    /** The person whose password it resets; null where it creates a person. */
    person: number | null
    /** Null for the first person of a server, who chooses it. */
    email: string | null
    created_at: number
    expires_at: number
    used_at: number | null
    created_by: string
  }
}

/** Of a member in an account: an admin does all but what money and owners are about, a member has keys of their own, a viewer looks on. */
export type MemberRole = 'owner' | 'admin' | 'member' | 'viewer'
export type Role = MemberRole | 'operator'
