import type { Allowance } from '../../model/allowance.ts'
import type { KeyKind } from '../../model/caller.ts'
import type { AccountRow, KeyRow, RequestId } from '../../model/ids.ts'
import type { AppliedLimit } from '../../model/limit.ts'
import { largest, type NanoUsd, smallest, ZERO } from '../../model/money.ts'
import { type ChosenCapTerms, type HoldTerms, holdFor, tokensCovered } from '../../model/price.ts'
import { allowanceStatusOf, counterSet, countHold, openPeriod } from './allowances.ts'
import {
  type AccountState,
  type AllowanceStatus,
  accountStateOf,
  assertRule,
  availableIn,
  type Bucket,
  type Change,
  type Claim,
  type CountedSpend,
  type LedgerState,
  type OpenTurn,
  type ReceiptOpened,
} from './state.ts'
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
  readonly nowMicros: number
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
export function admitTurn(ledgerState: LedgerState, op: AdmitTurn): AdmitOutcome {
  const claim = op.claim && existingClaim(ledgerState, op.claim, op.at)
  if (claim) return { kind: 'claimed', claim, sameBody: claim.fingerprint === op.claim?.fingerprint }
  const account = accountStateOf(ledgerState, op.account)
  if (account.frozen) return { kind: 'frozen' }
  const unsubscribed = op.kind === 'builder' ? lackOfSubscription(account, op) : undefined
  if (unsubscribed) return { kind: unsubscribed }
  const limited = lookAtLimits(ledgerState, op.limits, op.nowMicros)
  if (limited) return limited
  const draws = drawsOf(account, op)
  const decided = decideCap(op, draws)
  if (decided.kind !== 'cap') return decided
  const hold = holdFor(op.terms, decided.cap)
  const drawn = hold > 0n ? draws : draws.filter(isWallet)
  assertRule(
    drawn.every((draw) => availableIn(draw) >= hold),
    'a hold is placed on what is there',
  )
  startUnderLimits(ledgerState, op.limits, op.nowMicros)
  return placeHold(ledgerState, op, account, { drawn, hold, cap: decided.cap })
}

interface DecidedHold {
  readonly drawn: readonly Draw[]
  readonly hold: NanoUsd
  readonly cap: number
}

function placeHold(
  ledgerState: LedgerState,
  op: AdmitTurn,
  account: AccountState,
  { drawn, hold, cap }: DecidedHold,
): AdmitOutcome {
  const { at } = op
  const receipt = ledgerState.next.receipt++
  const { buckets, counted, changes } = holdOnAll(ledgerState, account, drawn, { receipt, hold, at })
  const turn = openTurnOf(op, { receipt, hold, buckets, counted, outputBound: cap * op.choices })
  ledgerState.turns.set(turn.requestId, turn)
  changes.push(receiptOf(turn, op, cap))
  for (const { row } of buckets) changes.push({ kind: 'bucket-moved', bucket: row, posted: 0n, held: hold })
  for (const { counter } of counted) changes.push(counterSet(op.account, counter))
  if (op.claim) changes.push(openClaim(ledgerState, op.claim, { requestId: op.requestId, receipt, at }))
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
const isWallet = (draw: Draw): boolean => draw.status === undefined

/** On all of them or on none: from here on nothing refuses any more, so windows may be opened. */
function holdOnAll(
  ledgerState: LedgerState,
  account: AccountState,
  draws: readonly Draw[],
  { receipt, hold, at }: { readonly receipt: number; readonly hold: NanoUsd; readonly at: number },
) {
  const changes: Change[] = []
  const buckets: Bucket[] = []
  let counted = NOT_COUNTED
  for (const { status } of draws) {
    if (status?.allowance.unit === 'cap') {
      counted = [...counted, countHold(account, status, { receipt, hold })]
      continue
    }
    const opened = status && openPeriod(ledgerState, account, status, at)
    if (opened) changes.push(...opened.changes)
    const bucket = opened?.bucket ?? account.wallet
    bucket.held += hold
    buckets.push(bucket)
  }
  return { buckets, counted, changes }
}

const NOT_COUNTED: readonly CountedSpend[] = []

/** Something that a turn draws on: the wallet, or an allowance. It holds on all of them or on none. */
export interface Draw {
  /** Undefined: the wallet. */
  readonly status: AllowanceStatus | undefined
  readonly posted: bigint
  readonly held: bigint
}

export type MoneyRefusal =
  | Lack<'short'>
  /** It is there, but running turns hold it. `of` is undefined for the wallet. */
  | (Lack<'in-flight'> & { readonly of: Allowance | undefined })
  /** More than the whole window grants: waiting does not help. */
  | LackOfAllowance<'exceeds-allowance'>
  /** The window that is used up and ends last of those that are. */
  | LackOfAllowance<'exhausted'>
  | LackOfAllowance<'cap-reached'>

interface Lack<Kind extends string> {
  readonly kind: Kind
  readonly available: NanoUsd
  readonly needed: NanoUsd
  /** The output that the rest would cover; undefined when it does not even cover the input. */
  readonly tokensCovered: number | undefined
}

interface LackOfAllowance<Kind extends string> extends Lack<Kind> {
  readonly allowance: Allowance
  readonly limit: NanoUsd
  readonly used: NanoUsd
  readonly resetsAt: number
  readonly resetsInMs: number
}

interface DrawingTurn {
  readonly kind: KeyKind
  readonly allowances: readonly Allowance[]
  readonly at: number
}

/** The kind of the key decides, and nothing joins the two: a builder key never sees the wallet. */
export function drawsOf(account: AccountState, { kind, allowances, at }: DrawingTurn): Draw[] {
  const draws: Draw[] = []
  if (kind === 'wallet') draws.push({ status: undefined, posted: account.wallet.posted, held: account.wallet.held })
  for (const allowance of allowances) {
    if (kind === 'wallet' && allowance.unit === 'quota') continue
    const status = allowanceStatusOf(account, allowance, at)
    draws.push({ status, posted: status.posted, held: status.held })
  }
  return draws
}

interface WantedCap {
  readonly terms: HoldTerms
  readonly clientCap: number | undefined
  readonly modelCap: number
  readonly chosenCap: ChosenCapTerms
  readonly at: number
}

/** A client's cap is never made smaller for lack of money; one that we choose is what the money covers. */
export function decideCap(
  op: WantedCap,
  draws: readonly Draw[],
): { readonly kind: 'cap'; readonly cap: number } | MoneyRefusal {
  const available = leastAvailable(draws)
  const affordable = tokensCovered(op.terms, available)
  const wanted = op.clientCap ?? op.modelCap
  if (affordable !== undefined && affordable >= wanted) return { kind: 'cap', cap: wanted }
  if (op.clientCap !== undefined) return refuseMoney(op, draws, op.clientCap)
  const cap = chosenCapFor(op, available)
  if (affordable !== undefined && affordable >= cap) return { kind: 'cap', cap }
  return refuseMoney(op, draws, cap)
}

function chosenCapFor({ terms, modelCap, chosenCap }: WantedCap, available: bigint): number {
  const inputHold = holdFor(terms, 0)
  const share = ((available - inputHold) * BigInt(chosenCap.sharePercent)) / 100n
  const tokens = tokensCovered(terms, inputHold + share) ?? 0
  return Math.min(modelCap, Math.max(chosenCap.tokensMin, tokens))
}

/** What does not heal by itself is said first; what waiting cures is 429. */
function refuseMoney({ terms, at }: WantedCap, draws: readonly Draw[], cap: number): MoneyRefusal {
  const needed = holdFor(terms, cap)
  const available = leastAvailable(draws)
  const lack = { available, needed, tokensCovered: tokensCovered(terms, available) }
  const lacking = draws.filter((draw) => draw.posted < needed)
  if (lacking.some((draw) => draw.status === undefined)) return { kind: 'short', ...lack }
  const allowances = lacking.flatMap(({ status }) => status ?? [])
  // The window that runs may have been opened by another plan: whether waiting helps, the next one decides.
  const beyond = allowances.find(({ allowance }) => allowance.unit === 'quota' && allowance.amount < needed)
  if (beyond) return { kind: 'exceeds-allowance', ...lack, ...factsOf(beyond, at), limit: beyond.allowance.amount }
  const cappedBy = latestOf(allowances, 'cap')
  if (cappedBy) return { kind: 'cap-reached', ...lack, ...factsOf(cappedBy, at) }
  const window = latestOf(allowances, 'quota')
  if (window) return { kind: 'exhausted', ...lack, ...factsOf(window, at) }
  const tightest = draws.find((draw) => availableOn(draw) === available)
  return { kind: 'in-flight', ...lack, of: tightest?.status?.allowance }
}

/** Only when the last of those that are used up has ended is there room again. */
const latestOf = (statuses: readonly AllowanceStatus[], unit: Allowance['unit']): AllowanceStatus | undefined =>
  statuses
    .filter(({ allowance }) => allowance.unit === unit)
    .reduce<AllowanceStatus | undefined>(
      (latest, next) => (latest && latest.period.end >= next.period.end ? latest : next),
      undefined,
    )

const factsOf = ({ allowance, granted, posted, period }: AllowanceStatus, at: number) => ({
  allowance,
  limit: granted as NanoUsd,
  used: (granted - posted) as NanoUsd,
  resetsAt: period.end,
  resetsInMs: period.end - at,
})

/** A spend cap may have been lowered below what was used: what costs nothing is let through even then. */
const availableOn = (draw: Draw): NanoUsd => largest(availableIn(draw) as NanoUsd, ZERO)

const leastAvailable = (draws: readonly Draw[]): NanoUsd =>
  smallest(...(draws.map(availableOn) as [NanoUsd, ...NanoUsd[]]))

/** An idempotency key that a request came with. */
export interface ClaimRequest {
  /** Names the key within its API key and path; the key itself is stored nowhere. */
  readonly scope: string
  readonly fingerprint: string
  readonly expiresAt: number
}

/** Whoever has the key already. Its scope has been looked up before, or the answer would be a guess. */
export function existingClaim(
  ledgerState: LedgerState,
  { scope }: Pick<ClaimRequest, 'scope'>,
  at: number,
): Claim | undefined {
  if (!ledgerState.claims.has(scope)) throw new Error('An idempotency key was not looked up before an operation on it')
  const claim = ledgerState.claims.get(scope)
  return claim && (claim.state === 'running' || claim.expiresAt > at) ? claim : undefined
}

function openClaim(
  ledgerState: LedgerState,
  claim: ClaimRequest,
  turn: { readonly requestId: RequestId; readonly receipt: number; readonly at: number },
): Change {
  const { requestId, receipt, at } = turn
  ledgerState.claims.set(claim.scope, { ...claim, requestId, receipt, state: 'running' })
  return { kind: 'claim-opened', receipt, at, ...claim }
}

export function endClaim(ledgerState: LedgerState, scope: string, state: 'kept' | 'not-kept' | 'dropped'): Change {
  const claim = ledgerState.claims.get(scope)
  if (claim === undefined) throw new Error('A turn ended whose idempotency key is not in the books')
  ledgerState.claims.set(scope, state === 'dropped' ? undefined : { ...claim, state })
  return { kind: 'claim-ended', receipt: claim.receipt, scope, state }
}
