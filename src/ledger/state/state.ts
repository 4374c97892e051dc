import type { Allowance, Period, Unit } from '../../model/allowance.ts'
import type { KeyKind } from '../../model/caller.ts'
import type { Ending } from '../../model/ending.ts'
import type { AccountRow, BucketRow, KeyRow, RequestId } from '../../model/ids.ts'
import type { AppliedLimit } from '../../model/limit.ts'
import type { NanoUsd } from '../../model/money.ts'

/**
 * The state that decides about money. Plain data in memory: the operations beside this file are functions of
 * (books, operation) that change it and return their outcome together with the changes to record: deterministic, without
 * clock or I/O. The maps that mirror rows are replaced whole when the rows are read again, never refilled in place.
 */
export interface LedgerState {
  /** Accounts that have been read from the database; an operation on another one is a broken promise of the caller. */
  accounts: Map<AccountRow, AccountState>
  /** Every hold that is open, by request. */
  turns: Map<RequestId, OpenTurn>
  /** Concurrency limits: how many turns are open, by subject. */
  running: Map<string, number>
  /** Rate limits: the moment (in microseconds) at which everything taken is earned back, by subject. */
  readonly rates: Map<string, number>
  /** All that operators have credited, less what they took back: the other side of wallets and revenue. */
  issued: bigint
  /** Idempotency keys that have been looked up, by scope. Undefined: looked up, and not taken. */
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
  /** The newest bucket of every window that was ever drawn on and has not been closed, by subject. */
  readonly periods: Map<string, PeriodBucket>
  /** What its keys have spent under their caps, by subject. */
  readonly counters: Map<string, SpendCounter>
  /** Periods that have ended and been followed by another one, while turns still hold on them. */
  readonly outlived: Set<PeriodBucket>
  subscription: Subscription | undefined
  /** Its rows did not add up when they were last looked at. */
  frozen: boolean
  /** How many receipts have closed and transfers moved on it: the number of the last of them. */
  movements: number
}

/** Money that is there, and the part of it that running turns hold. `posted - held` never goes below zero. */
export interface Bucket {
  readonly row: BucketRow
  readonly unit: Unit
  posted: bigint
  held: bigint
}

/** What a window of a plan grants in one of its periods: what is left of it is `posted`. */
export interface PeriodBucket extends Bucket {
  readonly unit: 'quota'
  readonly subject: string
  start: number
  end: number
  granted: bigint
}

/** What one key has spent in the running period of a spend cap, and what its turns hold. Together never above `bound`. */
export interface SpendCounter {
  readonly subject: string
  start: number
  end: number
  /** The receipt with which the period began: those before it counted in an earlier one. */
  firstReceipt: number
  /** What the period had spent before there were counters. */
  carried: bigint
  bound: bigint
  spent: bigint
  held: bigint
}

/** How an allowance stands: in the period that runs, or in the one that its next use will begin. */
export interface AllowanceStatus {
  readonly allowance: Allowance
  readonly period: Period
  /** The bucket of a window that runs. Undefined for a cap, and where the period begins with the next use. */
  readonly running: PeriodBucket | undefined
  readonly granted: bigint
  readonly posted: bigint
  readonly held: bigint
}

/** The plan of an account. It counts from `startedAt` until just before `endsAt`. */
export interface Subscription {
  readonly row: number
  readonly plan: string
  /** The day of the month on which its months turn. */
  readonly billingDay: number
  readonly startedAt: number
  endsAt: number | undefined
}

/** An idempotency key that a request has taken. */
export interface Claim {
  readonly scope: string
  /** Of the request's body: the same key with another body is a mistake. */
  readonly fingerprint: string
  readonly requestId: RequestId
  readonly receipt: number
  readonly expiresAt: number
  /** `kept`: the answer may be given again. `not-kept`: it was charged, and cannot be given again. */
  readonly state: 'running' | 'kept' | 'not-kept'
}

/** A spend cap that a turn counts against. */
export interface CountedSpend {
  readonly counter: SpendCounter
  /** What people call the cap: `day`, `month`. */
  readonly name: string
}

export interface OpenTurn {
  readonly requestId: RequestId
  readonly receipt: number
  readonly account: AccountRow
  readonly model: string
  readonly priceVersion: number
  readonly hold: NanoUsd
  readonly buckets: readonly Bucket[]
  readonly counted: readonly CountedSpend[]
  /** The limits it was admitted under, with what it took from each. */
  readonly limits: readonly AppliedLimit[]
  /** The scope of its idempotency key, if it came with one. */
  readonly claim: string | undefined
  readonly inputEstimate: number
  /** The part of the estimate that the provider had seen just before, in the same conversation. */
  readonly cachedEstimate: number
  /** The most output that the hold covers, of all choices together. */
  readonly outputBound: number
}

export const createLedgerState = (next: NextRows): LedgerState => ({
  accounts: new Map(),
  turns: new Map(),
  running: new Map(),
  rates: new Map(),
  issued: 0n,
  claims: new Map(),
  next: { ...next },
})

/** An account that has only its wallet yet. */
export const createAccountState = (
  account: AccountRow,
  wallet: { readonly row: BucketRow; readonly posted: bigint; readonly held: bigint },
): AccountState => ({
  account,
  wallet: { unit: 'usd', ...wallet },
  periods: new Map(),
  counters: new Map(),
  outlived: new Set(),
  subscription: undefined,
  frozen: false,
  movements: 0,
})

/** The number of what closes or moves now. Nothing else may count: the order of these is the order of the decisions. */
export const nextMovement = (account: AccountState): number => ++account.movements

export const availableIn = ({ posted, held }: { readonly posted: bigint; readonly held: bigint }): bigint =>
  posted - held

/** A rule of money would have been broken: by a fault of these functions, or because the rows of an account do not add up. */
export class BrokenRule extends Error {
  override readonly name = 'BrokenRule'
}

/**
 * Asked before anything has moved: what finds a rule broken ends, and the books stay as they were. The rows have the same
 * rules once more, but there a whole batch would end.
 */
export function assertRule(isTrue: boolean, rule: string): void {
  if (!isTrue) throw new BrokenRule(`The books were about to break a rule: ${rule}`)
}

/** The account's books; whoever applies an operation has loaded them before. */
export function accountStateOf(ledgerState: LedgerState, account: AccountRow): AccountState {
  const found = ledgerState.accounts.get(account)
  if (!found) throw new Error(`The books of account ${account} were not loaded before an operation on them`)
  return found
}

/** What an operation changed, for the database to record: the same words whatever the database. */
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
  /** Names of the key's spend caps that it counts against. */
  readonly caps: readonly string[]
  readonly hold: NanoUsd
  readonly cap: number
  readonly outputBound: number
  readonly inputEstimate: number
  readonly cachedEstimate: number
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
  /** Of the wallet, just behind the charge; undefined where a plan pays. */
  readonly balance: bigint | undefined
}

export interface BucketMoved {
  readonly kind: 'bucket-moved'
  readonly bucket: BucketRow
  readonly posted: bigint
  readonly held: bigint
}

/** Two entries that sum to zero: into `bucket`, out of `counter`. Balances move by changes of their own. */
export interface Transferred {
  readonly kind: 'transferred'
  readonly transfer: number
  /** `grant` and `expiry` begin and end a window of a plan; the others are the operator's word. */
  readonly transferKind: 'credit' | 'refund' | 'adjustment' | 'grant' | 'expiry'
  readonly unit: Unit
  readonly account: AccountRow
  readonly bucket: BucketRow
  readonly counter: BucketRow
  readonly amount: NanoUsd
  readonly reason: string
  /** Unique in its account and kind. */
  readonly ref: string
  readonly at: number
  readonly movement: number
  /** Of the wallet, just behind it; undefined for allowances. */
  readonly balance: bigint | undefined
}

/** A bucket for a new period of a window, empty until it is granted. */
export interface PeriodOpened {
  readonly kind: 'period-opened'
  readonly bucket: BucketRow
  readonly account: AccountRow
  readonly subject: string
  readonly start: number
  readonly end: number
}

/** Nobody had used it: it counts from now. */
interface PeriodMoved {
  readonly kind: 'period-moved'
  readonly bucket: BucketRow
  readonly start: number
  readonly end: number
}

/** It has ended, nothing is left on it, and nothing ever moves on it again. */
interface PeriodClosed {
  readonly kind: 'period-closed'
  readonly bucket: BucketRow
  readonly at: number
}

/** How a spend counter stands now, whole: a new period of a cap begins in the same row. */
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
  /** `dropped`: nothing was charged, so the key is free for another try. */
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
  /** Undefined: it goes on, after all. */
  readonly endsAt: number | undefined
}

/** The other sides of the double entry, of which each unit has its own: rows of the chart, made by the migrations. */
interface Sides {
  /** Where an amount comes from when it is put in, and where it goes when the operator takes it back. */
  readonly issued: BucketRow
  /** What was used: for dollars, revenue. */
  readonly used: BucketRow
}

const row = (number: number) => number as BucketRow

/**
 * Only the outside world (`usd.issued`) keeps a balance: it is bounded, and written by the operator's transfers alone. The
 * others are sums over entries and receipts that only grow, so no number of fixed size may hold them.
 */
export const SIDES: Readonly<Record<Unit, Sides>> = {
  usd: { issued: row(1), used: row(2) },
  quota: { issued: row(-11), used: row(-12) },
}

/** What was left of a window when it was closed. Dollars of a wallet never expire. */
export const EXPIRED: BucketRow = row(-13)

/** Rows of windows are numbered from here on: below are the wallets, which accounts bring with them. */
export const PERIOD_ROWS_FROM = 1_000_000_000
