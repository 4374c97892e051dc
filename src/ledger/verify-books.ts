import { type Kysely, sql } from 'kysely'
import type { LedgerTables } from '../store/tables.ts'

export interface VerifyReport {
  readonly ok: boolean
  readonly violations: number
  readonly checks: readonly { readonly name: string; readonly violations: number }[]
  readonly accounts: number
  readonly receipts: number
  readonly transfers: number
}

/**
 * Proves the books from the rows alone. It is one statement, so that it sees one moment of a running ledger: a wallet
 * read before a settle and its receipts read after it would never agree.
 */
export async function verifyBooks(deps: { readonly db: Kysely<LedgerTables> }): Promise<VerifyReport> {
  const { rows } = await sql<{ name: string; found: number }>`${sql.raw(ALL_CHECKS)}`.execute(deps.db)
  const found = new Map(rows.map((row) => [row.name, row.found]))
  const count = (name: string) => found.get(name) ?? 0
  const checks = Object.keys(CHECKS).map((name) => ({ name, violations: count(name) }))
  const violations = checks.reduce((sum, check) => sum + check.violations, 0)
  return {
    ok: violations === 0,
    violations,
    checks,
    accounts: count('accounts'),
    receipts: count('receipts'),
    transfers: count('transfers'),
  }
}

// Each counts the rows that break a rule; the name is what the operator reads.
const CHECKS = {
  'entries of a transfer sum to zero': `
    SELECT COUNT(*) FROM (SELECT transfer FROM entries GROUP BY transfer HAVING SUM(delta_nano) <> 0)`,
  'a transfer has the entries of its amount': `
    SELECT COUNT(*) FROM transfers WHERE amount_nano <>
      (SELECT COALESCE(SUM(delta_nano), 0) FROM entries WHERE entries.transfer = transfers.row AND seq = 0)`,
  'posted is the sum of entries': `
    SELECT COUNT(*) FROM buckets WHERE posted_nano <>
      COALESCE((SELECT moved FROM moved_by_transfers WHERE bucket = buckets.row), 0) +
      COALESCE((SELECT moved FROM moved_by_usage WHERE bucket = buckets.row), 0)`,
  'entries of a charge sum to zero': `
    SELECT COUNT(*) FROM (SELECT receipt FROM usage_entries GROUP BY receipt HAVING SUM(delta_nano) <> 0)`,
  'balances of a unit sum to zero': `
    SELECT COUNT(*) FROM (SELECT unit FROM buckets GROUP BY unit HAVING SUM(posted_nano) <> 0)`,
  'revenue is what was charged': `
    SELECT COUNT(*) FROM buckets WHERE kind = 'system' AND subject = 'revenue' AND posted_nano <>
      (SELECT COALESCE(SUM(charge_nano), 0) FROM receipts WHERE state = 'settled' AND kind = 'wallet')`,
  'held is the sum of open holds': `
    SELECT COUNT(*) FROM buckets WHERE held_nano <>
      COALESCE((SELECT held FROM held_by_open WHERE bucket = buckets.row), 0)`,
  'no account is overdrawn (the other sides may be)': `SELECT COUNT(*) FROM buckets WHERE kind <> 'system' AND posted_nano - held_nano < 0`,
  'a charge is within its hold': `
    SELECT COUNT(*) FROM receipts WHERE state = 'settled' AND (charge_nano > hold_nano OR charge_nano < 0)`,
  'cost is charge plus shortfall': `
    SELECT COUNT(*) FROM receipts WHERE state <> 'open' AND cost_nano <> charge_nano + shortfall_nano`,
  'what was released cost nothing': `SELECT COUNT(*) FROM receipts WHERE state = 'released' AND charge_nano <> 0`,
  'a receipt names a recorded price': `
    SELECT COUNT(*) FROM receipts WHERE NOT EXISTS
      (SELECT 1 FROM prices WHERE prices.model = receipts.model AND prices.version = receipts.price_version)`,
  'a receipt stands on a bucket of its account': `
    SELECT COUNT(*) FROM receipts, json_each(receipts.buckets) AS held_on WHERE NOT EXISTS
      (SELECT 1 FROM buckets WHERE buckets.row = held_on.value AND buckets.account = receipts.account)`,
} as const

const COUNTS = {
  accounts: 'SELECT COUNT(*) FROM accounts',
  receipts: 'SELECT COUNT(*) FROM receipts',
  transfers: 'SELECT COUNT(*) FROM transfers',
} as const

const ALL_CHECKS = `
  WITH moved_by_transfers AS MATERIALIZED (SELECT bucket, SUM(delta_nano) AS moved FROM entries GROUP BY bucket),
    moved_by_usage AS MATERIALIZED (SELECT bucket, SUM(delta_nano) AS moved FROM usage_entries GROUP BY bucket),
    held_by_open AS MATERIALIZED (
      SELECT held_on.value AS bucket, SUM(receipts.hold_nano) AS held
        FROM receipts, json_each(receipts.buckets) AS held_on WHERE receipts.state = 'open' GROUP BY held_on.value)
  ${Object.entries({ ...CHECKS, ...COUNTS })
    .map(([name, query]) => `SELECT '${name}' AS name, (${query}) AS found`)
    .join(' UNION ALL ')}`
