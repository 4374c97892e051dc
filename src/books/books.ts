import type { AccountRow, BucketRow, RequestId } from '../model/ids.ts'
import type { AppliedLimit } from '../model/limit.ts'
import type { NanoUsd } from '../model/money.ts'

/**
 * The state that decides about money. Plain data in memory: the operations beside this file are functions of
 * (books, operation) that change it and return their outcome together with the changes to record: deterministic, without
 * clock or I/O. The maps that mirror rows are replaced whole when the rows are read again, never refilled in place.
 */
export interface Books {
  /** Accounts that have been read from the database; an operation on another one is a broken promise of the caller. */
  accounts: Map<AccountRow, AccountBooks>
  /** Every hold that is open, by request. */
  turns: Map<RequestId, OpenTurn>
  /** Concurrency limits: how many turns are open, by subject. */
  running: Map<string, number>
  /** Rate limits: the moment at which everything taken is earned back, by subject. */
  readonly rates: Map<string, number>
  /** All that operators have credited, less what they took back: the other side of wallets and revenue. */
  issued: bigint
  nextReceipt: number
  nextTransfer: number
}

export interface AccountBooks {
  readonly account: AccountRow
  readonly wallet: Bucket
}

/** Money that is there, and the part of it that running turns hold. `posted - held` never goes below zero. */
export interface Bucket {
  readonly row: BucketRow
  posted: bigint
  held: bigint
}

export interface OpenTurn {
  readonly requestId: RequestId
  readonly receipt: number
  readonly account: AccountRow
  readonly model: string
  readonly priceVersion: number
  readonly hold: NanoUsd
  readonly buckets: readonly Bucket[]
  readonly limits: readonly AppliedLimit[]
  readonly inputEstimate: number
  /** The most output that the hold covers, of all choices together. */
  readonly outputBound: number
}

export const createBooks = (start: { nextReceipt: number; nextTransfer: number }): Books => ({
  accounts: new Map(),
  turns: new Map(),
  running: new Map(),
  rates: new Map(),
  issued: 0n,
  ...start,
})

export const availableIn = (bucket: Bucket): bigint => bucket.posted - bucket.held

/** The account's books; whoever applies an operation has loaded them before. */
export function booksOf(books: Books, account: AccountRow): AccountBooks {
  const found = books.accounts.get(account)
  if (!found) throw new Error(`The books of account ${account} were not loaded before an operation on them`)
  return found
}
