import type { Allowance } from '../model/allowance.ts'
import type { AppliedLimit, LimitStatus } from '../model/caller.ts'
import type { Ending } from '../model/ending.ts'
import type { AccountRow } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import type { Durability } from './batcher.ts'
import type { LookedUpClaim } from './claims.ts'
import type { LedgerGate } from './core.ts'
import type { AssignPlan, PlanOutcome, TooMuch, TransferMoney } from './state/operator-commands.ts'
import type { AllowanceStatus, Subscription } from './state/state.ts'
import type { LimitRefusal } from './state/turn-limits.ts'
import type { AdmitOutcome, AdmitRequest } from './state/turns.ts'

/**
 * The interface to all money. A turn is one hold and then exactly one settle, both durable batches; besides that only
 * `credit`, `assignPlan` and `endPlan` change what an account has. With SQLite the reducer in `ledger/state` decides in
 * memory and the database records; with PostgreSQL the database decides.
 */
export interface Ledger {
  accountStatus(account: AccountRow): AccountStatusReport | Promise<AccountStatusReport>
  /** For a refusal before the body. Only admission knows exactly. */
  isWalletEmpty(account: AccountRow): boolean | Promise<boolean>
  /** Reads limits without taking from them. */
  limitStatuses(limits: readonly AppliedLimit[]): LimitStatus[]
  /** The limit that would refuse now. Also undefined where only admission can know. */
  limitRefusal(limits: readonly AppliedLimit[]): LimitRefusal | undefined
  /** Refuses with `caller-changed` if a key or an account has changed since the check. */
  admit(request: AdmitRequest, check?: CallerCheck): Admission | Promise<Admission>
  credit(order: CreditOrder): Promise<CreditOutcome>
  /** Counts a request that needs no turn against the request limits. */
  takeRequest(limits: readonly AppliedLimit[]): TakenRequest | Promise<TakenRequest>
  /** Finds the holder of an idempotency key. The caller releases the claim when its request is over. */
  lookUpClaim(scope: string): Promise<LookedUpClaim>
  allowanceStatuses(account: AccountRow, allowances: readonly Allowance[]): AllowanceReport | Promise<AllowanceReport>
  assignPlan(order: Omit<AssignPlan, 'at'>): Promise<PlanOutcome>
  /** Without `endsAt` the plan ends now. */
  endPlan(order: { readonly account: AccountRow; readonly endsAt?: number }): Promise<PlanOutcome>
  /** Shut while a failed batch is read back: new requests get `ledger_unavailable`. */
  readonly gate: Pick<LedgerGate, 'open' | 'onOutage'>
  readonly openHolds: number
  /** Verifies the rows, from the first one or since the last proof, and freezes accounts that do not balance. */
  audit(options: { readonly whole: boolean }): Promise<VerifyReport>
  /** Resolves holds that no running turn attends. Returns how many. */
  sweep(): Promise<number>
  /** Changes the file while nothing is decided on it, then reads the state back. Undefined where the database keeps the time. */
  readonly whileClosed: (<Result>(work: () => Promise<Result>) => Promise<Result>) | undefined
  close(): Promise<void>
}

export type TakenRequest =
  | { readonly kind: 'taken'; readonly statuses: readonly LimitStatus[] }
  | { readonly kind: 'refused'; readonly refusal: LimitRefusal; readonly statuses: readonly LimitStatus[] }

/** What the keys of an account may still use, and until when. */
export interface AllowanceReport {
  readonly subscription: Subscription | undefined
  readonly statuses: readonly AllowanceStatus[]
}

/** Exact: the numbers that admission decides on. */
export interface AccountStatusReport {
  readonly balance: NanoUsd
  readonly held: NanoUsd
  readonly available: NanoUsd
}

export type Admission =
  | AdmittedTurn
  | { readonly kind: 'refused'; readonly refusal: AdmissionRefusal; readonly statuses: readonly LimitStatus[] }

/** When a caller was checked: the number of changes to keys and accounts before that. */
export interface CallerCheck {
  readonly callers: { readonly changes: number }
  readonly changesBefore: number
}

export type AdmissionRefusal =
  | Exclude<AdmitOutcome, { kind: 'held' }>
  /** The reducer did not decide, because the state is being read back. */
  | { readonly kind: 'unavailable' }
  /** A key or an account has changed since the caller was checked: it has to be checked again. */
  | { readonly kind: 'caller-changed' }
  /** Only PostgreSQL finds this at admission. */
  | { readonly kind: 'account-suspended' | 'account-closed' }

/** A turn that holds its money. `settle` ends it once; `detach` says that the turn is over. */
export interface AdmittedTurn {
  readonly kind: 'admitted'
  /** The output cap that the hold covers, sent to the provider. */
  readonly cap: number
  readonly heldAmount: NanoUsd
  readonly statuses: readonly LimitStatus[]
  /** Whether the provider may be called before the hold is durable, because the account is far from every limit. */
  readonly mayCallBeforeDurable: boolean
  /** Never rejects. Anything but `durable` means that the hold was not placed: nothing may be delivered. */
  readonly durable: Promise<Durability>
  /** Something waits for the hold: it is written now instead of with other operations. */
  hurry(): void
  /**
   * Records how many output tokens the client gets with what is sent next; recovery after a crash charges these. False when
   * the hold may have been resolved elsewhere: then nothing more may be sent.
   */
  mark(deliveredTokens: number): boolean
  /** Charges what the ending owes, or releases the hold. */
  settle(ending: Ending): Promise<SettleOutcome>
  /** From here on the sweeper resolves the hold if it is still open. */
  detach(): void
}

export type SettleOutcome =
  | { readonly kind: 'settled'; readonly charge: NanoUsd; readonly shortfall: NanoUsd; readonly tier: number }
  | { readonly kind: 'released' }
  /** Recovery or another node has resolved this hold: the client must not be sent a normal end. */
  | {
      readonly kind: 'not-ours'
      /** Nothing was charged for it, so no client may read the answer. */
      readonly isReleased?: boolean
    }
  /** The charge could not be made durable; recovery will resolve the hold. */
  | { readonly kind: 'lost' }

export type CreditOrder = Omit<TransferMoney, 'at'>

export type CreditOutcome =
  | { readonly kind: 'credited'; readonly status: AccountStatusReport }
  /** The reference is known with this amount: counted once. */
  | { readonly kind: 'exists'; readonly status: AccountStatusReport }
  | { readonly kind: 'ref-taken'; readonly amount: NanoUsd }
  | { readonly kind: 'short'; readonly status: AccountStatusReport }
  | TooMuch

export interface VerifyReport {
  readonly ok: boolean
  readonly violations: number
  readonly checks: readonly { readonly name: string; readonly violations: number }[]
  /** Accounts whose rows or balances break a rule. */
  readonly suspects: readonly AccountRow[]
  readonly accounts: number
  readonly receipts: number
  readonly transfers: number
  /** In billionths; only from a whole proof. May exceed 64 bits. */
  readonly sums?: IssuedSums | undefined
}

/** Dollars: credits less refunds, and revenue. Windows: what was granted, used and expired. */
export interface IssuedSums {
  readonly usd: { readonly issued: string; readonly used: string }
  readonly quota: { readonly issued: string; readonly used: string; readonly expired: string }
}
