import type { Generated, Kysely, Selectable } from 'kysely'
import type { ManagedKind } from '../contract/managed.ts'
import type { Language, NoticeEvent } from '../contract/notices.ts'
import type { Unit } from '../model/allowance.ts'
import type { TurnOutcome } from '../model/ending.ts'
import type { PeopleTables } from './people-tables.ts'

/**
 * The ledger's tables. In every database a column whose name ends in `_nano` is money and read as bigint, every other
 * integer is a number, and times are milliseconds UTC.
 */
export interface LedgerTables extends PeopleTables {
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
    /** 1: its people have to give a second factor. */
    second_factor: Generated<number>
    /** How many changes its directory has made. */
    scim_version: Generated<number>
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
    /** Whose key it is, for life; null where it is the account's own. */
    person: Generated<number | null>
    team: Generated<number | null>
    /** JSON array of the client addresses and networks that may use it, or null for any. */
    addresses: Generated<string | null>
    /** JSON of RunRule, or null: a request needs no run. */
    run: Generated<string | null>
    /** JSON of StepDown, or null: its models decide. */
    step_down: Generated<string | null>
  }
  /** Teams of an account, each with a budget inside its wallet or plan. */
  teams: {
    row: Generated<number>
    id: string
    account: number
    /** Unique among those that are not archived. */
    name: string
    created_at: number
    archived_at: number | null
  }
  /** Budgets that clients give to runs of agents: see `model/run.ts`. A row never changes. */
  runs: {
    row: Generated<number>
    account: number
    /** Unique in its account. */
    id: string
    /** The run around it. */
    parent: number | null
    max_nano: bigint | null
    max_requests: number | null
    max_tokens: number | null
    opened_at: number
    ends_at: number
    /** The row of the person whose key began it. */
    person: Generated<number | null>
    /** Of a CI job: the key that its requests count for. */
    key: Generated<number | null>
    /** Of a CI job: the tags of its requests, as receipts store them. */
    tags: Generated<string | null>
  }
  /** Caps of people and teams, of new keys, and those of keys that have no column. */
  spend_caps: {
    account: number
    /** `person:12`, `team:3`, `key:17`, or `new-keys`. */
    holder: string
    name: string
    /** Of a cap on requests or tokens, their number. */
    amount_nano: bigint
  }
  /** A higher amount of a cap until an end. */
  cap_raises: { account: number; subject: string; amount_nano: bigint; until: number }
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
    /** Marks of the caps that it counts against, separated by spaces: `day month team:3:month`. */
    caps: string | null
    hold_nano: bigint
    output_cap: number
    /** The cap times the number of choices: the most that recovery charges. */
    output_bound: number
    /** The input tokens that recovery charges. */
    input_estimate: number
    /** The part of it that the provider had just seen in the same conversation. */
    cached_estimate: number
    /** JSON array of its tags, `["branch:main","repo:millrace"]`, in the order of their names. */
    tags: string | null
    /** What its client asked for that changes the price, as JSON: `{"service_tier":"priority"}`. */
    asked: string | null
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
  /** The tags of closed requests, by which lists are filtered. Triggers of `receipts` write them. */
  receipt_tags: { account: number; tag: string; movement: number }
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
  /** Spending and holds of a key, a person or a team in the running period of a cap; of one on requests or tokens, their number. */
  spend_counters: {
    row: Generated<number>
    account: number
    /** e.g. `cap:17:day`, `cap:team:3:month`. */
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
    /** The account whose people a key of SCIM manages; null for all other keys. */
    account: number | null
  }
  /** How a person is known to an issuer of single sign-on. */
  identities: { row: Generated<number>; person: number; issuer: string; subject: string; created_at: number }
  /** States of sign-ins that have come back, by digest: each counts once, on all nodes. */
  sign_on_uses: { digest: Uint8Array; expires_at: number }
  /** What SCIM keeps of a person beside the person. */
  scim_users: {
    person: number
    account: number
    external_id: string | null
    given_name: string | null
    family_name: string | null
    display_name: string | null
    /** Until SCIM creates them again, it does not show them. */
    deleted_at: number | null
    /** When SCIM has disabled the person. An operator or an admin who disables them does so at another time. */
    deactivated_at: number | null
  }
  /** Groups of an account at its directory. */
  scim_groups: {
    row: Generated<number>
    id: string
    account: number
    name: string
    external_id: string | null
    /** The team of this name; null for a group that gives a role. */
    team: number | null
    created_at: number
  }
  scim_members: { of_group: number; person: number }
  /** Requests of the management API with an idempotency key. content.db keeps their answers under the request id. */
  admin_calls: {
    /** HMAC of admin key, method, path and idempotency key. */
    scope: string
    /** HMAC of the body. */
    fingerprint: string
    request_id: string
    /** 1: the row was written together with the change itself. 0: before an order to the ledger, or after a request without a change. */
    acted: number
    at: number
    expires_at: number
  }
  /** What operators manage beside the configuration file. Rows are only added: the newest of a name counts. */
  managed_entries: {
    /** Counts from 1 without a gap. The newest is the revision of them all. */
    row: number
    kind: ManagedKind | 'price'
    name: string
    /** JSON, as in the file, without secrets; null: retired, or a price that was called off. */
    entry: string | null
    /** The key of the ring that sealed the secrets of an upstream. */
    ring_key: string | null
    sealed: Uint8Array | null
    /** Later than `created_at` for an announced price. */
    effective_from: number
    created_at: number
    /** An actor of the audit log. */
    created_by: string
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
  /** Payments by card, and what has become of them at the provider. */
  payments: {
    row: Generated<number>
    id: string
    account: number
    /** `top_up`: by the owner, `automatic`: a saved card, `plan`: a paid period. Plans move nothing on the wallet. */
    kind: PaymentKind
    state: 'open' | 'failed' | 'expired' | 'paid'
    /** What was ordered; 0 of a plan, whose price the provider keeps. */
    amount_nano: bigint
    /** What the provider has received; null before that. */
    received_nano: bigint | null
    refunded_nano: Generated<bigint>
    /** Of a dispute that is not won. */
    disputed_nano: Generated<bigint>
    dispute: 'open' | 'won' | 'lost' | null
    dispute_at: Generated<number>
    /** What was refunded or disputed and the wallet did not have any more. */
    owed_nano: Generated<bigint>
    plan: string | null
    /** The provider's ids. */
    session: string | null
    intent: string | null
    invoice: string | null
    receipt_url: string | null
    failure: string | null
    created_at: number
    paid_at: number | null
    /** 1: its card is saved when it is paid. */
    saves_card: Generated<number>
    /** 0: the wallet or the plan is not yet what the payment has come to. */
    settled: Generated<number>
    /** Counts its changes. */
    version: Generated<number>
    /** Of an invoice: the row in `plan_purchases`, and the end of the period that is paid. */
    purchase: number | null
    period_end: number | null
  }
  /** Movements of payments on wallets, in order. The reference in the ledger follows from payment and step. */
  payment_steps: { payment: number; step: number; delta_nano: bigint; at: number; done_at: number | null }
  /** Events of the provider that have taken effect. */
  payment_events: { id: string; type: string; at: number }
  /** Accounts as customers of the provider, with the saved card and the automatic top-up. */
  payers: {
    account: number
    customer: string | null
    method: string | null
    /** `visa 4242` */
    card: string | null
    automatic: number
    below_nano: bigint
    add_nano: bigint
    /** The most in a calendar month of UTC. */
    month_nano: bigint
    /** In a row. */
    failures: number
    failure: string | null
    failed_at: number | null
    /** Not before. */
    next_at: number
    version: Generated<number>
  }
  /** Plans that are paid by card. */
  plan_purchases: {
    row: Generated<number>
    subscription: string
    account: number
    plan: string
    status: string | null
    /** 1: it does not renew. */
    cancels: number
    status_at: number
    /** The end of the last period that is paid and was not given back. */
    paid_until: number
    /** The end with which the plan was assigned. */
    assigned_until: number
    created_at: number
    version: Generated<number>
  }
  /** What the people of an account, or operators, are told. */
  notices: {
    row: Generated<number>
    id: string
    /** What it is about, with its period and threshold: each is told once. */
    once: string
    event: NoticeEvent
    /** Null: for operators. */
    account: number | null
    /** The person whose key or cap it is about, who sees it too. */
    person: number | null
    /** JSON of NoticeFacts. */
    facts: string
    at: number
  }
  notice_reads: { person: number; notice: number }
  notice_settings: { account: number; low_balance_nano: bigint | null }
  /** People without a row get mail, in English. */
  notice_preferences: { person: number; mail: number; language: Language }
  /** Where notices are sent. */
  webhooks: {
    row: Generated<number>
    id: string
    /** Null: of operators. */
    account: number | null
    url: string
    /** Separated by spaces. */
    events: string
    /** The id of the key of the key ring that seals the secret. */
    ring_key: string
    secret: Uint8Array
    /** The secret before the last rotation, with which deliveries are signed as well until just before `former_until`. */
    former_ring_key: string | null
    former_secret: Uint8Array | null
    former_until: number | null
    created_at: number
    created_by: string
    failing_since: number | null
    state: 'on' | 'off' | 'failed'
  }
  /** The outbox: each row is one mail or one message to a webhook. */
  notice_deliveries: {
    row: Generated<number>
    id: string
    event: NoticeEvent | 'test' | 'invitation'
    notice: number | null
    webhook: number | null
    /** The address of a mail. */
    recipient: string | null
    /** The account that a mail is about; null for one of the server. */
    mail_account: number | null
    language: Language | null
    /** What is sent where it is not the notice: a link that only the recipient may read. Deleted once it is sent. */
    ring_key: string | null
    sealed: Uint8Array | null
    state: 'waiting' | 'sent' | 'failed'
    attempts: number
    /** When it is sent next. A node that sends it first moves this on, so that no other does at the same time. */
    next_at: number
    /** The HTTP status of the last attempt. */
    status: number | null
    error: string | null
    created_at: number
    ended_at: number | null
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

export type PaymentKind = 'top_up' | 'automatic' | 'plan'
export type AccountStatus = 'active' | 'suspended' | 'closed'
