import type { Allowance } from '../model/allowance.ts'
import { periodAt } from '../model/cycle.ts'
import {
  type AccountBooks,
  type AllowanceStanding,
  type CountedSpend,
  mustHold,
  type OpenTurn,
  type SpendCounter,
} from './books.ts'
import type { CounterSet } from './changes.ts'

/** How a spend cap stands. A changed cap counts at once, and what was spent in the running period stays spent. */
export function standingOfCap(account: AccountBooks, allowance: Allowance, at: number): AllowanceStanding {
  const { subject, cycle, amount } = allowance
  const counter = account.counters.get(subject)
  if (counter && counter.end > at) {
    const { start, end, spent, held } = counter
    return { allowance, period: { start, end }, running: undefined, granted: amount, posted: amount - spent, held }
  }
  const period = periodAt(cycle, at, 1)
  return { allowance, period, running: undefined, granted: amount, posted: amount, held: 0n }
}

export const roomUnder = ({ bound, spent, held }: SpendCounter): bigint => bound - spent - held

/** Counts a hold against a cap that has room for it. A period that has ended is followed by the next one in the same row. */
export function countHold(
  account: AccountBooks,
  { allowance: { subject, name, amount }, period: { start, end } }: AllowanceStanding,
  { receipt, hold }: Pick<OpenTurn, 'receipt' | 'hold'>,
): CountedSpend {
  let counter = account.counters.get(subject)
  if (!counter) {
    counter = { subject, start, end, firstReceipt: receipt, carried: 0n, bound: amount, spent: 0n, held: 0n }
    account.counters.set(subject, counter)
  } else if (counter.start !== start) {
    Object.assign(counter, { start, end, firstReceipt: receipt, carried: 0n, spent: 0n, held: 0n })
  }
  counter.bound = amount
  counter.held += hold
  return { counter, name }
}

type CountedTurn = Pick<OpenTurn, 'receipt' | 'counted' | 'hold'>

/** But those whose next period has begun since: they do not count this turn any more. */
const runningCounters = ({ receipt, counted }: CountedTurn): SpendCounter[] =>
  counted.flatMap(({ counter }) => (counter.firstReceipt <= receipt ? counter : []))

/** Asked before anything moves. */
export function mustCountHold(turn: CountedTurn): void {
  for (const { held } of runningCounters(turn)) mustHold(held >= turn.hold, 'a hold ends where it was counted')
}

export function countCharge(turn: OpenTurn, charge: bigint): CounterSet[] {
  return runningCounters(turn).map((counter) => {
    counter.held -= turn.hold
    counter.spent += charge
    return counterSet(turn.account, counter)
  })
}

export const counterSet = (account: AccountBooks['account'], counter: SpendCounter): CounterSet => ({
  kind: 'counter-set',
  account,
  ...counter,
})
