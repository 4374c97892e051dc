import type { Allowance } from '../model/allowance.ts'
import type { CompactedTokens } from '../model/compaction.ts'
import type { ChosenCapTerms, HoldTerms } from '../model/hold-terms.ts'
import type { AppliedLimit } from '../model/limit.ts'
import { endOfPeriod } from './naive-calendar.fixture.ts'

/**
 * The rules of money a second time, too simple to be wrong: nothing but a list of what happened. No balance is kept
 * anywhere; whoever asks for one gets it added up from the beginning.
 */
export interface NaiveFacts {
  readonly transfers: { account: number; amount: bigint }[]
  readonly turns: NaiveTurn[]
  readonly periods: NaivePeriod[]
  readonly plans: { account: number; plan: string; billingDay: number; endsAt: number | undefined }[]
  /** What was taken from a rate, and what was given back to it, with the moment. */
  readonly rates: { subject: string; ticks: number; cost: number }[]
  readonly frozen: Set<number>
  /** What closed on an account, and what was moved on its wallet: in this order, and with this behind it. */
  readonly history: { account: number; what: 'charge' | 'transfer'; balance: bigint | undefined }[]
}

export interface NaiveTurn {
  readonly requestId: string
  readonly account: number
  readonly onWallet: boolean
  readonly onPeriods: readonly NaivePeriod[]
  readonly hold: bigint
  readonly limits: readonly AppliedLimit[]
  readonly claim: NaiveClaim | undefined
  state: 'open' | 'settled' | 'released'
  charge: bigint
  kept: boolean
  compaction: CompactedTokens | undefined
}

/** A period of an allowance, from the first hold on it. */
export interface NaivePeriod {
  readonly account: number
  readonly subject: string
  readonly unit: 'quota' | 'cap'
  readonly end: number
  /** What was granted when it opened, and whenever that changed. */
  readonly amounts: bigint[]
}

interface NaiveClaim {
  readonly scope: string
  readonly fingerprint: string
  readonly expiresAt: number
}

export interface NaiveAdmit {
  readonly requestId: string
  readonly account: number
  readonly kind: 'wallet' | 'builder'
  readonly terms: HoldTerms
  readonly clientCap: number | undefined
  readonly modelCap: number
  readonly chosenCap: ChosenCapTerms
  readonly limits: readonly AppliedLimit[]
  readonly allowances: readonly Allowance[]
  readonly claim: NaiveClaim | undefined
  readonly at: number
  readonly ticks: number
}

export const createFacts = (): NaiveFacts => ({
  transfers: [],
  turns: [],
  periods: [],
  plans: [],
  rates: [],
  frozen: new Set(),
  history: [],
})

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n)
const isOpen = (turn: NaiveTurn): boolean => turn.state === 'open'

// What the facts add up to.

export function walletOf(facts: NaiveFacts, account: number): { posted: bigint; held: bigint } {
  const turns = facts.turns.filter((turn) => turn.account === account && turn.onWallet)
  const credited = sum(facts.transfers.filter((each) => each.account === account).map(({ amount }) => amount))
  return {
    posted: credited - sum(turns.map(({ charge }) => charge)),
    held: sum(turns.filter(isOpen).map(({ hold }) => hold)),
  }
}

export function usedIn(facts: NaiveFacts, period: NaivePeriod): { used: bigint; held: bigint } {
  const turns = facts.turns.filter((turn) => turn.onPeriods.includes(period))
  return { used: sum(turns.map(({ charge }) => charge)), held: sum(turns.filter(isOpen).map(({ hold }) => hold)) }
}

/** More counts at once and less for later windows; of a spend cap the last word counts. */
export const grantedIn = ({ unit, amounts }: NaivePeriod): bigint =>
  unit === 'cap' ? amounts.at(-1)! : amounts.reduce((most, amount) => (amount > most ? amount : most))

/** A period with no charge and no hold counts as unopened. */
export function isUsed(facts: NaiveFacts, period: NaivePeriod): boolean {
  const { used, held } = usedIn(facts, period)
  return used > 0n || held > 0n
}

function runningPeriod(facts: NaiveFacts, account: number, subject: string, at: number): NaivePeriod | undefined {
  const last = facts.periods.findLast(
    (period) => period.account === account && period.subject === subject && isUsed(facts, period),
  )
  return last && last.end > at ? last : undefined
}

export const runningPlan = (facts: NaiveFacts, account: number, at: number) => {
  const last = facts.plans.findLast((plan) => plan.account === account)
  return last && (last.endsAt === undefined || last.endsAt > at) ? last : undefined
}

// What a turn costs at most, and how much output some money covers: found by trying.

const costOf = ({ inputPico, outputPicoPerToken, perRequest }: HoldTerms, cap: number): bigint => {
  const pico = inputPico + BigInt(cap) * outputPicoPerToken
  return pico / 1000n + (pico % 1000n === 0n ? 0n : 1n) + perRequest
}

export function largestCap(terms: HoldTerms, money: bigint, most: number): number | undefined {
  if (costOf(terms, 0) > money) return undefined
  let [fits, below] = [0, most + 1]
  while (below - fits > 1) {
    const middle = fits + Math.floor((below - fits) / 2)
    if (costOf(terms, middle) <= money) fits = middle
    else below = middle
  }
  return fits
}

// Admission.

interface Purse {
  readonly allowance: Allowance | undefined
  readonly period: NaivePeriod | undefined
  readonly granted: bigint
  readonly used: bigint
  readonly held: bigint
  readonly end: number
}

const claimedBy = ({ claim }: NonNullable<ReturnType<typeof takenClaim>>, op: NaiveAdmit) => ({
  kind: 'claimed',
  claim,
  sameBody: claim.fingerprint === op.claim?.fingerprint,
})

export function admitNaively(facts: NaiveFacts, op: NaiveAdmit): { readonly kind: string } {
  const taken = op.claim && takenClaim(facts, op.claim.scope, op.at)
  if (taken) return claimedBy(taken, op)
  if (facts.frozen.has(op.account)) return { kind: 'frozen' }
  const hasWindow = op.allowances.some(({ unit }) => unit === 'quota')
  if (op.kind === 'builder' && !(hasWindow && runningPlan(facts, op.account, op.at))) return { kind: 'no-subscription' }
  const purses = pursesOf(facts, op)
  const available = purses.map(leftIn).reduce((least, each) => (each < least ? each : least))
  const cap = capFor(op, available)
  const hold = costOf(op.terms, cap)
  if (hold > available) return refusalFor(op, purses, available, hold)
  const limited = limitedBy(facts, op)
  if (limited) return limited
  takeHold(facts, op, purses, hold)
  return { kind: 'held', ...{ receipt: facts.turns.length, cap, hold } }
}

function pursesOf(facts: NaiveFacts, op: NaiveAdmit): Purse[] {
  const wallet = walletOf(facts, op.account)
  const ofWallet = { allowance: undefined, period: undefined, used: 0n, end: Number.POSITIVE_INFINITY }
  const purses: Purse[] = op.kind === 'wallet' ? [{ ...ofWallet, granted: wallet.posted, held: wallet.held }] : []
  for (const allowance of op.allowances) {
    if (allowance.unit === 'quota' && op.kind === 'wallet') continue
    const period = runningPeriod(facts, op.account, allowance.subject, op.at)
    const billingDay = runningPlan(facts, op.account, op.at)?.billingDay ?? 1
    const fresh = { used: 0n, held: 0n, end: endOfPeriod(allowance.cycle, op.at, billingDay) }
    const granted = period && allowance.unit === 'quota' ? grantedIn(period) : allowance.amount
    purses.push({ allowance, period, granted, ...(period ? { ...usedIn(facts, period), end: period.end } : fresh) })
  }
  return purses
}

const leftIn = ({ granted, used, held }: Purse): bigint => {
  const left = granted - used - held
  return left > 0n ? left : 0n
}

/** A client's cap as it is; else the model's maximum, else a part of the money, else the least that helps. */
function capFor({ terms, clientCap, modelCap, chosenCap }: NaiveAdmit, available: bigint): number {
  if (clientCap !== undefined) return clientCap
  if (costOf(terms, modelCap) <= available) return modelCap
  const inputCost = costOf(terms, 0)
  const least = Math.min(chosenCap.tokensMin, modelCap)
  if (available < inputCost) return least
  const part = ((available - inputCost) * BigInt(chosenCap.sharePercent)) / 100n
  return Math.max(least, largestCap(terms, inputCost + part, modelCap) ?? 0)
}

function refusalFor({ terms, at }: NaiveAdmit, purses: readonly Purse[], available: bigint, needed: bigint) {
  const lack = { available, needed, tokensCovered: largestCap(terms, available, Number.MAX_SAFE_INTEGER) }
  const lacking = purses.filter(({ granted, used }) => granted - used < needed)
  if (lacking.some(({ allowance }) => !allowance)) return { kind: 'short', ...lack }
  const windows = lacking.filter(({ allowance }) => allowance?.unit === 'quota')
  const caps = lacking.filter(({ allowance }) => allowance?.unit === 'cap')
  // What the next window will grant, whatever this one was opened with.
  const tooSmall = windows.find(({ allowance }) => (allowance?.amount ?? 0n) < needed)
  if (tooSmall) {
    return { kind: 'exceeds-allowance', ...lack, ...factsAbout(tooSmall, at), limit: tooSmall.allowance?.amount }
  }
  if (caps.length > 0) return { kind: 'cap-reached', ...lack, ...factsAbout(lastToEnd(caps), at) }
  if (windows.length > 0) return { kind: 'exhausted', ...lack, ...factsAbout(lastToEnd(windows), at) }
  return { kind: 'in-flight', ...lack, of: purses.find((purse) => leftIn(purse) === available)?.allowance }
}

const lastToEnd = (purses: readonly Purse[]): Purse => purses.toSorted((one, other) => other.end - one.end)[0]!

const factsAbout = ({ allowance, granted, used, end }: Purse, at: number) => ({
  allowance,
  limit: granted,
  used,
  resetsAt: end,
  resetsInMs: end - at,
})

function takeHold(facts: NaiveFacts, op: NaiveAdmit, purses: readonly Purse[], hold: bigint): void {
  const onPeriods = hold === 0n ? [] : purses.flatMap((purse) => periodFor(facts, op, purse) ?? [])
  const { requestId, account, limits, claim } = op
  const rest = { state: 'open', charge: 0n, kept: false, compaction: undefined } as const
  facts.turns.push({ requestId, account, onWallet: op.kind === 'wallet', onPeriods, hold, limits, claim, ...rest })
  for (const { kind, subject, cost } of limits) {
    if (kind !== 'concurrent') facts.rates.push({ subject, ticks: op.ticks, cost })
  }
}

function periodFor(facts: NaiveFacts, { account }: NaiveAdmit, { allowance, period, end }: Purse) {
  if (!allowance) return undefined
  const { subject, unit, amount } = allowance
  if (period) {
    if (unit === 'cap') period.amounts.push(amount)
    return period
  }
  const opened: NaivePeriod = { account, subject, unit, end, amounts: [amount] }
  facts.periods.push(opened)
  return opened
}

/** The last turn with the key has it while it runs, and after a charge until its time is over. */
function takenClaim(facts: NaiveFacts, scope: string, at: number) {
  const index = facts.turns.findLastIndex((turn) => turn.claim?.scope === scope && turn.state !== 'released')
  const turn = facts.turns[index]
  if (!turn?.claim || !(turn.state === 'open' || turn.claim.expiresAt > at)) return undefined
  const state = turn.state === 'open' ? 'running' : turn.kept ? 'kept' : 'not-kept'
  return { claim: { ...turn.claim, requestId: turn.requestId, receipt: index + 1, state } }
}

// Limits.

const MINUTE_MICROS = 60_000_000

function limitedBy(facts: NaiveFacts, op: NaiveAdmit): { readonly kind: string } | undefined {
  const waits: { readonly limit: AppliedLimit; readonly retryAfterMs: number }[] = []
  for (const limit of op.limits) {
    if (limit.kind === 'concurrent') {
      const running = facts.turns.filter(
        (turn) => isOpen(turn) && turn.limits.some(({ subject }) => subject === limit.subject),
      )
      if (running.length >= limit.limit) waits.push({ limit, retryAfterMs: 1000 })
      continue
    }
    if (limit.cost > limit.burst) return { kind: 'limit-too-small', ...{ limit } }
    const micros = MINUTE_MICROS / limit.limit
    const over = owedTo(facts, limit, op.ticks) + (limit.cost - limit.burst) * micros
    if (over > 0) waits.push({ limit, retryAfterMs: Math.ceil(over) / 1000 })
  }
  const longest = Math.max(...waits.map(({ retryAfterMs }) => retryAfterMs))
  const named = waits.find(({ retryAfterMs }) => retryAfterMs === longest)
  return named && { kind: 'limited', ...named }
}

/** How long, in microseconds, until everything that was taken is earned back. */
function owedTo({ rates }: NaiveFacts, { subject, limit }: AppliedLimit, ticks: number): number {
  let owed = 0
  let then = 0
  for (const fact of rates) {
    if (fact.subject !== subject) continue
    owed = Math.max(0, owed - (fact.ticks - then)) + (fact.cost * MINUTE_MICROS) / limit
    then = fact.ticks
  }
  return Math.max(0, owed - (ticks - then))
}

// Every other operation.

export interface NaiveClose {
  readonly requestId: string
  readonly cost: bigint | undefined
  readonly tokens: number
  readonly kept: boolean
  readonly compaction: CompactedTokens | undefined
  readonly ticks: number
}

export function closeNaively(facts: NaiveFacts, op: NaiveClose): { readonly kind: string } {
  const turn = facts.turns.find(({ requestId }) => requestId === op.requestId)
  if (!turn || !isOpen(turn)) return { kind: 'not-open' }
  const cost = op.cost ?? 0n
  turn.state = op.cost === undefined ? 'released' : 'settled'
  turn.charge = cost > turn.hold ? turn.hold : cost
  turn.kept = op.kept
  turn.compaction = op.compaction
  const { account } = turn
  facts.history.push({ account, what: 'charge', balance: turn.onWallet ? walletOf(facts, account).posted : undefined })
  for (const { kind, subject, cost: reserved } of turn.limits) {
    if (kind === 'tokens') facts.rates.push({ subject, ticks: op.ticks, cost: op.tokens - reserved })
  }
  return { kind: 'closed', ...{ charge: turn.charge, shortfall: cost - turn.charge } }
}

const BILLION = 1_000_000_000n * 1_000_000_000n

export function transferNaively(facts: NaiveFacts, account: number, amount: bigint): { readonly kind: string } {
  const { posted, held } = walletOf(facts, account)
  if (posted - held + amount < 0n) return { kind: 'short', ...{ available: posted - held } }
  if (amount > 0n && posted + amount > BILLION) {
    return { kind: 'too-much', ...{ holder: 'wallet', most: BILLION } }
  }
  const issued = sum(facts.transfers.map((each) => each.amount))
  if (amount > 0n && issued + amount > 9n * BILLION) {
    return { kind: 'too-much', ...{ holder: 'books', most: 9n * BILLION } }
  }
  facts.transfers.push({ account, amount })
  facts.history.push({ account, what: 'transfer', balance: posted + amount })
  return { kind: 'transferred' }
}

export interface NaiveAssign {
  readonly account: number
  readonly plan: string
  readonly windows: readonly Allowance[]
  readonly endsAt: number | undefined
  readonly at: number
}

export function assignNaively(facts: NaiveFacts, op: NaiveAssign): { readonly kind: string } {
  const { account, plan, endsAt, at } = op
  const running = runningPlan(facts, account, at)
  if (running?.plan === plan) return endNaively(facts, account, endsAt, at)
  if (running) running.endsAt = at
  const billingDay = running?.billingDay ?? Number(new Date(at).toISOString().slice(8, 10))
  facts.plans.push({ account, plan, billingDay, endsAt })
  for (const { subject, amount } of op.windows) runningPeriod(facts, account, subject, at)?.amounts.push(amount)
  return { kind: 'changed' }
}

export function endNaively(facts: NaiveFacts, account: number, endsAt: number | undefined, at: number) {
  const running = runningPlan(facts, account, at)
  if (!running) return { kind: 'no-subscription' }
  if (running.endsAt === endsAt) return { kind: 'unchanged' }
  running.endsAt = endsAt
  return { kind: 'changed' }
}
