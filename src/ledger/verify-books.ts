import { type RawBuilder, sql } from 'kysely'
import type { AccountRow } from '../model/ids.ts'
import type { LedgerDb } from '../store/tables.ts'
import { type BooksMoment, type MomentBucket, readBooksMoment, readClosedBuckets } from './books-moment.ts'

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

/** How far the books have been proved, and what every balance was by then; those that are not named were zero. */
export interface Proved {
  readonly receipt: number
  readonly transfer: number
  readonly posted: ReadonlyMap<number, bigint>
}

export const NOTHING_PROVED: Proved = { receipt: 0, transfer: 0, posted: new Map() }

/** About ten milliseconds of the thread that also records every settle. */
const SLICE_ROWS = 2000

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
  readonly since?: Proved
}): Promise<{ readonly report: VerifyReport; readonly proved: Proved }> {
  const moment = await readBooksMoment(db)
  const open = moment.open.map(({ row }) => row)
  const allClosedTo = Math.max(since.receipt, open.length > 0 ? Math.min(...open) - 1 : moment.lastReceipt)
  const closed = createTally()
  const later = createTally()
  await sliceBySlice(since.receipt, allClosedTo, async (after, to) =>
    closed.add(await ask(db, receiptSlice(after, to, '[]'))),
  )
  await sliceBySlice(since.transfer, moment.lastTransfer, async (after, to) =>
    closed.add(await ask(db, transferSlice(after, to))),
  )
  await sliceBySlice(allClosedTo, moment.lastReceipt, async (after, to) => {
    const openHere = JSON.stringify(open.filter((row) => row > after && row <= to))
    later.add(await ask(db, receiptSlice(after, to, openHere)))
  })
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
function postedBy(closed: Tally, since: Proved): Map<number, bigint> {
  const rows = new Set([...since.posted.keys(), ...closed.buckets])
  const posted = [...rows].map((row) => [row, (since.posted.get(row) ?? 0n) + closed.moved(row)] as const)
  return new Map(posted.filter(([, amount]) => amount !== 0n))
}

async function sliceBySlice(
  from: number,
  last: number,
  read: (after: number, to: number) => Promise<void>,
): Promise<void> {
  for (let after = from; after < last; after += SLICE_ROWS) await read(after, Math.min(after + SLICE_ROWS, last))
}

/** What a slice finds: how many rows of an account break the rule of that name, how many there are, or what was moved. */
interface Finding {
  readonly what: 'check' | 'count' | 'moved' | 'charged'
  readonly name: string
  readonly account: number
  readonly amount_nano: bigint
}

const ask = async (db: LedgerDb, query: RawBuilder<Finding>): Promise<Finding[]> => (await query.execute(db)).rows

// Each names the account of every row that breaks a rule; the name of the rule is what the operator reads.
const CLOSED_CHECKS = {
  'a charge is within its hold': `
    SELECT account FROM closed WHERE state = 'settled' AND (charge_nano > hold_nano OR charge_nano < 0)`,
  'cost is charge plus shortfall': `
    SELECT account FROM closed WHERE state = 'open' OR cost_nano <> charge_nano + shortfall_nano`,
  'what was released cost nothing': `SELECT account FROM closed WHERE state = 'released' AND charge_nano <> 0`,
  'entries of a charge sum to zero': `
    SELECT account FROM slice WHERE row IN (SELECT receipt FROM moves GROUP BY receipt HAVING SUM(delta_nano) <> 0)`,
} as const

const drawnFrom = (unit: string) => `
  (SELECT COUNT(*) FROM json_each(slice.buckets) AS held_on JOIN buckets ON buckets.row = held_on.value
    WHERE buckets.unit = '${unit}')`

const RECEIPT_CHECKS = {
  'a receipt names a recorded price': `
    SELECT account FROM slice WHERE NOT EXISTS
      (SELECT 1 FROM prices WHERE prices.model = slice.model AND prices.version = slice.price_version)`,
  'a receipt stands on a bucket of its account': `
    SELECT account FROM slice, json_each(slice.buckets) AS held_on WHERE NOT EXISTS
      (SELECT 1 FROM buckets WHERE buckets.row = held_on.value AND buckets.account = slice.account)`,
  'a wallet key draws on the wallet, a builder key on windows, and neither on both': `
    SELECT account FROM
      (SELECT account, kind, hold_nano, ${drawnFrom('usd')} AS wallets, ${drawnFrom('quota')} AS windows FROM slice)
      WHERE NOT CASE kind WHEN 'wallet' THEN wallets = 1 AND windows = 0
        ELSE wallets = 0 AND (windows > 0 OR hold_nano = 0) END`,
  'a receipt stands on a bucket once': `
    SELECT account FROM slice WHERE (SELECT COUNT(*) FROM json_each(slice.buckets))
      <> (SELECT COUNT(DISTINCT value) FROM json_each(slice.buckets))`,
} as const

const TRANSFER_CHECKS = {
  'entries of a transfer sum to zero': `
    SELECT account FROM slice WHERE row IN (SELECT transfer FROM moves GROUP BY transfer HAVING SUM(delta_nano) <> 0)`,
  'a transfer has the entries of its amount': `
    SELECT account FROM slice WHERE amount_nano <>
      (SELECT COALESCE(SUM(delta_nano), 0) FROM moves WHERE moves.transfer = slice.row AND seq = 0)`,
  'a transfer stays within its unit': `
    SELECT account FROM slice WHERE row IN
      (SELECT transfer FROM moves JOIN buckets ON buckets.row = moves.bucket WHERE buckets.unit <> slice.unit)`,
} as const

const asFindings = (checks: Readonly<Record<string, string>>): string =>
  Object.entries(checks)
    .map(
      ([name, query]) =>
        `SELECT 'check' AS what, '${name}' AS name, account, COUNT(*) AS amount_nano FROM (${query}) GROUP BY account`,
    )
    .join(' UNION ALL ')

const MOVED = `
  UNION ALL SELECT 'moved', CAST(bucket AS TEXT), 0, SUM(delta_nano) FROM moves GROUP BY bucket`

const receiptSlice = (after: number, to: number, openHere: string) => sql<Finding>`
  WITH slice AS MATERIALIZED (
      SELECT row, account, kind, state, model, price_version, buckets, hold_nano, cost_nano, charge_nano, shortfall_nano
        FROM receipts WHERE row > ${after} AND row <= ${to}),
    closed AS (SELECT * FROM slice WHERE row NOT IN (SELECT value FROM json_each(${openHere}))),
    moves AS MATERIALIZED (
      SELECT receipt, bucket, delta_nano FROM usage_entries
        WHERE receipt > ${after} AND receipt <= ${to} AND receipt NOT IN (SELECT value FROM json_each(${openHere})))
  ${sql.raw(asFindings({ ...CLOSED_CHECKS, ...RECEIPT_CHECKS }))}
  UNION ALL SELECT 'count', 'receipts', 0, COUNT(*) FROM slice
  UNION ALL SELECT 'charged', 'revenue', 0, COALESCE(SUM(charge_nano), 0)
    FROM closed WHERE state = 'settled' AND kind = 'wallet'
  ${sql.raw(MOVED)}`

const transferSlice = (after: number, to: number) => sql<Finding>`
  WITH slice AS MATERIALIZED (SELECT row, account, unit, amount_nano FROM transfers WHERE row > ${after} AND row <= ${to}),
    moves AS MATERIALIZED (
      SELECT transfer, seq, bucket, delta_nano FROM entries WHERE transfer > ${after} AND transfer <= ${to})
  ${sql.raw(asFindings(TRANSFER_CHECKS))}
  UNION ALL SELECT 'count', 'transfers', 0, COUNT(*) FROM slice
  ${sql.raw(MOVED)}`

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

function reportOf(moment: BooksMoment, tallies: readonly Tally[], since: Proved): VerifyReport {
  const sum = (what: Finding['what'], name: string) =>
    tallies.reduce((total, tally) => total + tally.of(what, name), 0n)
  const fromRows = Object.keys({ ...TRANSFER_CHECKS, ...CLOSED_CHECKS, ...RECEIPT_CHECKS }).map((name) => ({
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
