import type { Allowance } from '../model/allowance.ts'
import type { Ending } from '../model/ending.ts'
import type { AccountRow, RequestId } from '../model/ids.ts'
import type { AppliedLimit, LimitStatus } from '../model/limit.ts'
import type { NanoUsd } from '../model/money.ts'
import type { Durability } from './batcher.ts'
import type { LookedUpClaim } from './claims.ts'
import type { AdmitOutcome, AdmitRequest } from './state/admit-turn.ts'
import type { AllowanceStatus, Subscription } from './state/state.ts'
import type { AssignPlan, PlanOutcome } from './state/subscriptions.ts'
import type { TooMuch } from './state/transfer-money.ts'
import type { LimitRefusal } from './state/turn-limits.ts'
import type { VerifyReport } from './verify.ts'

/**
 * The books as the rest of the house sees them. Every request is one hold and then exactly one settle, both durable
 * batches; else only `credit`, `assignPlan` and `endPlan` change what an account has. With SQLite the reducer in `books`
 * decides at once and the database records; with Postgres the database will decide, behind this same interface.
 */
export interface Ledger {
  standing(account: AccountRow): Promise<AccountStatusReport>
  /** How limits stand now, without taking anything from them. */
  limitStatuses(limits: readonly AppliedLimit[]): LimitStatus[]
  /** Which of these limits would refuse now; undefined also where only admission can know it. */
  limitRefusal(limits: readonly AppliedLimit[]): LimitRefusal | undefined
  /** Refuses with `rights-changed` if the rights have changed since `judged`. */
  admit(request: AdmitRequest, judged?: JudgedRights): Promise<Admission>
  credit(order: CreditOrder): Promise<CreditOutcome>
  /** Counts a request that needs no turn against the limits on requests. */
  takeRequest(limits: readonly AppliedLimit[]): TakenRequest | Promise<TakenRequest>
  /** Who has taken an idempotency key; whoever asks says `leave` when its request is over. */
  lookUpClaim(scope: string): Promise<LookedUpClaim>
  /** The account's running subscription, and how it stands on these allowances. */
  allowanceStatuses(account: AccountRow, allowances: readonly Allowance[]): Promise<AllowanceReport>
  assignPlan(order: Omit<AssignPlan, 'at'>): Promise<PlanOutcome>
  /** At once, unless another moment is named. */
  endPlan(order: { readonly account: AccountRow; readonly endsAt?: number }): Promise<PlanOutcome>
  /** False while a failed batch is being read back: new requests are refused with `ledger_unavailable`. */
  readonly available: boolean
  /** The books could not be written for so long that running answers have to end; returns how to stop listening. */
  onOutage(listener: () => void): () => void
  /** Holds that stand now. */
  readonly openHolds: number
  /** Adds the books up again, from the first row or from the last proof on; freezes the accounts that do not add up. */
  audit(options: { readonly whole: boolean }): Promise<VerifyReport>
  /** Ends what has lost its turn: holds that nobody attends any more. Returns how many. */
  sweep(): Promise<number>
  /** Changes the file while nothing is decided on it; the books are read back afterwards. */
  whileClosed<Result>(work: () => Promise<Result>): Promise<Result>
  close(): Promise<void>
}

export type TakenRequest =
  | { readonly kind: 'taken'; readonly statuses: readonly LimitStatus[] }
  | { readonly kind: 'refused'; readonly refusal: LimitRefusal; readonly statuses: readonly LimitStatus[] }

/** How an account stands on allowances: what its keys may still use, and until when. */
export interface AllowanceReport {
  readonly subscription: Subscription | undefined
  readonly statuses: readonly AllowanceStatus[]
}

/** Exact, and the same number that admission decides on. */
export interface AccountStatusReport {
  readonly balance: NanoUsd
  readonly held: NanoUsd
  readonly available: NanoUsd
}

export type Admission =
  | AdmittedTurn
  | { readonly kind: 'refused'; readonly refusal: AdmissionRefusal; readonly statuses: readonly LimitStatus[] }

/** When the rights of a caller were judged: `at` is the number of changes to keys and accounts at that moment. */
export interface JudgedRights {
  readonly rights: { readonly changes: number }
  readonly at: number
}

/** Why the reducer said no; `unavailable` when it was not asked, because the books are being read back. */
export type AdmissionRefusal =
  | Exclude<AdmitOutcome, { kind: 'held' }>
  | { readonly kind: 'unavailable' }
  /** A key or an account was changed since the caller was judged: it has to be judged again. */
  | { readonly kind: 'rights-changed' }
  /** The database knows that the account is not active. */
  | { readonly kind: 'account-suspended' | 'account-closed' }

/** A turn that holds its money. `settle` ends it, once, whatever came of it; `leave` says that the turn is over. */
export interface AdmittedTurn {
  readonly kind: 'admitted'
  /** The output cap that the hold covers: what the provider is told. */
  readonly cap: number
  readonly amount: NanoUsd
  readonly statuses: readonly LimitStatus[]
  /** Whether the provider may be asked before the hold is durable (far from every edge). */
  readonly overlap: boolean
  /** Never rejects. Anything but `durable` means that the hold was not placed: nothing may be delivered. */
  readonly durable: Promise<Durability>
  /** How many output tokens have gone to the client so far; recovery after a crash charges this much. */
  mark(deliveredTokens: number): void
  /** Charges what the ending owes, or gives the hold back. */
  settle(ending: Ending): Promise<SettleOutcome>
  /** Called when the turn is over in whatever way: from here on an unresolved hold belongs to the sweeper. */
  leave(): void
}

export type SettleOutcome =
  | { readonly kind: 'settled'; readonly charge: NanoUsd; readonly shortfall: NanoUsd; readonly tier: number }
  | { readonly kind: 'released' }
  /** Somebody else has resolved this hold: say nothing that sounds like an end. */
  | { readonly kind: 'not-ours' }
  /** The charge could not be made durable; the hold stays and recovery will resolve it. */
  | { readonly kind: 'lost' }

export interface CreditOrder {
  readonly account: AccountRow
  readonly kind: 'credit' | 'refund' | 'adjustment'
  readonly amount: NanoUsd
  readonly reason: string
  readonly ref: string
}

export type CreditOutcome =
  | { readonly kind: 'credited'; readonly standing: AccountStatusReport }
  /** The same reference with the same amount: counted once, said again. */
  | { readonly kind: 'exists'; readonly standing: AccountStatusReport }
  | { readonly kind: 'ref-taken'; readonly amount: NanoUsd }
  | { readonly kind: 'short'; readonly standing: AccountStatusReport }
  | TooMuch

/**
 * Of those of these requests whose answers are kept, for repetition or to be asked for by their id: the ending that was
 * written beside the answer, before its charge. If the process dies in between, the charge is made from that.
 */
export type FindKeptFacts = (requests: readonly RequestId[]) => Promise<ReadonlyMap<RequestId, FoundFacts>>

export interface FoundFacts {
  /** As `writeEnding` has made them. */
  readonly facts: string
  /** Whoever repeats the request with its idempotency key gets the answer. */
  readonly givenAgain: boolean
}
