import type { AppliedLimit } from '../../model/limit.ts'
import type { CompactedTokens } from '../../model/turn.ts'

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
  readonly rates: { subject: string; nowMicros: number; cost: number }[]
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

export interface NaiveClaim {
  readonly scope: string
  readonly fingerprint: string
  readonly expiresAt: number
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

export const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, amount) => total + amount, 0n)
export const isOpen = (turn: NaiveTurn): boolean => turn.state === 'open'

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
function isUsed(facts: NaiveFacts, period: NaivePeriod): boolean {
  const { used, held } = usedIn(facts, period)
  return used > 0n || held > 0n
}

export function runningPeriod(
  facts: NaiveFacts,
  account: number,
  subject: string,
  at: number,
): NaivePeriod | undefined {
  const last = facts.periods.findLast(
    (period) => period.account === account && period.subject === subject && isUsed(facts, period),
  )
  return last && last.end > at ? last : undefined
}

export const runningPlan = (facts: NaiveFacts, account: number, at: number) => {
  const last = facts.plans.findLast((plan) => plan.account === account)
  return last && (last.endsAt === undefined || last.endsAt > at) ? last : undefined
}
