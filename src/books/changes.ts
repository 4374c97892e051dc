import type { Unit } from '../model/allowance.ts'
import type { KeyKind } from '../model/caller.ts'
import type { Ending } from '../model/ending.ts'
import type { AccountRow, BucketRow, KeyRow, RequestId } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import type { SpendCounter } from './books.ts'

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
export interface PeriodMoved {
  readonly kind: 'period-moved'
  readonly bucket: BucketRow
  readonly start: number
  readonly end: number
}

/** It has ended, nothing is left on it, and nothing ever moves on it again. */
export interface PeriodClosed {
  readonly kind: 'period-closed'
  readonly bucket: BucketRow
  readonly at: number
}

/** How a spend counter stands now, whole: a new period of a cap begins in the same row. */
export interface CounterSet extends SpendCounter {
  readonly kind: 'counter-set'
  readonly account: AccountRow
}

export interface ClaimOpened {
  readonly kind: 'claim-opened'
  readonly receipt: number
  readonly scope: string
  readonly fingerprint: string
  readonly at: number
  readonly expiresAt: number
}

export interface ClaimEnded {
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

export interface SubscriptionEnded {
  readonly kind: 'subscription-ended'
  readonly subscription: number
  /** Undefined: it goes on, after all. */
  readonly endsAt: number | undefined
}
