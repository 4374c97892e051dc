import type { Allowance } from '../../model/allowance.ts'
import type { AppliedLimit } from '../../model/limit.ts'
import type { ChosenCapTerms, HoldTerms } from '../../model/price.ts'
import { endOfPeriod } from './naive-calendar.fixture.ts'
import {
  grantedIn,
  type NaiveClaim,
  type NaiveFacts,
  type NaivePeriod,
  runningPeriod,
  runningPlan,
  usedIn,
  walletOf,
} from './naive-facts.fixture.ts'
import { limitedBy } from './naive-limits.fixture.ts'

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
  readonly nowMicros: number
}

/** What a turn costs at most. */
const costOf = ({ inputPico, outputPicoPerToken, perRequest }: HoldTerms, cap: number): bigint => {
  const pico = inputPico + BigInt(cap) * outputPicoPerToken
  return pico / 1000n + (pico % 1000n === 0n ? 0n : 1n) + perRequest
}

/** How much output some money covers: found by trying. */
function largestCap(terms: HoldTerms, money: bigint, most: number): number | undefined {
  if (costOf(terms, 0) > money) return undefined
  let [fits, below] = [0, most + 1]
  while (below - fits > 1) {
    const middle = fits + Math.floor((below - fits) / 2)
    if (costOf(terms, middle) <= money) fits = middle
    else below = middle
  }
  return fits
}

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
  const limited = limitedBy(facts, op)
  if (limited) return limited
  const purses = pursesOf(facts, op)
  const available = purses.map(leftIn).reduce((least, each) => (each < least ? each : least))
  const cap = capFor(op, available)
  const hold = costOf(op.terms, cap)
  if (hold > available) return refusalFor(op, purses, available, hold)
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
    if (kind !== 'concurrent') facts.rates.push({ subject, nowMicros: op.nowMicros, cost })
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
