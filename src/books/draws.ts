import type { Allowance } from '../model/allowance.ts'
import type { KeyKind } from '../model/caller.ts'
import { type ChosenCapTerms, type HoldTerms, holdFor, tokensCovered } from '../model/hold-terms.ts'
import { largest, type NanoUsd, smallest, ZERO } from '../model/money.ts'
import { type AccountBooks, type AllowanceStanding, availableIn } from './books.ts'
import { standingOfAllowance } from './periods.ts'

/** Something that a turn draws on: the wallet, or an allowance. It holds on all of them or on none. */
export interface Draw {
  /** Undefined: the wallet. */
  readonly standing: AllowanceStanding | undefined
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
export function drawsOf(account: AccountBooks, { kind, allowances, at }: DrawingTurn): Draw[] {
  const draws: Draw[] = []
  if (kind === 'wallet') draws.push({ standing: undefined, posted: account.wallet.posted, held: account.wallet.held })
  for (const allowance of allowances) {
    if (kind === 'wallet' && allowance.unit === 'quota') continue
    const standing = standingOfAllowance(account, allowance, at)
    draws.push({ standing, posted: standing.posted, held: standing.held })
  }
  return draws
}

export interface WantedCap {
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
  if (lacking.some((draw) => draw.standing === undefined)) return { kind: 'short', ...lack }
  const allowances = lacking.flatMap(({ standing }) => standing ?? [])
  // The window that runs may have been opened by another plan: whether waiting helps, the next one decides.
  const beyond = allowances.find(({ allowance }) => allowance.unit === 'quota' && allowance.amount < needed)
  if (beyond) return { kind: 'exceeds-allowance', ...lack, ...factsOf(beyond, at), limit: beyond.allowance.amount }
  const cappedBy = latestOf(allowances, 'cap')
  if (cappedBy) return { kind: 'cap-reached', ...lack, ...factsOf(cappedBy, at) }
  const window = latestOf(allowances, 'quota')
  if (window) return { kind: 'exhausted', ...lack, ...factsOf(window, at) }
  const tightest = draws.find((draw) => availableOn(draw) === available)
  return { kind: 'in-flight', ...lack, of: tightest?.standing?.allowance }
}

/** Only when the last of those that are used up has ended is there room again. */
const latestOf = (standings: readonly AllowanceStanding[], unit: Allowance['unit']): AllowanceStanding | undefined =>
  standings
    .filter(({ allowance }) => allowance.unit === unit)
    .reduce<AllowanceStanding | undefined>(
      (latest, next) => (latest && latest.period.end >= next.period.end ? latest : next),
      undefined,
    )

const factsOf = ({ allowance, granted, posted, period }: AllowanceStanding, at: number) => ({
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
