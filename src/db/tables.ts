import type { Generated, Kysely, Selectable } from 'kysely'
import type { Unit } from '../model/allowance.ts'
import type { TurnOutcome } from '../model/ending.ts'

/**
 * The ledger's tables. In every database a column whose name ends in `_nano` is money and read as bigint, every other
 * integer is a number, and times are milliseconds UTC.
 */
export interface LedgerTables {
  meta: { name: string; value: string }
  accounts: {
    row: Generated<number>
    id: string
    /** Lower case. */
    email: string
    status: AccountStatus
    created_at: number
    /** Since when its rows do not balance. Nothing moves on it until an operator has looked. */
    frozen_at: number | null
  }
  keys: {
    row: Generated<number>
    id: string
    account: number
    kind: 'wallet' | 'builder'
    name: string
    /** HMAC-SHA-256 of the whole key under the keyring's pepper; the key itself is not stored. */
    digest: Uint8Array
    /** Prefix and last characters. */
    shown: string
    /** JSON array of ids and globs, or null for all. */
    models: string | null
    /** JSON of RateLimits, or null. */
    limits: string | null
    expires_at: number | null
    disabled_at: number | null
    revoked_at: number | null
    created_at: number
    /** Spend caps per day and month of UTC, or null. */
    cap_day_nano: bigint | null
    cap_month_nano: bigint | null
    /** The digest before the last rotation, valid until just before `former_until`. */
    former_digest: Generated<Uint8Array | null>
    former_shown: Generated<string | null>
    former_until: Generated<number | null>
    /** 1: a key of the console's playground, without a secret. */
    playground: Generated<number>
  }
  buckets: {
    row: Generated<number>
    unit: Unit | 'cap'
    /**
     * `system` rows are the other sides of the double entry, of which only `external` has a balance. The rest belong to an
     * account and cannot be overdrawn. `cap` rows are closed: earlier versions kept spend caps as buckets.
     */
    kind: 'wallet' | 'window' | 'cap' | 'system'
    account: number | null
    /** The allowance (`window:5h`), or the name of the system side (`external`, `revenue`). */
    subject: string
    /** A window counts from the start until just before the end. */
    period_start: number | null
    period_end: number | null
    /** When the rest of a period expired; the row never changes after that. */
    closed_at: number | null
    posted_nano: bigint
    held_nano: bigint
  }
  /** One row per turn: inserted by its hold, updated once by its settle or release. The view `usage_entries` has its entries. */
  receipts: {
    row: number
    request_id: string
    account: number
    key: number
    kind: 'wallet' | 'builder'
    state: 'open' | 'settled' | 'released'
    model: string
    price_version: number
    /** JSON array of the bucket rows that the hold is on. */
    buckets: string
    /** Names of the spend caps that it counts against, separated by spaces: `day month`. */
    caps: string | null
    hold_nano: bigint
    output_cap: number
    /** The cap times the number of choices: the most that recovery charges. */
    output_bound: number
    /** The input tokens that recovery charges. */
    input_estimate: number
    /** The part of it that the provider had just seen in the same conversation. */
    cached_estimate: number
    opened_at: number
    closed_at: number | null
    outcome: TurnOutcome | null
    lane: string | null
    uncached_input: number | null
    cached_input: number | null
    cache_write: number | null
    output: number | null
    reasoning: number | null
    estimated: number | null
    /** The `above_input_tokens` of the applied tier; 0 is the base price. */
    tier: number | null
    cost_nano: bigint | null
    charge_nano: bigint | null
    shortfall_nano: bigint | null
    first_byte_ms: number | null
    total_ms: number | null
    /** JSON array, one object per attempt. */
    attempts: string | null
    /** Tokens of a compacted conversation before and after. */
    tokens_before: number | null
    tokens_after: number | null
    /** Numbers all receipts closed and transfers on an account, 1, 2, 3 …; null while it is open. */
    movement: number | null
    /** The wallet's balance after the charge; null while it is open, and where a plan pays. */
    balance_nano: bigint | null
  }
  transfers: {
    row: Generated<number>
    /** `grant` and `expiry` begin and end periods of windows. */
    kind: 'credit' | 'refund' | 'adjustment' | 'grant' | 'expiry'
    unit: Unit | 'cap'
    account: number
    /** The operator's reference of a dollar transfer, unique per kind, so that a repeated credit counts once. */
    ref: string
    reason: string
    amount_nano: bigint
    at: number
    /** In one sequence with the receipts of the account. */
    movement: number | null
    /** The wallet's balance after it; null for allowances. */
    balance_nano: bigint | null
  }
  entries: { transfer: number; seq: number; bucket: number; delta_nano: bigint }
  /** Every price of every model. A receipt names the version that its hold has frozen. */
  prices: {
    model: string
    version: number
    /** Exact JSON: see ledger/prices.ts. */
    terms: string
    since: number
  }
  /** The packed progress of all running streams of a node, replaced each interval. */
  marks: { node: number; at: number; packed: Uint8Array }
  /** Plans of accounts. The newest row of an account counts, until just before `ends_at`. */
  subscriptions: {
    row: number
    account: number
    plan: string
    billing_day: number
    started_at: number
    ends_at: number | null
  }
  /** Idempotency keys. The receipt is that of the request which took the key. */
  claims: {
    receipt: number
    scope: string
    fingerprint: string
    state: 'running' | 'kept' | 'not-kept'
    at: number
    expires_at: number
  }
  /** Spending and holds of a key in the running period of a spend cap. */
  spend_counters: {
    row: Generated<number>
    account: number
    /** e.g. `cap:17:day`. */
    subject: string
    period_start: number
    period_end: number
    /** The receipt with which the period began. */
    first_receipt: number
    /** Spent in this period by a version without counters. */
    carried_nano: bigint
    bound_nano: bigint
    spent_nano: bigint
    held_nano: bigint
  }
  /** Ends of turns whose account does not balance, recorded once it does. */
  waiting_ends: { request_id: string; ending: string }
  /** The rows up to which everything is verified. */
  proved_rows: { what: 'receipt' | 'transfer'; row: number }
  /** The balance of `external` at those rows. */
  proved_balances: { bucket: number; posted_nano: bigint }
  /** The verified sum of a period's charges, up to a movement of the account. Only for periods with many receipts. */
  proved_sums: {
    account: number
    /** The row of the window, or the subject of the spend cap. */
    subject: string
    period_start: number
    movement: number
    used_nano: bigint
    period_end: number
  }
  /** People who sign in to the console. An owner has an account, an operator may have one. */
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
  }
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
  /** Keys of the management API. */
  admin_keys: {
    row: Generated<number>
    id: string
    name: string
    /** HMAC-SHA-256 of the whole key under a key of the keyring; the key itself is not stored. */
    digest: Uint8Array
    /** Prefix and last characters. */
    shown: string
    /** Separated by spaces. */
    scopes: string
    created_at: number
    /** An actor of the audit log. */
    created_by: string
    expires_at: number | null
    revoked_at: number | null
    /** Written at most once a minute. */
    last_used_at: number | null
  }
  /** The audit log: a hash chain that only grows. */
  audit: {
    seq: number
    at: number
    /** An email, `operator` for the command line, or `system`. */
    actor: string
    action: string
    target: string | null
    /** The account whose owner may read it. */
    account: number | null
    detail: string
    prev_hash: Uint8Array
    hash: Uint8Array
  }
  /** Redeemable codes. The text of a code is not stored. */
  codes: {
    row: Generated<number>
    id: string
    /** The codes of one command. */
    batch: string
    /** HMAC-SHA-256 of its letters under a key of the keyring. */
    digest: Uint8Array
    shown: string
    amount_nano: bigint
    note: string
    created_at: number
    created_by: string
    expires_at: number | null
    withdrawn_at: number | null
    /** The account that claimed it, which is final. The credit follows. */
    redeemed_by: number | null
    redeemed_at: number | null
    /** When its credit was known to be durable. */
    credited_at: number | null
  }
  /** Funding requests of owners; an account has at most one open. */
  wishes: {
    row: Generated<number>
    account: number
    amount_nano: bigint
    note: string
    at: number
    /** When the operator credited the account. */
    answered_at: number | null
  }
  /** An operator has set ledger time back: rows up to these have times from before that. */
  clock_corrections: {
    row: Generated<number>
    set_back_from: number
    set_back_to: number
    last_receipt: number
    last_transfer: number
  }
}

export type LedgerDb = Kysely<LedgerTables>

/** A row as it is read. */
export type Row<Table extends keyof LedgerTables> = Selectable<LedgerTables[Table]>

export type ReceiptsTable = Row<'receipts'>
export type PricesTable = Row<'prices'>
export type SpendCountersTable = Row<'spend_counters'>
export type ProvedSumsTable = Row<'proved_sums'>

export type AccountStatus = 'active' | 'suspended' | 'closed'
export type Role = 'owner' | 'operator'
