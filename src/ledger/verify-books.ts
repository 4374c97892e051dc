import type { AccountRow } from '../model/ids.ts'
import { type BooksMoment, type MomentBucket, readBooksMoment, readClosedBuckets } from '../store/books-moment.ts'
import { checkReceipts, checkTransfers, type Finding, ROW_CHECKS, type RowSlice } from '../store/check-rows.ts'
import type { StoredProof } from '../store/proofs.ts'
import type { LedgerDb } from '../store/tables.ts'

export interface VerifyReport {
  readonly ok: boolean
  readonly violations: number
  readonly checks: readonly { readonly name: string; readonly violations: number }[]
  /** Whose rows or balances do not add up. */
  readonly suspects: readonly AccountRow[]
  readonly accounts: number
  readonly receipts: number
  readonly transfers: number
}

export const NOTHING_PROVED: StoredProof = { receipt: 0, transfer: 0, posted: new Map() }

/** About a millisecond of the thread that also records every settle; transfers cost more than in proportion. */
const SLICE_ROWS = 100

/**
 * Proves the books from the rows alone, while they are in use. Balances and open holds are read in one statement, so they
 * are of one moment; everything else was final by then and can be read in slices: a closed receipt and an entry never
 * change, and what came later has a higher row. For the same reason a later proof may begin where this one says that
 * everything before is closed.
 */
export async function verifyBooks({
  db,
  since = NOTHING_PROVED,
}: {
  readonly db: LedgerDb
  readonly since?: StoredProof
}): Promise<{ readonly report: VerifyReport; readonly proved: StoredProof }> {
  const moment = await readBooksMoment(db)
  const open = moment.open.map(({ row }) => row)
  const allClosedTo = Math.max(since.receipt, open.length > 0 ? Math.min(...open) - 1 : moment.lastReceipt)
  const closed = createTally()
  const later = createTally()
  for (const slice of slicesBetween(since.receipt, allClosedTo)) {
    closed.add(await checkReceipts(db, { ...slice, open: [] }))
  }
  for (const slice of slicesBetween(since.transfer, moment.lastTransfer)) {
    closed.add(await checkTransfers(db, slice))
  }
  for (const slice of slicesBetween(allClosedTo, moment.lastReceipt)) {
    later.add(await checkReceipts(db, { ...slice, open: open.filter((row) => row > slice.after && row <= slice.to) }))
  }
  const touched = new Set([
    ...since.posted.keys(),
    ...closed.buckets,
    ...later.buckets,
    ...moment.open.flatMap(({ on }) => on),
  ])
  const whole = { ...moment, buckets: [...moment.buckets, ...(await closedAmong(db, touched, moment))] }
  const report = reportOf(whole, [closed, later], since)
  return { report, proved: { receipt: allClosedTo, transfer: moment.lastTransfer, posted: postedBy(closed, since) } }
}

/** Of the buckets that anything has moved, those that were closed by the moment. */
async function closedAmong(
  db: LedgerDb,
  touched: ReadonlySet<number>,
  { buckets }: BooksMoment,
): Promise<MomentBucket[]> {
  const live = new Set(buckets.map(({ row }) => row))
  const rows = [...touched].filter((row) => !live.has(row))
  const closed: MomentBucket[] = []
  for (let from = 0; from < rows.length; from += SLICE_ROWS) {
    closed.push(...(await readClosedBuckets(db, rows.slice(from, from + SLICE_ROWS))))
  }
  return closed
}

/** What is zero again is not kept: else a row of every period that ever was. */
function postedBy(closed: Tally, since: StoredProof): Map<number, bigint> {
  const rows = new Set([...since.posted.keys(), ...closed.buckets])
  const posted = [...rows].map((row) => [row, (since.posted.get(row) ?? 0n) + closed.moved(row)] as const)
  return new Map(posted.filter(([, amount]) => amount !== 0n))
}

function* slicesBetween(from: number, last: number): Generator<RowSlice> {
  for (let after = from; after < last; after += SLICE_ROWS) yield { after, to: Math.min(after + SLICE_ROWS, last) }
}

type Tally = ReturnType<typeof createTally>

function createTally() {
  const sums = new Map<string, bigint>()
  const suspects = new Set<AccountRow>()
  const buckets = new Set<number>()
  const keyOf = (what: Finding['what'], name: string) => `${what} ${name}`
  return {
    add(findings: readonly Finding[]) {
      for (const { what, name, account, amount_nano } of findings) {
        const key = keyOf(what, name)
        sums.set(key, (sums.get(key) ?? 0n) + amount_nano)
        if (what === 'check') suspects.add(account as AccountRow)
        if (what === 'moved') buckets.add(Number(name))
      }
    },
    of: (what: Finding['what'], name: string) => sums.get(keyOf(what, name)) ?? 0n,
    moved: (bucket: number) => sums.get(keyOf('moved', String(bucket))) ?? 0n,
    buckets,
    suspects,
  }
}

function reportOf(moment: BooksMoment, tallies: readonly Tally[], since: StoredProof): VerifyReport {
  const sum = (what: Finding['what'], name: string) =>
    tallies.reduce((total, tally) => total + tally.of(what, name), 0n)
  const fromRows = ROW_CHECKS.map((name) => ({
    name,
    violations: Number(sum('check', name)),
  }))
  const balances = checkBalances(moment, {
    moved: (bucket) => (since.posted.get(bucket) ?? 0n) + sum('moved', String(bucket)),
    charged: (revenue) => (since.posted.get(revenue) ?? 0n) + sum('charged', 'revenue'),
  })
  const checks = [...fromRows, ...balances.map(({ name, broken }) => ({ name, violations: broken.length }))]
  const violations = checks.reduce((total, check) => total + check.violations, 0)
  const suspects = [...tallies.flatMap((tally) => [...tally.suspects]), ...balances.flatMap(accountsOf)]
  return {
    ok: violations === 0,
    violations,
    checks,
    suspects: [...new Set(suspects)],
    // An account is never without its wallet, and has one.
    accounts: moment.buckets.filter(({ kind }) => kind === 'wallet').length,
    receipts: Number(sum('count', 'receipts')),
    transfers: Number(sum('count', 'transfers')),
  }
}

interface BalanceCheck {
  readonly name: string
  readonly broken: readonly (MomentBucket | undefined)[]
}

/** What broke on the other sides is nobody's alone. */
const accountsOf = ({ broken }: BalanceCheck): AccountRow[] => broken.flatMap((bucket) => bucket?.account ?? [])

/** The balances of the moment against everything that the rows say has moved until then. */
function checkBalances(
  { buckets, open }: BooksMoment,
  rows: { moved(bucket: number): bigint; charged(revenue: number): bigint },
): BalanceCheck[] {
  const held = new Map<number, bigint>()
  for (const { hold, on } of open) for (const bucket of on) held.set(bucket, (held.get(bucket) ?? 0n) + hold)
  const units = new Map<string, bigint>()
  for (const { unit, posted } of buckets) units.set(unit, (units.get(unit) ?? 0n) + posted)
  const isRevenue = ({ kind, subject }: MomentBucket) => kind === 'system' && subject === 'revenue'
  return [
    { name: 'posted is the sum of entries', broken: buckets.filter(({ row, posted }) => posted !== rows.moved(row)) },
    {
      name: 'balances of a unit sum to zero',
      broken: [...units.values()].filter((sum) => sum !== 0n).map(() => undefined),
    },
    {
      name: 'revenue is what was charged',
      broken: buckets.filter((bucket) => isRevenue(bucket) && bucket.posted !== rows.charged(bucket.row)),
    },
    {
      name: 'held is the sum of open holds',
      broken: buckets.filter((bucket) => bucket.held !== (held.get(bucket.row) ?? 0n)),
    },
    {
      name: 'no account is overdrawn (the other sides may be)',
      broken: buckets.filter(({ kind, posted, held: holds }) => kind !== 'system' && posted - holds < 0n),
    },
  ]
}
