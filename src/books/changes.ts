import type { KeyKind } from '../model/caller.ts'
import type { AccountRow, BucketRow, KeyRow, RequestId } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import type { MeteredUsage } from '../model/usage.ts'

/** What an operation changed, for the database to record: the same words whatever the database. */
export type Change = ReceiptOpened | ReceiptClosed | BucketMoved | Transferred

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
  readonly hold: NanoUsd
  readonly cap: number
  readonly outputBound: number
  readonly inputEstimate: number
  readonly at: number
}

export interface ReceiptClosed {
  readonly kind: 'receipt-closed'
  readonly receipt: number
  readonly state: 'settled' | 'released'
  readonly at: number
  readonly outcome: string
  readonly lane: string | undefined
  readonly usage: MeteredUsage | undefined
  readonly tier: number | undefined
  readonly cost: NanoUsd
  readonly charge: NanoUsd
  readonly shortfall: NanoUsd
  readonly firstByteMs: number | undefined
  readonly totalMs: number
  /** JSON: see Attempt in ledger. */
  readonly attempts: string
}

export interface BucketMoved {
  readonly kind: 'bucket-moved'
  readonly bucket: BucketRow
  readonly posted: bigint
  readonly held: bigint
}

export interface Transferred {
  readonly kind: 'transferred'
  readonly transfer: number
  readonly transferKind: 'credit' | 'refund' | 'adjustment'
  readonly account: AccountRow
  readonly bucket: BucketRow
  readonly amount: NanoUsd
  readonly reason: string
  readonly ref: string
  readonly at: number
}
