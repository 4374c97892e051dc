import type { Allowance } from '../model/allowance.ts'
import { periodAt } from '../model/cycle.ts'
import type { BucketRow } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import { type AccountBooks, type AllowanceStanding, type Books, nextMovement, type PeriodBucket } from './books.ts'
import type { Change } from './changes.ts'
import { EXPIRED, SIDES } from './sides.ts'
import { standingOfCap } from './spend-counters.ts'

/** Looks, and changes nothing: a request that is refused opens no period. */
export function standingOfAllowance(account: AccountBooks, allowance: Allowance, at: number): AllowanceStanding {
  if (allowance.unit === 'cap') return standingOfCap(account, allowance, at)
  const newest = account.periods.get(allowance.subject)
  if (newest && newest.end > at && !isUnused(newest)) return standingOn(newest, allowance)
  const { start, end } = periodAt(allowance.cycle, at, account.subscription?.billingDay ?? 1)
  const period = { start: Math.max(start, earliestStart(newest)), end }
  return { allowance, period, running: undefined, granted: allowance.amount, posted: allowance.amount, held: 0n }
}

/** A window opens only when the latest of its kind has ended: a day of billing that has changed makes none overlap. */
function earliestStart(newest: PeriodBucket | undefined): number {
  if (!newest) return Number.NEGATIVE_INFINITY
  return isUnused(newest) ? newest.start : newest.end
}

/** A changed plan counts for the windows that open from now on. */
function standingOn(running: PeriodBucket, allowance: Allowance): AllowanceStanding {
  const { start, end, granted, posted, held } = running
  return { allowance, period: { start, end }, running, granted, posted, held }
}

/** The bucket that a turn holds on, and what had to change for it to be there. */
export function openPeriod(
  books: Books,
  account: AccountBooks,
  standing: AllowanceStanding,
  at: number,
): { readonly bucket: PeriodBucket; readonly changes: readonly Change[] } {
  const { allowance, running } = standing
  if (running) return { bucket: running, changes: NOTHING }
  const newest = account.periods.get(allowance.subject)
  if (newest && isUnused(newest)) return openAgain(books, account, newest, standing, at)
  const left = newest ? leaveBehind(books, account, newest, at) : NOTHING
  const bucket = createPeriod(books, account, standing)
  const { row, subject, start, end } = bucket
  const opened: Change = { kind: 'period-opened', bucket: row, account: account.account, subject, start, end }
  return { bucket, changes: [...left, opened, ...grant(books, account, bucket, allowance.amount, at)] }
}

/** So much more for a period, or less: what was used of it stays used. */
export function grant(
  books: Books,
  account: AccountBooks,
  bucket: PeriodBucket,
  amount: bigint,
  at: number,
): readonly Change[] {
  if (amount === 0n) return NOTHING
  bucket.granted += amount
  bucket.posted += amount
  return moveBetween(books, account, bucket, {
    transferKind: 'grant',
    counter: SIDES.quota.issued,
    amount,
    reason: 'allowance of a period',
    at,
  })
}

/** Ends what a period has left, once it has ended and no turn holds on it any more. */
export function closePeriod(books: Books, account: AccountBooks, bucket: PeriodBucket, at: number): readonly Change[] {
  account.outlived.delete(bucket)
  if (account.periods.get(bucket.subject) === bucket) account.periods.delete(bucket.subject)
  const rest = bucket.posted
  bucket.posted = 0n
  const closed: Change = { kind: 'period-closed', bucket: bucket.row, at }
  if (rest === 0n) return [closed]
  const reason = 'unused when its period ended'
  const expiry = { transferKind: 'expiry', counter: EXPIRED, amount: -rest, reason, at } as const
  return [...moveBetween(books, account, bucket, expiry), closed]
}

const NOTHING: readonly Change[] = []

/** A period with no charge and no hold counts as unopened. */
export const isUnused = (bucket: PeriodBucket): boolean => bucket.posted === bucket.granted && bucket.held === 0n

/** An unused one begins again with the next use, and by the plan as it is then. */
function openAgain(
  books: Books,
  account: AccountBooks,
  bucket: PeriodBucket,
  { allowance, period: { start, end } }: AllowanceStanding,
  at: number,
) {
  const granted = grant(books, account, bucket, allowance.amount - bucket.granted, at)
  if (bucket.start === start && bucket.end === end) return { bucket, changes: granted }
  bucket.start = start
  bucket.end = end
  const moved: Change = { kind: 'period-moved', bucket: bucket.row, start, end }
  return { bucket, changes: [moved, ...granted] }
}

/** What turns still hold on stays until the last of them has ended: they are settled where they were held. */
function leaveBehind(books: Books, account: AccountBooks, bucket: PeriodBucket, at: number): readonly Change[] {
  if (bucket.held === 0n) return closePeriod(books, account, bucket, at)
  account.outlived.add(bucket)
  return NOTHING
}

function createPeriod(books: Books, account: AccountBooks, { allowance, period }: AllowanceStanding): PeriodBucket {
  const { subject } = allowance
  const row = books.next.bucket++ as BucketRow
  const bucket: PeriodBucket = { row, unit: 'quota', subject, ...period, granted: 0n, posted: 0n, held: 0n }
  account.periods.set(subject, bucket)
  return bucket
}

interface Movement {
  readonly transferKind: 'grant' | 'expiry'
  readonly counter: BucketRow
  readonly amount: bigint
  readonly reason: string
  readonly at: number
}

function moveBetween(books: Books, owner: AccountBooks, bucket: PeriodBucket, movement: Movement): Change[] {
  const { transferKind, counter, reason, at } = movement
  const amount = movement.amount as NanoUsd
  const transfer = books.next.transfer++
  const { row, unit } = bucket
  return [
    {
      kind: 'transferred',
      transfer,
      transferKind,
      unit,
      account: owner.account,
      bucket: row,
      counter,
      amount,
      reason,
      ref: `${row}.${transfer}`,
      at,
      movement: nextMovement(owner),
      balance: undefined,
    },
    { kind: 'bucket-moved', bucket: row, posted: amount, held: 0n },
  ]
}
