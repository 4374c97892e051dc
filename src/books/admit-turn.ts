import type { Allowance } from '../model/allowance.ts'
import type { KeyKind } from '../model/caller.ts'
import { type ChosenCapTerms, type HoldTerms, holdFor } from '../model/hold-terms.ts'
import type { AccountRow, KeyRow, RequestId } from '../model/ids.ts'
import type { AppliedLimit } from '../model/limit.ts'
import type { NanoUsd } from '../model/money.ts'
import {
  type AccountBooks,
  availableIn,
  type Books,
  type Bucket,
  booksOf,
  type Claim,
  type CountedSpend,
  mustHold,
  type OpenTurn,
} from './books.ts'
import type { Change, ReceiptOpened } from './changes.ts'
import { type ClaimRequest, openClaim, standingClaim } from './claims.ts'
import { type Draw, decideCap, drawsOf, type MoneyRefusal } from './draws.ts'
import { openPeriod } from './periods.ts'
import { counterSet, countHold } from './spend-counters.ts'
import { lackOfSubscription } from './subscriptions.ts'
import { type LimitRefusal, lookAtLimits, startUnderLimits } from './turn-limits.ts'

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
  /** What the operator wants to happen where the client gave no cap. */
  readonly chosenCap: ChosenCapTerms
  /** How many answers at once: each of them may be as long as the cap. */
  readonly choices: number
  readonly inputEstimate: number
  /** The part of the estimate that the provider saw just before, in the same conversation. */
  readonly cachedEstimate: number
  readonly limits: readonly AppliedLimit[]
  /** The windows of the account's plan for a builder key, and the spend caps of any key. */
  readonly allowances: readonly Allowance[]
  /** Whose windows these are, for a builder key. */
  readonly plan?: string | undefined
  readonly claim: ClaimRequest | undefined
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
  /** Another request has come with the same idempotency key, and the same body or another one. */
  | { readonly kind: 'claimed'; readonly claim: Claim; readonly sameBody: boolean }
  /** A builder key whose account has no running subscription. */
  | { readonly kind: 'no-subscription' }
  /** The account is on another plan by now than when its key was looked at. */
  | { readonly kind: 'plan-changed' }
  /** The books of this account do not add up: nothing moves on it until somebody has looked. */
  | { readonly kind: 'frozen' }

/**
 * Claim, limits and hold in one step: either all of them are taken, or nothing is. Limits are asked before the money: who sends
 * more than may be sent is told to wait, whatever a wallet says that others hold the rest of.
 */
export function admitTurn(books: Books, op: AdmitTurn): AdmitOutcome {
  const claim = op.claim && standingClaim(books, op.claim, op.at)
  if (claim) return { kind: 'claimed', claim, sameBody: claim.fingerprint === op.claim?.fingerprint }
  const account = booksOf(books, op.account)
  if (account.frozen) return { kind: 'frozen' }
  const unsubscribed = op.kind === 'builder' ? lackOfSubscription(account, op) : undefined
  if (unsubscribed) return { kind: unsubscribed }
  const limited = lookAtLimits(books, op.limits, op.ticks)
  if (limited) return limited
  const draws = drawsOf(account, op)
  const decided = decideCap(op, draws)
  if (decided.kind !== 'cap') return decided
  const hold = holdFor(op.terms, decided.cap)
  const drawn = hold > 0n ? draws : draws.filter(isWallet)
  mustHold(
    drawn.every((draw) => availableIn(draw) >= hold),
    'a hold is placed on what is there',
  )
  startUnderLimits(books, op.limits, op.ticks)
  return placeHold(books, op, account, { drawn, hold, cap: decided.cap })
}

interface DecidedHold {
  readonly drawn: readonly Draw[]
  readonly hold: NanoUsd
  readonly cap: number
}

function placeHold(
  books: Books,
  op: AdmitTurn,
  account: AccountBooks,
  { drawn, hold, cap }: DecidedHold,
): AdmitOutcome {
  const { at } = op
  const receipt = books.next.receipt++
  const { buckets, counted, changes } = holdOnAll(books, account, drawn, { receipt, hold, at })
  const turn = openTurnOf(op, { receipt, hold, buckets, counted, outputBound: cap * op.choices })
  books.turns.set(turn.requestId, turn)
  changes.push(receiptOf(turn, op, cap))
  for (const { row } of buckets) changes.push({ kind: 'bucket-moved', bucket: row, posted: 0n, held: hold })
  for (const { counter } of counted) changes.push(counterSet(op.account, counter))
  if (op.claim) changes.push(openClaim(books, op.claim, { requestId: op.requestId, receipt, at }))
  return { kind: 'held', receipt, cap, hold, changes }
}

type Placed = Pick<OpenTurn, 'receipt' | 'hold' | 'buckets' | 'counted' | 'outputBound'>

/** Each field by its name: spread from another object they would take longer than all of the admission. */
const openTurnOf = (op: AdmitTurn, { receipt, hold, buckets, counted, outputBound }: Placed): OpenTurn => ({
  requestId: op.requestId,
  receipt,
  account: op.account,
  model: op.model,
  priceVersion: op.priceVersion,
  hold,
  buckets,
  counted,
  limits: op.limits,
  claim: op.claim?.scope,
  inputEstimate: op.inputEstimate,
  cachedEstimate: op.cachedEstimate,
  outputBound,
})

const receiptOf = (turn: OpenTurn, { key, kind, at }: AdmitTurn, cap: number): ReceiptOpened => ({
  kind: 'receipt-opened',
  receipt: turn.receipt,
  requestId: turn.requestId,
  account: turn.account,
  key,
  keyKind: kind,
  model: turn.model,
  priceVersion: turn.priceVersion,
  buckets: turn.buckets.map((bucket) => bucket.row),
  caps: turn.counted.map(({ name }) => name),
  hold: turn.hold,
  cap,
  outputBound: turn.outputBound,
  inputEstimate: turn.inputEstimate,
  cachedEstimate: turn.cachedEstimate,
  at,
})

/**
 * What costs nothing uses no allowance: with neither hold nor charge its period would count as unused, and be moved or
 * closed under the turn.
 */
const isWallet = (draw: Draw): boolean => draw.standing === undefined

/** On all of them or on none: from here on nothing refuses any more, so windows may be opened. */
function holdOnAll(
  books: Books,
  account: AccountBooks,
  draws: readonly Draw[],
  { receipt, hold, at }: { readonly receipt: number; readonly hold: NanoUsd; readonly at: number },
) {
  const changes: Change[] = []
  const buckets: Bucket[] = []
  let counted = NOT_COUNTED
  for (const { standing } of draws) {
    if (standing?.allowance.unit === 'cap') {
      counted = [...counted, countHold(account, standing, { receipt, hold })]
      continue
    }
    const opened = standing && openPeriod(books, account, standing, at)
    if (opened) changes.push(...opened.changes)
    const bucket = opened?.bucket ?? account.wallet
    bucket.held += hold
    buckets.push(bucket)
  }
  return { buckets, counted, changes }
}

const NOT_COUNTED: readonly CountedSpend[] = []
