import { type Allowance, amountAt, markOfCap, measureOf, periodAt } from '../../model/allowance.ts'
import type { BucketRow } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'
import {
  type AccountState,
  type AllowanceStatus,
  BrokenRule,
  type Change,
  type CountedSpend,
  type CounterSet,
  EXPIRED,
  type LedgerState,
  type OpenTurn,
  type PeriodBucket,
  SIDES,
  type SpendCounter,
} from './state.ts'

/** Changes nothing: a refused request opens no period. */
export function allowanceStatusOf(account: AccountState, allowance: Allowance, at: number): AllowanceStatus {
  if (allowance.unit === 'cap') return capStatusOf(account, allowance, at)
  const newest = account.periods.get(allowance.subject)
  if (newest && newest.end > at && !isUnused(newest)) {
    // A changed plan counts for the windows that open from now on.
    const { start, end, granted, posted, held } = newest
    return { allowance, period: { start, end }, running: newest, granted, posted, held }
  }
  const { start, end } = periodAt(allowance.cycle, at, account.subscription?.billingDay ?? 1)
  const period = { start: Math.max(start, earliestStart(newest)), end }
  return { allowance, period, running: undefined, granted: allowance.amount, posted: allowance.amount, held: 0n }
}

/** A period opens only after the last one of its window, so that a changed billing day makes none overlap. */
function earliestStart(newest: PeriodBucket | undefined): number {
  if (!newest) return Number.NEGATIVE_INFINITY
  return isUnused(newest) ? newest.start : newest.end
}

/** The bucket that a turn holds on, opened when it is not running. */
export function openPeriod(
  ledgerState: LedgerState,
  account: AccountState,
  status: AllowanceStatus,
  at: number,
): { readonly bucket: PeriodBucket; readonly changes: readonly Change[] } {
  const { allowance, running } = status
  if (running) return { bucket: running, changes: NOTHING }
  const newest = account.periods.get(allowance.subject)
  if (newest && isUnused(newest)) return openAgain(ledgerState, account, newest, status, at)
  const left = newest ? closeOrKeepForHolds(ledgerState, account, newest, at) : NOTHING
  const { subject } = allowance
  const { start, end } = status.period
  const row = ledgerState.next.bucket++ as BucketRow
  const bucket: PeriodBucket = { row, unit: 'quota', subject, start, end, granted: 0n, posted: 0n, held: 0n }
  account.periods.set(subject, bucket)
  const opened: Change = { kind: 'period-opened', bucket: row, account: account.account, subject, start, end }
  return { bucket, changes: [...left, opened, ...grant(ledgerState, account, bucket, allowance.amount, at)] }
}

/** Grants more for a period, or less. Usage stays. */
export function grant(
  ledgerState: LedgerState,
  account: AccountState,
  bucket: PeriodBucket,
  amount: bigint,
  at: number,
): readonly Change[] {
  if (amount === 0n) return NOTHING
  bucket.granted += amount
  bucket.posted += amount
  return moveBetween(ledgerState, account, bucket, {
    transferKind: 'grant',
    contra: SIDES.quota.issued,
    amount,
    reason: 'allowance of a period',
    at,
  })
}

/** Expires the rest of a period that is over and has no holds. */
export function closePeriod(
  ledgerState: LedgerState,
  account: AccountState,
  bucket: PeriodBucket,
  at: number,
): readonly Change[] {
  account.endedWithHolds.delete(bucket)
  if (account.periods.get(bucket.subject) === bucket) account.periods.delete(bucket.subject)
  const rest = bucket.posted
  bucket.posted = 0n
  const closed: Change = { kind: 'period-closed', bucket: bucket.row, at }
  if (rest === 0n) return [closed]
  const reason = 'unused when its period ended'
  const expiry = { transferKind: 'expiry', contra: EXPIRED, amount: -rest, reason, at } as const
  return [...moveBetween(ledgerState, account, bucket, expiry), closed]
}

const NOTHING: readonly Change[] = []

/** A period with no charge and no hold counts as unopened. */
export const isUnused = (bucket: PeriodBucket): boolean => bucket.posted === bucket.granted && bucket.held === 0n

/** An unused period begins again with the next use, by the plan of that moment. */
function openAgain(
  ledgerState: LedgerState,
  account: AccountState,
  bucket: PeriodBucket,
  { allowance, period: { start, end } }: AllowanceStatus,
  at: number,
) {
  const granted = grant(ledgerState, account, bucket, allowance.amount - bucket.granted, at)
  if (bucket.start === start && bucket.end === end) return { bucket, changes: granted }
  bucket.start = start
  bucket.end = end
  const moved: Change = { kind: 'period-moved', bucket: bucket.row, start, end }
  return { bucket, changes: [moved, ...granted] }
}

/** A period with holds stays until its last turn has ended: turns settle where they hold. */
function closeOrKeepForHolds(
  ledgerState: LedgerState,
  account: AccountState,
  bucket: PeriodBucket,
  at: number,
): readonly Change[] {
  if (bucket.held === 0n) return closePeriod(ledgerState, account, bucket, at)
  account.endedWithHolds.add(bucket)
  return NOTHING
}

interface Movement {
  readonly transferKind: 'grant' | 'expiry'
  readonly contra: BucketRow
  readonly amount: bigint
  readonly reason: string
  readonly at: number
}

function moveBetween(
  ledgerState: LedgerState,
  owner: AccountState,
  bucket: PeriodBucket,
  movement: Movement,
): Change[] {
  const { transferKind, contra, reason, at } = movement
  const amount = movement.amount as NanoUsd
  const transfer = ledgerState.next.transfer++
  const { row, unit } = bucket
  return [
    {
      kind: 'transferred',
      transfer,
      transferKind,
      unit,
      account: owner.account,
      bucket: row,
      contra,
      amount,
      reason,
      ref: `${row}.${transfer}`,
      at,
      movement: ++owner.movements,
      balance: undefined,
    },
    { kind: 'bucket-moved', bucket: row, posted: amount, held: 0n },
  ]
}

/** A changed cap counts at once; spending in the running period stays. */
function capStatusOf(account: AccountState, allowance: Allowance, at: number): AllowanceStatus {
  const { subject, cycle } = allowance
  const amount = amountAt(allowance, at)
  const counter = account.counters.get(subject)
  if (counter && counter.end > at) {
    const { start, end, spent, held } = counter
    return { allowance, period: { start, end }, running: undefined, granted: amount, posted: amount - spent, held }
  }
  const period = periodAt(cycle, at, 1)
  return { allowance, period, running: undefined, granted: amount, posted: amount, held: 0n }
}

export const roomUnder = ({ bound, spent, held }: SpendCounter): bigint => bound - spent - held

/** Counts a hold against a cap that has room. The next period begins in the same row. */
export function countHold(
  account: AccountState,
  { allowance, granted, period: { start, end } }: AllowanceStatus,
  { receipt, amount }: { readonly receipt: number; readonly amount: bigint },
): CountedSpend {
  const { subject } = allowance
  let counter = account.counters.get(subject)
  if (!counter) {
    counter = { subject, start, end, firstReceipt: receipt, carried: 0n, bound: granted, spent: 0n, held: 0n }
    account.counters.set(subject, counter)
  } else if (counter.start !== start) {
    Object.assign(counter, { start, end, firstReceipt: receipt, carried: 0n, spent: 0n, held: 0n })
  }
  counter.bound = granted
  counter.held += amount
  return { counter, mark: markOfCap(allowance), measure: measureOf(allowance), amount }
}

type CountedTurn = Pick<OpenTurn, 'receipt' | 'counted'>

/** Without counters whose next period has begun since, which no longer count this turn. */
const running = ({ receipt, counted }: CountedTurn): CountedSpend[] =>
  counted.filter(({ counter }) => counter.firstReceipt <= receipt)

/** Called before anything moves. */
export function assertHoldCounted(turn: CountedTurn): void {
  for (const { counter, amount } of running(turn))
    if (counter.held < amount) throw new BrokenRule('a hold ends where it was counted')
}

/** What a turn has used of its caps. One that is released has used nothing. */
interface Spent {
  readonly charge: bigint
  readonly isSettled: boolean
  readonly tokens: number
}

export function countCharge(turn: CountedTurn & Pick<OpenTurn, 'account'>, spent: Spent): CounterSet[] {
  return running(turn).map(({ counter, measure, amount }) => {
    counter.held -= amount
    counter.spent += spentOf(measure, amount, spent)
    return counterSet(turn.account, counter)
  })
}

/** Tokens are counted up to those that the hold has reserved, as money is. */
function spentOf(measure: CountedSpend['measure'], amount: bigint, { charge, isSettled, tokens }: Spent): bigint {
  if (measure === 'usd') return charge
  if (!isSettled) return 0n
  const used = BigInt(tokens)
  return measure === 'tokens' && used < amount ? used : amount
}

export const counterSet = (account: AccountState['account'], counter: SpendCounter): CounterSet => ({
  kind: 'counter-set',
  account,
  ...counter,
})
