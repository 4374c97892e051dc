import { type Allowance, type Measure, measureOf } from '../../model/allowance.ts'
import type { AppliedLimit, KeyKind } from '../../model/caller.ts'
import type { Ending, Owed } from '../../model/ending.ts'
import type { AccountRow, BucketRow, KeyRow, RequestId } from '../../model/ids.ts'
import { type NanoUsd, ZERO } from '../../model/money.ts'
import { type ChosenCapTerms, type HoldTerms, heldAmountFor, inputTokensOf, tokensCovered } from '../../model/price.ts'
import type { Delivery } from '../../model/turn.ts'
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
  BrokenRule,
  type Bucket,
  type Change,
  type Claim,
  type CountedSpend,
  type LedgerState,
  type OpenTurn,
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
  /** For a builder key the windows of the account's plan; for any key the caps of the key, its person and its team. */
  readonly allowances: readonly Allowance[]
  /** The plan that a builder key's windows belong to. */
  readonly plan?: string | undefined
  readonly claim: ClaimRequest | undefined
  /** Of its client, for the receipt: see `writeTags` in model/tags.ts. */
  readonly tags?: string | undefined
  /** What the client asked for that changes the price: `PricedValues` as JSON. */
  readonly asked?: string | undefined
  /** Of a JSON answer nothing is delivered before its end. */
  readonly delivery?: Delivery | undefined
}

/** When an operation is decided: ledger time, and monotonic time for the limits. */
export interface Moment {
  readonly at: number
  readonly nowMicros: number
}

export type AdmitOutcome =
  | {
      readonly kind: 'held'
      readonly receipt: number
      readonly cap: number
      readonly heldAmount: NanoUsd
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
export function admitTurn(ledgerState: LedgerState, op: AdmitRequest, { at, nowMicros }: Moment): AdmitOutcome {
  const claim = op.claim && existingClaim(ledgerState, op.claim, at)
  if (claim) return { kind: 'claimed', claim, sameBody: claim.fingerprint === op.claim?.fingerprint }
  const account = accountStateOf(ledgerState, op.account)
  if (account.frozen) return { kind: 'frozen' }
  const unsubscribed = op.kind === 'builder' ? checkSubscription(account, op, at) : undefined
  if (unsubscribed) return { kind: unsubscribed }
  const limited = checkLimits(ledgerState, op.limits, nowMicros)
  if (limited) return limited
  const draws = drawsOf(account, op, at)
  const decided = decideCap(op, draws, at)
  if (decided.kind !== 'decided') return decided
  const { cap, heldAmount } = decided
  const heldTokens = tokensHeld(op, cap)
  const drawn: PlacedDraw[] = []
  for (const draw of draws) {
    const amount = heldOf(draw.measure, { heldAmount, heldTokens })
    // A free turn opens no window, and holds on the wallet at most: without hold and charge a window's period would count as unused, and
    // be moved or closed under the turn.
    if (draw.status !== undefined && amount === 0n) continue
    if (draw.posted - draw.held < amount) throw new BrokenRule('a hold is placed on what is there')
    drawn.push({ draw, amount })
  }
  takeLimits(ledgerState, op.limits, nowMicros)
  return placeHold(ledgerState, op, account, { drawn, heldAmount, cap, at })
}

/** Nothing refuses from here on, so windows may be opened. */
function placeHold(
  ledgerState: LedgerState,
  op: AdmitRequest,
  account: AccountState,
  placed: {
    readonly drawn: readonly PlacedDraw[]
    readonly heldAmount: NanoUsd
    readonly cap: number
    readonly at: number
  },
): AdmitOutcome {
  const { requestId } = op
  const { drawn, heldAmount, cap, at } = placed
  const receipt = ledgerState.next.receipt++
  const outputBound = cap * op.choices
  const changes: Change[] = []
  const buckets: Bucket[] = []
  const rows: BucketRow[] = []
  const counted: CountedSpend[] = []
  for (const {
    draw: { status },
    amount,
  } of drawn) {
    if (status?.allowance.unit === 'cap') {
      counted.push(countHold(account, status, { receipt, amount }))
      continue
    }
    const opened = status && openPeriod(ledgerState, account, status, at)
    if (opened) changes.push(...opened.changes)
    const bucket = opened?.bucket ?? account.wallet
    bucket.held += heldAmount
    buckets.push(bucket)
    rows.push(bucket.row)
  }
  // Each field by its name: a spread would take longer than all of the admission.
  ledgerState.turns.set(requestId, {
    requestId,
    receipt,
    account: op.account,
    model: op.model,
    priceVersion: op.priceVersion,
    heldAmount,
    buckets,
    counted,
    limits: op.limits,
    claim: op.claim?.scope,
    inputEstimate: op.inputEstimate,
    cachedEstimate: op.cachedEstimate,
    outputBound,
    asked: op.asked,
  })
  changes.push({
    kind: 'receipt-opened',
    receipt,
    requestId,
    account: op.account,
    key: op.key,
    keyKind: op.kind,
    model: op.model,
    priceVersion: op.priceVersion,
    buckets: rows,
    caps: counted.map(({ mark }) => mark),
    heldAmount,
    cap,
    outputBound,
    inputEstimate: op.inputEstimate,
    cachedEstimate: op.cachedEstimate,
    tags: op.tags,
    asked: op.asked,
    at,
  })
  for (const bucket of rows) changes.push({ kind: 'bucket-moved', bucket, posted: 0n, held: heldAmount })
  for (const { counter } of counted) changes.push(counterSet(op.account, counter))
  if (op.claim) changes.push(openClaim(ledgerState, op.claim, { requestId, receipt, at }))
  return { kind: 'held', receipt, cap, heldAmount, changes }
}

/** Nothing refuses any more. */
interface PlacedDraw {
  readonly draw: Draw
  readonly amount: bigint
}

/** What a turn holds of a balance or a cap. */
export const heldOf = (
  measure: Measure,
  { heldAmount, heldTokens }: { readonly heldAmount: bigint; readonly heldTokens: number },
): bigint => (measure === 'usd' ? heldAmount : measure === 'requests' ? 1n : BigInt(heldTokens))

const tokensHeld = ({ inputEstimate, choices }: Pick<AdmitRequest, 'inputEstimate' | 'choices'>, cap: number): number =>
  inputEstimate + cap * choices

/** One source that a turn uses: the wallet or an allowance. A turn holds on each of its sources, or on none. */
export interface Draw {
  /** Undefined: the wallet. */
  readonly status: AllowanceStatus | undefined
  readonly measure: Measure
  /** What is left, holds included. */
  readonly posted: bigint
  /** What running turns reserve. */
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
  | QuotaShortage

/** A cap on requests or tokens leaves too little. */
export interface QuotaShortage {
  /** `quota-in-flight`: running turns hold the rest. */
  readonly kind: 'quota-reached' | 'quota-in-flight'
  readonly allowance: Allowance
  readonly limit: bigint
  readonly used: bigint
  readonly needed: bigint
  /** The output that a cap on tokens has left; undefined when the input alone is too much. */
  readonly tokensCovered: number | undefined
  readonly resetsAt: number
  readonly resetsInMs: number
}

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

/** A wallet key draws on the wallet and its caps; a builder key never draws on the wallet. */
export function drawsOf(
  account: AccountState,
  { kind, allowances }: Pick<AdmitRequest, 'kind' | 'allowances'>,
  at: number,
): Draw[] {
  const draws: Draw[] = []
  const { posted, held } = account.wallet
  if (kind === 'wallet') draws.push({ status: undefined, measure: 'usd', posted, held })
  for (const allowance of allowances) {
    if (kind === 'wallet' && allowance.unit === 'quota') continue
    const status = allowanceStatusOf(account, allowance, at)
    draws.push({ status, measure: measureOf(allowance), posted: status.posted, held: status.held })
  }
  return draws
}

type WantedCap = Pick<AdmitRequest, 'terms' | 'clientCap' | 'modelCap' | 'chosenCap' | 'inputEstimate' | 'choices'>

/**
 * Decides the output cap and the hold. A client's cap is lowered to what is left for its run, and never for another lack of money or
 * tokens; a cap that we choose is lowered to what they cover.
 */
export function decideCap(
  wish: WantedCap,
  draws: readonly Draw[],
  at: number,
): { readonly kind: 'decided'; readonly cap: number; readonly heldAmount: NanoUsd } | MoneyRefusal {
  const op = wish.clientCap !== undefined && draws.some(isOfRun) ? lowerForRuns(wish, draws) : wish
  let least: bigint | undefined
  let most = op.modelCap
  for (const draw of draws) {
    const available = draw.posted - draw.held
    if (draw.measure !== 'usd') {
      const room = outputUnderQuota(op, draw.measure, available)
      if (room < (op.clientCap ?? Math.min(op.modelCap, op.chosenCap.tokensMin))) return refuseQuota(op, draw, at)
      most = Math.min(most, room)
    } else if (least === undefined || available < least) least = available
  }
  // Never negative, though a spend cap may have been lowered below its usage: what costs nothing passes even then.
  const available = least === undefined || least < 0n ? ZERO : (least as NanoUsd)
  const wanted = op.clientCap ?? most
  const heldAmount = heldAmountFor(op.terms, wanted)
  if (heldAmount <= available) return { kind: 'decided', cap: wanted, heldAmount }
  if (op.clientCap !== undefined) return refuseMoney(op.terms, draws, { available, needed: heldAmount, at })
  const cap = Math.min(most, chosenCapFor(op, available))
  const lowered = heldAmountFor(op.terms, cap)
  if (lowered <= available) return { kind: 'decided', cap, heldAmount: lowered }
  return refuseMoney(op.terms, draws, { available, needed: lowered, at })
}

const isOfRun = ({ status }: Draw): boolean => status?.allowance.holder === 'run'

/** An agent near the end of its budget gets a shorter answer rather than none: as long as one that gave no cap would get at least. */
function lowerForRuns(op: WantedCap, draws: readonly Draw[]): WantedCap {
  const { clientCap = op.modelCap, chosenCap, terms } = op
  let room = clientCap
  for (const draw of draws) {
    if (!isOfRun(draw)) continue
    const left = draw.posted > draw.held ? draw.posted - draw.held : 0n
    const covered =
      draw.measure === 'usd'
        ? (tokensCovered(terms, left as NanoUsd) ?? 0)
        : outputUnderQuota(op, draw.measure, draw.posted - draw.held)
    room = Math.min(room, covered)
  }
  return { ...op, clientCap: Math.max(room, Math.min(clientCap, chosenCap.tokensMin)) }
}

/** The output cap that a cap on requests or tokens leaves room for; -1 when it leaves none for the request itself. */
function outputUnderQuota({ inputEstimate, choices }: WantedCap, measure: Measure, available: bigint): number {
  if (measure === 'requests') return available > 0n ? Number.MAX_SAFE_INTEGER : -1
  const left = Number(available) - inputEstimate
  return left < 0 ? -1 : Math.floor(left / choices)
}

function refuseQuota(op: WantedCap, { status, measure, posted, held }: Draw, at: number): QuotaShortage {
  if (status === undefined) throw new Error('A wallet counts neither requests nor tokens')
  const least = op.clientCap ?? Math.min(op.modelCap, op.chosenCap.tokensMin)
  const needed = heldOf(measure, { heldAmount: 0n, heldTokens: tokensHeld(op, least) })
  const { allowance, granted, period } = status
  const room = measure === 'tokens' ? outputUnderQuota(op, measure, posted - held) : -1
  const tokensCovered = room < 0 ? undefined : room
  const amounts = { allowance, limit: granted, used: granted - posted, needed, tokensCovered }
  const resets = { resetsAt: period.end, resetsInMs: period.end - at }
  return { kind: posted < needed ? 'quota-reached' : 'quota-in-flight', ...amounts, ...resets }
}

function chosenCapFor({ terms, modelCap, chosenCap }: WantedCap, available: bigint): number {
  const inputHold = heldAmountFor(terms, 0)
  const share = ((available - inputHold) * BigInt(chosenCap.sharePercent)) / 100n
  const tokens = tokensCovered(terms, inputHold + share) ?? 0
  return Math.min(modelCap, Math.max(chosenCap.tokensMin, tokens))
}

/** Names a lack that waiting does not resolve first. */
function refuseMoney(
  terms: HoldTerms,
  draws: readonly Draw[],
  { available, needed, at }: { readonly available: NanoUsd; readonly needed: NanoUsd; readonly at: number },
): MoneyRefusal {
  const lack = { available, needed, tokensCovered: tokensCovered(terms, available) }
  const lacking = draws.filter(({ measure, posted }) => measure === 'usd' && posted < needed)
  if (lacking.some((draw) => draw.status === undefined)) return { kind: 'short', ...lack }
  const allowances = lacking.flatMap(({ status }) => status ?? [])
  // The next period decides whether waiting helps: another plan may have opened the running one.
  const beyond = allowances.find(({ allowance }) => allowance.unit === 'quota' && allowance.amount < needed)
  if (beyond) return { kind: 'exceeds-allowance', ...lack, ...factsOf(beyond, at), limit: beyond.allowance.amount }
  const cappedBy = latestOf(allowances, 'cap')
  if (cappedBy) return { kind: 'cap-reached', ...lack, ...factsOf(cappedBy, at) }
  const window = latestOf(allowances, 'quota')
  if (window) return { kind: 'exhausted', ...lack, ...factsOf(window, at) }
  const tightest = draws.find(({ measure, posted, held }) => measure === 'usd' && posted - held <= available)
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
export interface CloseTurn extends Moment {
  readonly requestId: RequestId
  readonly ending: Ending
}

export interface Charged {
  readonly charge: NanoUsd
  readonly shortfall: NanoUsd
}

export type CloseOutcome =
  | ({ readonly kind: 'closed'; readonly changes: readonly Change[] } & Charged)
  /** The hold was resolved before. Nothing changes. */
  | { readonly kind: 'not-open' }

/** The one way a hold ends in memory, for every ending of every endpoint. The PostgreSQL ledger has its own in SQL. */
export function closeTurn(ledgerState: LedgerState, op: CloseTurn): CloseOutcome {
  const turn = ledgerState.turns.get(op.requestId)
  if (!turn) return { kind: 'not-open' }
  const { at, ending } = op
  const { owed } = ending
  const { charge, shortfall } = chargeWithin(turn.heldAmount, owed)
  if (charge < 0n || charge > turn.heldAmount) throw new BrokenRule('a charge is within its hold')
  for (const { held } of turn.buckets)
    if (held < turn.heldAmount) throw new BrokenRule('a hold ends where it was placed')
  if (turn.counted.length > 0) assertHoldCounted(turn)
  ledgerState.turns.delete(op.requestId)
  let balance: bigint | undefined
  for (const bucket of turn.buckets) {
    bucket.held -= turn.heldAmount
    bucket.posted -= charge
    if (bucket.unit === 'usd') balance = bucket.posted
  }
  const tokens = owed ? inputTokensOf(owed.usage) + owed.usage.output : 0
  releaseLimits(ledgerState, turn.limits, tokens, op.nowMicros)
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
      balance,
    },
  ]
  for (const { row } of turn.buckets) {
    changes.push({ kind: 'bucket-moved', bucket: row, posted: -charge, held: -turn.heldAmount })
  }
  if (turn.counted.length > 0) changes.push(...countCharge(turn, { charge, isSettled: owed !== undefined, tokens }))
  if (account.endedWithHolds.size > 0) changes.push(...closeOutlived(ledgerState, account, turn, at))
  if (turn.claim !== undefined) changes.push(endClaim(ledgerState, turn.claim, claimStateOf(ending)))
  return { kind: 'closed', charge, shortfall, changes }
}

/** A charge never exceeds its hold; the rest of the cost is recorded as shortfall. */
export function chargeWithin(heldAmount: NanoUsd, owed: Pick<Owed, 'cost'> | undefined): Charged {
  const cost = owed?.cost ?? ZERO
  const charge = cost < heldAmount ? cost : heldAmount
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
