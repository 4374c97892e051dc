import type { KeyKind } from '../model/caller.ts'
import { type HoldTerms, holdFor, tokensCovered } from '../model/hold-terms.ts'
import type { AccountRow, KeyRow, RequestId } from '../model/ids.ts'
import type { AppliedLimit } from '../model/limit.ts'
import { type NanoUsd, smallest } from '../model/money.ts'
import { availableIn, type Books, type Bucket, booksOf } from './books.ts'
import type { Change } from './changes.ts'
import { type LimitRefusal, startUnderLimits } from './turn-limits.ts'

/** What a turn asks for: who pays, the most it may cost, and the limits it has to pass. */
export interface AdmitRequest {
  readonly requestId: RequestId
  readonly account: AccountRow
  readonly key: KeyRow
  readonly kind: KeyKind
  readonly model: string
  readonly priceVersion: number
  readonly terms: HoldTerms
  /** The client's own cap, already lowered to the model's maximum; undefined when it gave none. */
  readonly clientCap: number | undefined
  readonly modelCap: number
  /** How many answers at once: each of them may be as long as the cap. */
  readonly choices: number
  readonly inputEstimate: number
  readonly limits: readonly AppliedLimit[]
}

export interface AdmitTurn extends AdmitRequest {
  readonly at: number
  readonly ticks: number
}

export type AdmitOutcome =
  | {
      readonly kind: 'held'
      readonly receipt: number
      readonly cap: number
      readonly hold: NanoUsd
      readonly changes: readonly Change[]
    }
  | LimitRefusal
  | MoneyRefusal
  /** A builder key whose account has no running subscription. */
  | { readonly kind: 'no-subscription' }

export type MoneyRefusal =
  | {
      readonly kind: 'short'
      readonly available: NanoUsd
      readonly needed: NanoUsd
      readonly tokensCovered: number | undefined
    }
  /** The money is there, but running turns hold it. */
  | { readonly kind: 'in-flight'; readonly available: NanoUsd; readonly needed: NanoUsd }

/** A cap that we choose ourselves is never below this: a shorter answer helps nobody. */
const CHOSEN_CAP_MIN = 1024
/** A cap that we choose takes this part of the money, so that a second request still finds some. */
const CHOSEN_SHARE = 4n

/** Limits and hold in one step: either all of them are taken, or nothing is. */
export function admitTurn(books: Books, op: AdmitTurn): AdmitOutcome {
  const buckets = bucketsFor(books, op)
  if (buckets.length === 0) return { kind: 'no-subscription' }
  const decided = decideCap(op, buckets)
  if (decided.kind !== 'cap') return decided
  const limited = startUnderLimits(books, op.limits, op.ticks)
  if (limited.kind !== 'started') return limited
  return placeHold(books, op, buckets, decided.cap)
}

/** Key kind decides, and nothing joins the two: a wallet key sees the wallet only, a builder key only its windows. */
function bucketsFor(books: Books, op: AdmitTurn): readonly Bucket[] {
  const account = booksOf(books, op.account)
  return op.kind === 'wallet' ? [account.wallet] : []
}

function decideCap(op: AdmitTurn, buckets: readonly Bucket[]): { kind: 'cap'; cap: number } | MoneyRefusal {
  const available = leastOf(buckets, availableIn)
  const affordable = tokensCovered(op.terms, available)
  const wanted = op.clientCap ?? op.modelCap
  if (affordable !== undefined && affordable >= wanted) return { kind: 'cap', cap: wanted }
  if (op.clientCap === undefined) {
    const cap = chosenCap(op, available)
    if (affordable !== undefined && affordable >= cap) return { kind: 'cap', cap }
    return refuseMoney(op, buckets, cap, available)
  }
  return refuseMoney(op, buckets, op.clientCap, available)
}

function chosenCap(op: AdmitTurn, available: bigint): number {
  const floor = Math.min(CHOSEN_CAP_MIN, op.modelCap)
  const inputHold = holdFor(op.terms, 0)
  const share = tokensCovered(op.terms, inputHold + (available - inputHold) / CHOSEN_SHARE)
  return Math.min(op.modelCap, Math.max(floor, share ?? 0))
}

/** Too little money is 402; enough money that running turns hold is 429, because waiting cures it. */
function refuseMoney(op: AdmitTurn, buckets: readonly Bucket[], cap: number, available: bigint): MoneyRefusal {
  const needed = holdFor(op.terms, cap)
  const posted = leastOf(buckets, (bucket) => bucket.posted)
  if (posted >= needed) return { kind: 'in-flight', available: available as NanoUsd, needed }
  return { kind: 'short', available: available as NanoUsd, needed, tokensCovered: tokensCovered(op.terms, available) }
}

function placeHold(books: Books, op: AdmitTurn, buckets: readonly Bucket[], cap: number): AdmitOutcome {
  const hold = holdFor(op.terms, cap)
  const receipt = books.nextReceipt++
  const { requestId, account, model, priceVersion, limits, inputEstimate } = op
  const outputBound = cap * op.choices
  for (const bucket of buckets) bucket.held += hold
  books.turns.set(requestId, {
    requestId,
    receipt,
    account,
    model,
    priceVersion,
    hold,
    buckets,
    limits,
    inputEstimate,
    outputBound,
  })
  const opened: Change = {
    kind: 'receipt-opened',
    receipt,
    requestId,
    account,
    key: op.key,
    keyKind: op.kind,
    model,
    priceVersion,
    buckets: buckets.map((bucket) => bucket.row),
    hold,
    cap,
    outputBound,
    inputEstimate,
    at: op.at,
  }
  const moved = buckets.map((bucket): Change => ({ kind: 'bucket-moved', bucket: bucket.row, posted: 0n, held: hold }))
  return { kind: 'held', receipt, cap, hold, changes: [opened, ...moved] }
}

const leastOf = (buckets: readonly Bucket[], amountIn: (bucket: Bucket) => bigint): bigint =>
  smallest(...(buckets.map(amountIn) as [bigint, ...bigint[]]))
