import type { Generated, Kysely } from 'kysely'
import type { Unit } from '../model/allowance.ts'
import type { TurnOutcome } from '../model/ending.ts'

/**
 * The ledger's rows as they lie in the file. Two conventions hold in every database: a column whose name ends in `_nano`
 * is money and read as bigint, every other integer is a number; times are milliseconds UTC.
 */
export interface LedgerTables {
  meta: MetaTable
  accounts: AccountsTable
  keys: KeysTable
  buckets: BucketsTable
  receipts: ReceiptsTable
  transfers: TransfersTable
  entries: EntriesTable
  prices: PricesTable
  marks: MarksTable
  subscriptions: SubscriptionsTable
  claims: ClaimsTable
  spend_counters: SpendCountersTable
  waiting_ends: WaitingEndsTable
  proved_rows: ProvedRowsTable
  proved_balances: ProvedBalancesTable
  proved_sums: ProvedSumsTable
  people: PeopleTable
  sessions: SessionsTable
  invites: InvitesTable
  audit: AuditTable
  codes: CodesTable
  wishes: FundingRequestsTable
  clock_corrections: ClockCorrectionsTable
}

/** What every question is asked of. */
export type LedgerDb = Kysely<LedgerTables>

interface MetaTable {
  name: string
  value: string
}

export type AccountStatus = 'active' | 'suspended' | 'closed'

export interface AccountsTable {
  row: Generated<number>
  id: string
  /** Lower case. */
  email: string
  status: AccountStatus
  created_at: number
  /** Since when its rows have not added up; nothing moves on it until somebody has looked. */
  frozen_at: number | null
}

export interface KeysTable {
  row: Generated<number>
  id: string
  account: number
  kind: 'wallet' | 'builder'
  name: string
  /** HMAC-SHA-256 of the whole key under the ring's pepper; the key itself is stored nowhere. */
  digest: Uint8Array
  /** What a person recognises the key by: prefix and last characters. */
  shown: string
  /** JSON array of ids and globs, or null for all. */
  models: string | null
  /** JSON of LimitRates, or null. */
  limits: string | null
  expires_at: number | null
  disabled_at: number | null
  revoked_at: number | null
  created_at: number
  /** What this key may spend in a day or a month of UTC, or null for no such cap. */
  cap_day_nano: bigint | null
  cap_month_nano: bigint | null
  /** What was its digest before it was rotated last: counts until just before `former_until`. */
  former_digest: Generated<Uint8Array | null>
  former_shown: Generated<string | null>
  former_until: Generated<number | null>
  /** 1: of the console's playground. Nobody has a secret for it. */
  playground: Generated<number>
}

export interface BucketsTable {
  row: Generated<number>
  unit: Unit | 'cap'
  /**
   * `system` ones are the other sides, of which only `external` has a balance; the rest belong to an account and can never be
   * overdrawn. `cap` ones are closed: spend caps were buckets once.
   */
  kind: 'wallet' | 'window' | 'cap' | 'system'
  account: number | null
  /** Which of its kind: the allowance (`window:5h`), or the system side's name (`external`, `revenue`). */
  subject: string
  /** From when until before when a window counts. */
  period_start: number | null
  period_end: number | null
  /** When what was left of a period expired; from then on the row never changes. */
  closed_at: number | null
  posted_nano: bigint
  held_nano: bigint
}

export type ReceiptState = 'open' | 'settled' | 'released'

/**
 * One row a request: inserted by its hold, updated once by its settle or release. The two entries of its charge are the
 * view `usage_entries` over this table.
 */
export interface ReceiptsTable {
  row: number
  request_id: string
  account: number
  key: number
  kind: 'wallet' | 'builder'
  state: ReceiptState
  model: string
  price_version: number
  /** JSON array of bucket rows: the hold stands on all of them or on none. */
  buckets: string
  /** Names of the key's spend caps that it counts against, with a space between them: `day month`. */
  caps: string | null
  hold_nano: bigint
  output_cap: number
  /** The cap times the number of choices: what recovery charges at most. */
  output_bound: number
  /** Tokens, for recovery: what the input of an answer that broke off is charged as. */
  input_estimate: number
  /** The part of it that the provider had seen just before, in the same conversation. */
  cached_estimate: number
  opened_at: number
  closed_at: number | null
  /** How it ended, e.g. `completed`, `client_gone`, `recovered`. */
  outcome: TurnOutcome | null
  lane: string | null
  uncached_input: number | null
  cached_input: number | null
  cache_write: number | null
  output: number | null
  reasoning: number | null
  estimated: number | null
  /** The `above_input_tokens` of the tier that applied; 0 is the base price. */
  tier: number | null
  cost_nano: bigint | null
  charge_nano: bigint | null
  shortfall_nano: bigint | null
  first_byte_ms: number | null
  total_ms: number | null
  /** JSON array, one object per try. */
  attempts: string | null
  /** Of a compaction: how many tokens the conversation had, and how many what stands in its place has. */
  tokens_before: number | null
  tokens_after: number | null
  /** Its number among everything that closed or moved on its account, 1, 2, 3 …; null while it is open. */
  movement: number | null
  /** The balance of the wallet just behind its charge; null while it is open, and for what a plan pays. */
  balance_nano: bigint | null
}

export interface TransfersTable {
  row: Generated<number>
  /** `grant` and `expiry` begin and end the periods of allowances. */
  kind: 'credit' | 'refund' | 'adjustment' | 'grant' | 'expiry'
  unit: Unit | 'cap'
  account: number
  /** For dollars the operator's own reference: unique in its kind, so that the same credit sent twice counts once. */
  ref: string
  reason: string
  amount_nano: bigint
  at: number
  /** Counted together with the receipts of its account. */
  movement: number | null
  /** The balance of the wallet just behind it; null for allowances. */
  balance_nano: bigint | null
}

interface EntriesTable {
  transfer: number
  seq: number
  bucket: number
  delta_nano: bigint
}

/** Every price a model ever had; a receipt names the version that was frozen in its hold. */
export interface PricesTable {
  model: string
  version: number
  /** JSON, exact: see ledger/record-prices. */
  terms: string
  since: number
}

/** The packed progress of every running stream of one node: one row a node, replaced each interval. */
export interface MarksTable {
  node: number
  at: number
  packed: Uint8Array
}

/** What a key has spent in the running period of a spend cap, and what its turns hold. */
export interface SpendCountersTable {
  row: Generated<number>
  account: number
  /** e.g. `cap:17:day`. */
  subject: string
  period_start: number
  period_end: number
  /** The receipt with which the period began. */
  first_receipt: number
  /** What the period had spent before there were counters. */
  carried_nano: bigint
  bound_nano: bigint
  spent_nano: bigint
  held_nano: bigint
}

/** How a turn ended whose account does not add up: it is recorded when it does again. */
interface WaitingEndsTable {
  request_id: string
  ending: string
}

/** Which plan an account is or was on. The newest one of an account counts, until just before `ends_at`. */
export interface SubscriptionsTable {
  row: number
  account: number
  plan: string
  billing_day: number
  started_at: number
  ends_at: number | null
}

/** An idempotency key in use: the receipt is that of the request which took it. */
interface ClaimsTable {
  receipt: number
  scope: string
  fingerprint: string
  state: 'running' | 'kept' | 'not-kept'
  at: number
  expires_at: number
}

/** Money on a slip of paper. Whoever redeems it first has it; the text itself is stored nowhere. */
export interface CodesTable {
  row: Generated<number>
  id: string
  /** What was made in one act. */
  batch: string
  /** HMAC-SHA-256 of its letters under a key of the ring. */
  digest: Uint8Array
  shown: string
  amount_nano: bigint
  note: string
  created_at: number
  created_by: string
  expires_at: number | null
  withdrawn_at: number | null
  /** The account that claimed it. That is final, and not yet money. */
  redeemed_by: number | null
  redeemed_at: number | null
  /** When the credit under its reference was known to be durable. */
  credited_at: number | null
}

/** An owner's wish for funds; at most one of an account is open. */
export interface FundingRequestsTable {
  row: Generated<number>
  account: number
  amount_nano: bigint
  note: string
  at: number
  /** When the operator credited the account. */
  answered_at: number | null
}

/** Ledger time was set back by an operator: rows up to these have times from before that. */
interface ClockCorrectionsTable {
  row: Generated<number>
  set_back_from: number
  set_back_to: number
  last_receipt: number
  last_transfer: number
}

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

/** Up to which row everything has been proved. */
interface ProvedRowsTable {
  what: 'receipt' | 'transfer'
  row: number
}

/** What the outside world had when everything up to those rows had moved. */
interface ProvedBalancesTable {
  bucket: number
  posted_nano: bigint
}

/** What the charges of a period were proved to come to, up to a movement of the account. Only of those with many receipts. */
export interface ProvedSumsTable {
  account: number
  /** The row of the window, or the subject of the spend cap. */
  subject: string
  period_start: number
  movement: number
  used_nano: bigint
  period_end: number
}
