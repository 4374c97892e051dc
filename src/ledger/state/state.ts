import type { Allowance, Measure, Period, Unit } from '../../model/allowance.ts'
import type { AppliedLimit, KeyKind } from '../../model/caller.ts'
import type { Ending } from '../../model/ending.ts'
import type { AccountRow, BucketRow, KeyRow, RequestId } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'

/**
 * The state that decides about money: plain data in memory. The operations beside this file are deterministic functions of
 * (state, operation), without clock or I/O; they change the state and return their outcome with the changes to record. Maps
 * that mirror rows are replaced whole when the rows are read again, never refilled in place.
 */
export interface LedgerState {
  /** Loaded accounts. The caller of an operation has loaded its account before. */
  accounts: Map<AccountRow, AccountState>
  /** Open holds, by request. */
  turns: Map<RequestId, OpenTurn>
  /** Concurrency limits: open turns, by subject. */
  running: Map<string, number>
  /** Rate limits: the moment in microseconds at which everything taken is earned back, by subject. */
  readonly rateLimits: Map<string, number>
  /** All operator credits less refunds: the other side of wallets and revenue. */
  issued: bigint
  /** Looked-up idempotency keys, by scope. Undefined: not taken. */
  claims: Map<string, Claim | undefined>
  readonly next: NextRows
}

/** The numbers that new rows get. */
interface NextRows {
  receipt: number
  transfer: number
  bucket: number
  subscription: number
}

export interface AccountState {
  readonly account: AccountRow
  readonly wallet: Bucket
  /** The newest open bucket of each window, by subject. */
  readonly periods: Map<string, PeriodBucket>
  /** Spending under the caps of its keys, people and teams, by subject. */
  readonly counters: Map<string, SpendCounter>
  /** Periods followed by a newer one while turns still hold on them. */
  readonly endedWithHolds: Set<PeriodBucket>
  subscription: Subscription | undefined
  /** Its rows did not balance when they were last verified. */
  frozen: boolean
  /** How many receipts have closed and transfers moved: the number of the last one. Nothing else may count it up. */
  movements: number
}

/** An amount, and the part of it that running turns hold. `posted - held` never goes below zero. */
export interface Bucket {
  readonly row: BucketRow
  readonly unit: Unit
  posted: bigint
  held: bigint
}

/** One period of a plan's window. `posted` is what is left of `granted`. */
export interface PeriodBucket extends Bucket {
  readonly unit: 'quota'
  readonly subject: string
  start: number
  end: number
  granted: bigint
}

/**
 * Spending and holds of one key, person or team in the running period of a cap; together never above `bound`. Of a cap on requests or
 * tokens, their number.
 */
export interface SpendCounter {
  readonly subject: string
  start: number
  end: number
  /** The receipt with which the period began. Earlier receipts counted in an earlier period. */
  firstReceipt: number
  /** Spent in this period by a version without counters. */
  carried: bigint
  bound: bigint
  spent: bigint
  held: bigint
}

/** The running period of an allowance, or the one that its next use will begin. */
export interface AllowanceStatus {
  readonly allowance: Allowance
  readonly period: Period
  /** The bucket of the running window. Undefined for a cap, and when the period begins with the next use. */
  readonly running: PeriodBucket | undefined
  readonly granted: bigint
  readonly posted: bigint
  readonly held: bigint
}

/** Counts from `startedAt` until just before `endsAt`. */
export interface Subscription {
  readonly row: number
  readonly plan: string
  /** The day of the month on which its months begin. */
  readonly billingDay: number
  readonly startedAt: number
  endsAt: number | undefined
}

export interface Claim {
  readonly scope: string
  /** Of the request body. */
  readonly fingerprint: string
  readonly requestId: RequestId
  readonly receipt: number
  readonly expiresAt: number
  /** `kept`: the answer can be replayed. `not-kept`: it was charged, and cannot be replayed. */
  readonly state: 'running' | 'kept' | 'not-kept'
}

/** A cap that a turn counts against. */
export interface CountedSpend {
  readonly counter: SpendCounter
  /** As on the receipt: see `markOfCap`. */
  readonly mark: string
  readonly measure: Measure
  /** What the turn holds of it. */
  readonly amount: bigint
}

export interface OpenTurn {
  readonly requestId: RequestId
  readonly receipt: number
  readonly account: AccountRow
  readonly model: string
  readonly priceVersion: number
  readonly heldAmount: NanoUsd
  readonly buckets: readonly Bucket[]
  readonly counted: readonly CountedSpend[]
  /** The limits it was admitted under, with its cost in each. */
  readonly limits: readonly AppliedLimit[]
  /** The scope of its idempotency key. */
  readonly claim: string | undefined
  readonly inputEstimate: number
  /** The part of the estimate that the provider had just seen in the same conversation. */
  readonly cachedEstimate: number
  /** The output that the hold covers, of all choices together. */
  readonly outputBound: number
  /** What its client asked for that changes the price: `PricedValues` as JSON. */
  readonly asked?: string | undefined
}

export const createLedgerState = (next: NextRows): LedgerState => ({
  accounts: new Map(),
  turns: new Map(),
  running: new Map(),
  rateLimits: new Map(),
  issued: 0n,
  claims: new Map(),
  next: { ...next },
})

export const createAccountState = (
  account: AccountRow,
  wallet: { readonly row: BucketRow; readonly posted: bigint; readonly held: bigint },
): AccountState => ({
  account,
  wallet: { unit: 'usd', ...wallet },
  periods: new Map(),
  counters: new Map(),
  endedWithHolds: new Set(),
  subscription: undefined,
  frozen: false,
  movements: 0,
})

/**
 * A money rule would have been broken, by a fault of these functions or because the rows of an account do not balance. Thrown
 * before anything has moved, so that the state stays as it was. The tables check the same rules, but fail a whole batch.
 */
export class BrokenRule extends Error {
  override readonly name = 'BrokenRule'

  constructor(rule: string) {
    super(`The ledger was about to break a rule: ${rule}`)
  }
}

export function accountStateOf(ledgerState: LedgerState, account: AccountRow): AccountState {
  const found = ledgerState.accounts.get(account)
  if (!found) throw new Error(`Account ${account} was not loaded before an operation on it`)
  return found
}

/** What an operation changed, for the database to record. */
export type Change =
  | ReceiptOpened
  | ReceiptClosed
  | BucketMoved
  | Transferred
  | PeriodOpened
  | PeriodMoved
  | PeriodClosed
  | CounterSet
  | ClaimOpened
  | ClaimEnded
  | SubscriptionStarted
  | SubscriptionEnded

export interface ReceiptOpened {
  readonly kind: 'receipt-opened'
  readonly receipt: number
  readonly requestId: RequestId
  readonly account: AccountRow
  readonly key: KeyRow
  readonly keyKind: KeyKind
  readonly model: string
  readonly priceVersion: number
  readonly buckets: readonly BucketRow[]
  /** Marks of the caps that it counts against. */
  readonly caps: readonly string[]
  readonly heldAmount: NanoUsd
  readonly cap: number
  readonly outputBound: number
  readonly inputEstimate: number
  readonly cachedEstimate: number
  readonly tags?: string | undefined
  readonly asked?: string | undefined
  readonly at: number
}

export interface ReceiptClosed {
  readonly kind: 'receipt-closed'
  readonly receipt: number
  readonly account: AccountRow
  readonly at: number
  readonly ending: Ending
  readonly charge: NanoUsd
  readonly shortfall: NanoUsd
  readonly movement: number
  /** Of the wallet after the charge; undefined where a plan pays. */
  readonly balance: bigint | undefined
}

export interface BucketMoved {
  readonly kind: 'bucket-moved'
  readonly bucket: BucketRow
  readonly posted: bigint
  readonly held: bigint
}

/** Two entries that sum to zero: into `bucket`, out of `contra`. Balances move by their own changes. */
export interface Transferred {
  readonly kind: 'transferred'
  readonly transfer: number
  /** `grant` and `expiry` begin and end a period of a plan's window; operators order the others. */
  readonly transferKind: 'credit' | 'refund' | 'adjustment' | 'grant' | 'expiry'
  readonly unit: Unit
  readonly account: AccountRow
  readonly bucket: BucketRow
  readonly contra: BucketRow
  readonly amount: NanoUsd
  readonly reason: string
  /** Unique per account and kind. */
  readonly ref: string
  readonly at: number
  readonly movement: number
  /** Of the wallet after the transfer; undefined for allowances. */
  readonly balance: bigint | undefined
}

/** A new period of a window, empty until it is granted. */
export interface PeriodOpened {
  readonly kind: 'period-opened'
  readonly bucket: BucketRow
  readonly account: AccountRow
  readonly subject: string
  readonly start: number
  readonly end: number
}

/** An unused period begins again now. */
interface PeriodMoved {
  readonly kind: 'period-moved'
  readonly bucket: BucketRow
  readonly start: number
  readonly end: number
}

/** The period is empty, and never moves again. */
interface PeriodClosed {
  readonly kind: 'period-closed'
  readonly bucket: BucketRow
  readonly at: number
}

/** The whole counter, because a new period of a cap begins in the same row. */
export interface CounterSet extends SpendCounter {
  readonly kind: 'counter-set'
  readonly account: AccountRow
}

interface ClaimOpened {
  readonly kind: 'claim-opened'
  readonly receipt: number
  readonly scope: string
  readonly fingerprint: string
  readonly at: number
  readonly expiresAt: number
}

interface ClaimEnded {
  readonly kind: 'claim-ended'
  readonly receipt: number
  readonly scope: string
  /** `dropped`: nothing was charged, so the key is free for a retry. */
  readonly state: 'kept' | 'not-kept' | 'dropped'
}

export interface SubscriptionStarted {
  readonly kind: 'subscription-started'
  readonly subscription: number
  readonly account: AccountRow
  readonly plan: string
  readonly billingDay: number
  readonly startedAt: number
  readonly endsAt: number | undefined
}

interface SubscriptionEnded {
  readonly kind: 'subscription-ended'
  readonly subscription: number
  /** Undefined: it goes on. */
  readonly endsAt: number | undefined
}

/** The other sides of the double entry, per unit: rows that the migrations insert. */
interface Sides {
  /** Where amounts come from when operators put them in, and go when they take them back. */
  readonly issued: BucketRow
  /** What was used: for dollars, revenue. */
  readonly used: BucketRow
}

const row = (number: number) => number as BucketRow

/**
 * Only `usd.issued` keeps a balance: it is bounded, and only operators' transfers write it. The others are sums over entries
 * and receipts that only grow, so no number of fixed size may hold them.
 */
export const SIDES: Readonly<Record<Unit, Sides>> = {
  usd: { issued: row(1), used: row(2) },
  quota: { issued: row(-11), used: row(-12) },
}

/** What was left of a window when it was closed. Wallets never expire. */
export const EXPIRED: BucketRow = row(-13)

/** Rows of windows are numbered from here on; wallets are below. */
export const PERIOD_ROWS_FROM = 1_000_000_000
