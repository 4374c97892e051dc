import { type RawBuilder, sql } from 'kysely'
import type { LedgerDb } from '../store/tables.ts'
import { type BooksMoment, readBooksMoment } from './books-moment.ts'

export interface VerifyReport {
  readonly ok: boolean
  readonly violations: number
  readonly checks: readonly { readonly name: string; readonly violations: number }[]
  readonly accounts: number
  readonly receipts: number
  readonly transfers: number
}

/** About ten milliseconds of the thread that also records every settle. */
const SLICE_ROWS = 2000

/**
 * Proves the books from the rows alone, while they are in use. Balances and open holds are read in one statement, so they
 * are of one moment; everything else was final by then and can be read in slices: a closed receipt and an entry never
 * change, and what came later has a higher row.
 */
export async function verifyBooks({ db }: { readonly db: LedgerDb }): Promise<VerifyReport> {
  const moment = await readBooksMoment(db)
  const tally = createTally()
  const open = moment.open.map(({ row }) => row)
  for (let after = 0; after < moment.lastReceipt; after += SLICE_ROWS) {
    const to = Math.min(after + SLICE_ROWS, moment.lastReceipt)
    const openHere = JSON.stringify(open.filter((row) => row > after && row <= to))
    tally.add(await ask(db, receiptSlice(after, to, openHere)))
  }
  for (let after = 0; after < moment.lastTransfer; after += SLICE_ROWS) {
    tally.add(await ask(db, transferSlice(after, Math.min(after + SLICE_ROWS, moment.lastTransfer))))
  }
  return reportOf(moment, tally)
}

/** What a slice finds: how many rows break the rule of that name, how many there are, or what was moved on a bucket. */
interface Finding {
  readonly what: 'check' | 'count' | 'moved' | 'charged'
  readonly name: string
  readonly amount_nano: bigint
}

const ask = async (db: LedgerDb, query: RawBuilder<Finding>): Promise<Finding[]> => (await query.execute(db)).rows

// Each counts the rows that break a rule; the name is what the operator reads.
const CLOSED_CHECKS = {
  'a charge is within its hold': `
    SELECT COUNT(*) FROM closed WHERE state = 'settled' AND (charge_nano > hold_nano OR charge_nano < 0)`,
  'cost is charge plus shortfall': `
    SELECT COUNT(*) FROM closed WHERE state = 'open' OR cost_nano <> charge_nano + shortfall_nano`,
  'what was released cost nothing': `SELECT COUNT(*) FROM closed WHERE state = 'released' AND charge_nano <> 0`,
  'entries of a charge sum to zero': `
    SELECT COUNT(*) FROM (SELECT receipt FROM moves GROUP BY receipt HAVING SUM(delta_nano) <> 0)`,
} as const

const RECEIPT_CHECKS = {
  'a receipt names a recorded price': `
    SELECT COUNT(*) FROM slice WHERE NOT EXISTS
      (SELECT 1 FROM prices WHERE prices.model = slice.model AND prices.version = slice.price_version)`,
  'a receipt stands on a bucket of its account': `
    SELECT COUNT(*) FROM slice, json_each(slice.buckets) AS held_on WHERE NOT EXISTS
      (SELECT 1 FROM buckets WHERE buckets.row = held_on.value AND buckets.account = slice.account)`,
  'a wallet key draws on the wallet, a builder key on windows, and neither on both': `
    SELECT COUNT(*) FROM (
      SELECT kind, hold_nano,
          (SELECT COUNT(*) FROM json_each(slice.buckets) AS held_on JOIN buckets ON buckets.row = held_on.value
            WHERE buckets.unit = 'usd') AS wallets,
          (SELECT COUNT(*) FROM json_each(slice.buckets) AS held_on JOIN buckets ON buckets.row = held_on.value
            WHERE buckets.unit = 'quota') AS windows
        FROM slice)
      WHERE NOT CASE kind WHEN 'wallet' THEN wallets = 1 AND windows = 0 ELSE wallets = 0 AND (windows > 0 OR hold_nano = 0) END`,
  'a receipt stands on a bucket once': `
    SELECT COUNT(*) FROM slice WHERE (SELECT COUNT(*) FROM json_each(slice.buckets))
      <> (SELECT COUNT(DISTINCT value) FROM json_each(slice.buckets))`,
} as const

const TRANSFER_CHECKS = {
  'entries of a transfer sum to zero': `
    SELECT COUNT(*) FROM (SELECT transfer FROM moves GROUP BY transfer HAVING SUM(delta_nano) <> 0)`,
  'a transfer has the entries of its amount': `
    SELECT COUNT(*) FROM slice WHERE amount_nano <>
      (SELECT COALESCE(SUM(delta_nano), 0) FROM moves WHERE moves.transfer = slice.row AND seq = 0)`,
} as const

const asFindings = (checks: Readonly<Record<string, string>>): string =>
  Object.entries(checks)
    .map(([name, query]) => `SELECT 'check' AS what, '${name}' AS name, (${query}) AS amount_nano`)
    .join(' UNION ALL ')

const MOVED = `
  UNION ALL SELECT 'moved', CAST(bucket AS TEXT), SUM(delta_nano) FROM moves GROUP BY bucket`

const receiptSlice = (after: number, to: number, openHere: string) => sql<Finding>`
  WITH slice AS MATERIALIZED (
      SELECT row, account, kind, state, model, price_version, buckets, hold_nano, cost_nano, charge_nano, shortfall_nano
        FROM receipts WHERE row > ${after} AND row <= ${to}),
    closed AS (SELECT * FROM slice WHERE row NOT IN (SELECT value FROM json_each(${openHere}))),
    moves AS MATERIALIZED (
      SELECT receipt, bucket, delta_nano FROM usage_entries
        WHERE receipt > ${after} AND receipt <= ${to} AND receipt NOT IN (SELECT value FROM json_each(${openHere})))
  ${sql.raw(asFindings({ ...CLOSED_CHECKS, ...RECEIPT_CHECKS }))}
  UNION ALL SELECT 'count', 'receipts', COUNT(*) FROM slice
  UNION ALL SELECT 'charged', 'revenue', COALESCE(SUM(charge_nano), 0) FROM closed WHERE state = 'settled' AND kind = 'wallet'
  ${sql.raw(MOVED)}`

const transferSlice = (after: number, to: number) => sql<Finding>`
  WITH slice AS MATERIALIZED (SELECT row, amount_nano FROM transfers WHERE row > ${after} AND row <= ${to}),
    moves AS MATERIALIZED (
      SELECT transfer, seq, bucket, delta_nano FROM entries WHERE transfer > ${after} AND transfer <= ${to})
  ${sql.raw(asFindings(TRANSFER_CHECKS))}
  UNION ALL SELECT 'count', 'transfers', COUNT(*) FROM slice
  ${sql.raw(MOVED)}`

type Tally = ReturnType<typeof createTally>

function createTally() {
  const sums = new Map<string, bigint>()
  const keyOf = (what: Finding['what'], name: string) => `${what} ${name}`
  return {
    add(findings: readonly Finding[]) {
      for (const { what, name, amount_nano } of findings) {
        const key = keyOf(what, name)
        sums.set(key, (sums.get(key) ?? 0n) + amount_nano)
      }
    },
    of: (what: Finding['what'], name: string) => sums.get(keyOf(what, name)) ?? 0n,
  }
}

function reportOf(moment: BooksMoment, tally: Tally): VerifyReport {
  const fromRows = Object.keys({ ...TRANSFER_CHECKS, ...CLOSED_CHECKS, ...RECEIPT_CHECKS }).map((name) => ({
    name,
    violations: Number(tally.of('check', name)),
  }))
  const checks = [...fromRows, ...balanceChecks(moment, tally)]
  const violations = checks.reduce((sum, check) => sum + check.violations, 0)
  return {
    ok: violations === 0,
    violations,
    checks,
    accounts: moment.accounts,
    receipts: Number(tally.of('count', 'receipts')),
    transfers: Number(tally.of('count', 'transfers')),
  }
}

/** The balances of the moment against everything that the rows say has moved until then. */
function balanceChecks({ buckets, open }: BooksMoment, tally: Tally): { name: string; violations: number }[] {
  const held = new Map<number, bigint>()
  for (const { hold, on } of open) for (const bucket of on) held.set(bucket, (held.get(bucket) ?? 0n) + hold)
  const units = new Map<string, bigint>()
  for (const { unit, posted } of buckets) units.set(unit, (units.get(unit) ?? 0n) + posted)
  const isRevenue = ({ kind, subject }: BooksMoment['buckets'][number]) => kind === 'system' && subject === 'revenue'
  const broken = <Row>(rows: readonly Row[], breaks: (row: Row) => boolean) => rows.filter(breaks).length
  return [
    {
      name: 'posted is the sum of entries',
      violations: broken(buckets, ({ row, posted }) => posted !== tally.of('moved', String(row))),
    },
    { name: 'balances of a unit sum to zero', violations: broken([...units.values()], (sum) => sum !== 0n) },
    {
      name: 'revenue is what was charged',
      violations: broken(buckets.filter(isRevenue), ({ posted }) => posted !== tally.of('charged', 'revenue')),
    },
    {
      name: 'held is the sum of open holds',
      violations: broken(buckets, (bucket) => bucket.held !== (held.get(bucket.row) ?? 0n)),
    },
    {
      name: 'no account is overdrawn (the other sides may be)',
      violations: broken(buckets, ({ kind, posted, held: holds }) => kind !== 'system' && posted - holds < 0n),
    },
  ]
}
