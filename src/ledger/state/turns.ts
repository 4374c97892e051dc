import type { Allowance } from '../../model/allowance.ts'
import type { AppliedLimit, KeyKind } from '../../model/caller.ts'
import type { Ending, Owed } from '../../model/ending.ts'
import type { AccountRow, KeyRow, RequestId } from '../../model/ids.ts'
import { largest, type NanoUsd, smallest, ZERO } from '../../model/money.ts'
import { type ChosenCapTerms, type HoldTerms, holdFor, inputTokensOf, tokensCovered } from '../../model/price.ts'
import {
  allowanceStatusOf,
  assertHoldCounted,
  closePeriod,
  countCharge,
  counterSet,
  countHold,
  openPeriod,
} from './allowances.ts'
import { checkSubscription } from './operator-commands.ts'
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
import { checkLimits, type LimitRefusal, releaseLimits, takeLimits } from './turn-limits.ts'

/** Who pays for a turn, its maximum cost, and the limits it has to pass. */
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
  /** For a client that gave no cap. */
  readonly chosenCap: ChosenCapTerms
  /** The number of answers, each of which may be as long as the cap. */
  readonly choices: number
  readonly inputEstimate: number
  /** The part of the estimate that the provider has just seen in the same conversation. */
  readonly cachedEstimate: number
  readonly limits: readonly AppliedLimit[]
  /** For a builder key the windows of the account's plan; for any key its spend caps. */
  readonly allowances: readonly Allowance[]
  /** The plan that a builder key's windows belong to. */
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
  /** Another request has taken the idempotency key. */
  | { readonly kind: 'claimed'; readonly claim: Claim; readonly sameBody: boolean }
  /** A builder key whose account has no running subscription. */
  | { readonly kind: 'no-subscription' }
  /** The account's plan has changed since its key was looked up. */
  | { readonly kind: 'plan-changed' }
  /** The account does not balance: nothing moves on it until an operator has looked. */
  | { readonly kind: 'frozen' }

/**
 * Takes claim, limits and hold in one step, all or none. Limits come before money: a client over its rate limit is told to
 * wait even while other turns hold the rest of its wallet.
 */
export function admitTurn(ledgerState: LedgerState, op: AdmitTurn): AdmitOutcome {
  const claim = op.claim && existingClaim(ledgerState, op.claim, op.at)
  if (claim) return { kind: 'claimed', claim, sameBody: claim.fingerprint === op.claim?.fingerprint }
  const account = accountStateOf(ledgerState, op.account)
  if (account.frozen) return { kind: 'frozen' }
  const unsubscribed = op.kind === 'builder' ? checkSubscription(account, op) : undefined
  if (unsubscribed) return { kind: unsubscribed }
  const limited = checkLimits(ledgerState, op.limits, op.nowMicros)
  if (limited) return limited
  const draws = drawsOf(account, op)
  const decided = decideCap(op, draws)
  if (decided.kind !== 'cap') return decided
  const hold = holdFor(op.terms, decided.cap)
  const drawn = hold > 0n ? draws : draws.filter(isWallet)
  for (const draw of drawn) assertRule(availableIn(draw) >= hold, 'a hold is placed on what is there')
  takeLimits(ledgerState, op.limits, op.nowMicros)
  return placeHold(ledgerState, op, account, { drawn, hold, cap: decided.cap })
}

function placeHold(
  ledgerState: LedgerState,
  op: AdmitTurn,
  account: AccountState,
  { drawn, hold, cap }: { readonly drawn: readonly Draw[]; readonly hold: NanoUsd; readonly cap: number },
): AdmitOutcome {
  const { requestId, at } = op
  const receipt = ledgerState.next.receipt++
  const { buckets, counted, changes } = holdOnAll(ledgerState, account, drawn, { receipt, hold, at })
  // Each field by its name: a spread would take longer than all of the admission.
  const turn: OpenTurn = {
    requestId,
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
    outputBound: cap * op.choices,
  }
  ledgerState.turns.set(requestId, turn)
  changes.push(receiptOf(turn, op, cap))
  for (const { row } of buckets) changes.push({ kind: 'bucket-moved', bucket: row, posted: 0n, held: hold })
  for (const { counter } of counted) changes.push(counterSet(op.account, counter))
  if (op.claim) changes.push(openClaim(ledgerState, op.claim, { requestId, receipt, at }))
  return { kind: 'held', receipt, cap, hold, changes }
}

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
 * A free turn draws on the wallet only: with neither hold nor charge a window's period would count as unused, and be moved
 * or closed under the turn.
 */
const isWallet = (draw: Draw): boolean => draw.status === undefined

/** Nothing refuses from here on, so windows may be opened. */
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

/** What a turn draws on: the wallet or an allowance. It holds on all of them or on none. */
export interface Draw {
  /** Undefined: the wallet. */
  readonly status: AllowanceStatus | undefined
  readonly posted: bigint
  readonly held: bigint
}

export type MoneyRefusal =
  | Shortage<'short'>
  /** Running turns hold the amount. `of` is undefined for the wallet. */
  | (Shortage<'in-flight'> & { readonly of: Allowance | undefined })
  /** More than the whole window grants: waiting does not help. */
  | AllowanceShortage<'exceeds-allowance'>
  /** Of the windows that are used up, the one that ends last. */
  | AllowanceShortage<'exhausted'>
  | AllowanceShortage<'cap-reached'>

interface Shortage<Kind extends string> {
  readonly kind: Kind
  readonly available: NanoUsd
  readonly needed: NanoUsd
  /** The output that `available` covers; undefined when it does not cover the input. */
  readonly tokensCovered: number | undefined
}

interface AllowanceShortage<Kind extends string> extends Shortage<Kind> {
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

/** A wallet key draws on the wallet and its caps; a builder key never draws on the wallet. */
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

/** A client's cap is never lowered for lack of money. A cap that we choose is lowered to what the money covers. */
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

/** Names a lack that waiting does not resolve first. */
function refuseMoney({ terms, at }: WantedCap, draws: readonly Draw[], cap: number): MoneyRefusal {
  const needed = holdFor(terms, cap)
  const available = leastAvailable(draws)
  const lack = { available, needed, tokensCovered: tokensCovered(terms, available) }
  const lacking = draws.filter((draw) => draw.posted < needed)
  if (lacking.some((draw) => draw.status === undefined)) return { kind: 'short', ...lack }
  const allowances = lacking.flatMap(({ status }) => status ?? [])
  // The next period decides whether waiting helps: another plan may have opened the running one.
  const beyond = allowances.find(({ allowance }) => allowance.unit === 'quota' && allowance.amount < needed)
  if (beyond) return { kind: 'exceeds-allowance', ...lack, ...factsOf(beyond, at), limit: beyond.allowance.amount }
  const cappedBy = latestOf(allowances, 'cap')
  if (cappedBy) return { kind: 'cap-reached', ...lack, ...factsOf(cappedBy, at) }
  const window = latestOf(allowances, 'quota')
  if (window) return { kind: 'exhausted', ...lack, ...factsOf(window, at) }
  const tightest = draws.find((draw) => largest(availableIn(draw) as NanoUsd, ZERO) === available)
  return { kind: 'in-flight', ...lack, of: tightest?.status?.allowance }
}

/** There is room again only when the last of the used-up ones has ended. */
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

/** Never negative, though a spend cap may have been lowered below its usage: what costs nothing passes even then. */
function leastAvailable(draws: readonly Draw[]): NanoUsd {
  let least: bigint | undefined
  for (const draw of draws) {
    const available = availableIn(draw)
    if (least === undefined || available < least) least = available
  }
  return largest((least ?? 0n) as NanoUsd, ZERO)
}

export interface ClaimRequest {
  /** Digest of the idempotency key within its API key and path; the key itself is not stored. */
  readonly scope: string
  readonly fingerprint: string
  readonly expiresAt: number
}

/** The claim that has the key. Throws unless the key was looked up: the file may have a claim that memory does not know. */
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

function endClaim(ledgerState: LedgerState, scope: string, state: 'kept' | 'not-kept' | 'dropped'): Change {
  const claim = ledgerState.claims.get(scope)
  if (claim === undefined) throw new Error('A turn ended whose idempotency key is not in the ledger')
  ledgerState.claims.set(scope, state === 'dropped' ? undefined : { ...claim, state })
  return { kind: 'claim-ended', receipt: claim.receipt, scope, state }
}

/** Charges what the turn owes, or releases its hold. */
export interface CloseTurn {
  readonly requestId: RequestId
  readonly ending: Ending
  readonly at: number
  readonly nowMicros: number
}

export interface Charged {
  readonly charge: NanoUsd
  readonly shortfall: NanoUsd
}

export type CloseOutcome =
  | ({ readonly kind: 'closed'; readonly changes: readonly Change[] } & Charged)
  /** The hold was resolved before. Nothing changes. */
  | { readonly kind: 'not-open' }

/** The one way a hold ends, for every ending of every endpoint. */
export function closeTurn(ledgerState: LedgerState, op: CloseTurn): CloseOutcome {
  const turn = ledgerState.turns.get(op.requestId)
  if (!turn) return { kind: 'not-open' }
  const { at, ending } = op
  const { owed } = ending
  const { charge, shortfall } = chargeWithin(turn.hold, owed)
  assertRule(charge >= 0n && charge <= turn.hold, 'a charge is within its hold')
  for (const { held } of turn.buckets) assertRule(held >= turn.hold, 'a hold ends where it was placed')
  if (turn.counted.length > 0) assertHoldCounted(turn)
  ledgerState.turns.delete(op.requestId)
  for (const bucket of turn.buckets) {
    bucket.held -= turn.hold
    bucket.posted -= charge
  }
  releaseLimits(ledgerState, turn.limits, owed ? inputTokensOf(owed.usage) + owed.usage.output : 0, op.nowMicros)
  const account = accountStateOf(ledgerState, turn.account)
  const changes: Change[] = [
    {
      kind: 'receipt-closed',
      receipt: turn.receipt,
      account: turn.account,
      at,
      ending,
      charge,
      shortfall,
      movement: ++account.movements,
      balance: turn.buckets.find(({ unit }) => unit === 'usd')?.posted,
    },
  ]
  for (const { row } of turn.buckets) {
    changes.push({ kind: 'bucket-moved', bucket: row, posted: -charge, held: -turn.hold })
  }
  if (turn.counted.length > 0) changes.push(...countCharge(turn, charge))
  if (account.endedWithHolds.size > 0) changes.push(...closeOutlived(ledgerState, account, turn, at))
  if (turn.claim !== undefined) changes.push(endClaim(ledgerState, turn.claim, claimStateOf(ending)))
  return { kind: 'closed', charge, shortfall, changes }
}

/** A charge never exceeds its hold; the rest of the cost is recorded as shortfall. */
export function chargeWithin(hold: NanoUsd, owed: Pick<Owed, 'cost'> | undefined): Charged {
  const cost = owed?.cost ?? ZERO
  const charge = smallest(cost, hold)
  return { charge, shortfall: (cost - charge) as NanoUsd }
}

/** Closes periods that only this turn held on, the oldest first. */
function closeOutlived(ledgerState: LedgerState, account: AccountState, turn: OpenTurn, at: number): readonly Change[] {
  return [...account.endedWithHolds]
    .filter((period) => period.held === 0n && turn.buckets.includes(period))
    .sort((one, other) => one.row - other.row)
    .flatMap((period) => closePeriod(ledgerState, account, period, at))
}

/** A request that was charged is never run again; one that was not may be. */
const claimStateOf = ({ owed, kept }: Ending) => (owed === undefined ? 'dropped' : kept ? 'kept' : 'not-kept')
