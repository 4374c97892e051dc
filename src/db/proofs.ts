import { SIDES } from '../ledger/state/state.ts'
import type { SqliteFile } from './sqlite/sqlite-file.ts'
import type { LedgerDb, ProvedSumsTable } from './tables.ts'

/** How far the books have been proved: a later proof begins behind these rows. */
export interface StoredProof {
  readonly receipt: number
  readonly transfer: number
  /** Dollars that were put in up to that transfer, less what was taken out. */
  readonly issued: bigint
}

export async function findProof(db: LedgerDb): Promise<StoredProof> {
  const rows = await db.selectFrom('proved_rows').selectAll().execute()
  const [outside] = await db.selectFrom('proved_balances').selectAll().execute()
  const rowOf = (what: 'receipt' | 'transfer') => rows.find((row) => row.what === what)?.row ?? 0
  return { receipt: rowOf('receipt'), transfer: rowOf('transfer'), issued: -(outside?.posted_nano ?? 0n) }
}

const PUT_ROW = `INSERT INTO proved_rows (what, row) VALUES (?, ?)
  ON CONFLICT (what) DO UPDATE SET row = excluded.row`

const PUT_BALANCE = `INSERT INTO proved_balances (bucket, posted_nano) VALUES (?, ?)
  ON CONFLICT (bucket) DO UPDATE SET posted_nano = excluded.posted_nano`

/** All of it or nothing. */
export async function recordProof(file: SqliteFile, { receipt, transfer, issued }: StoredProof): Promise<void> {
  const rows = [
    ['receipt', receipt],
    ['transfer', transfer],
  ]
  await file.atomic([
    { sql: PUT_ROW, rows },
    { sql: PUT_BALANCE, rows: [[SIDES.usd.issued, -issued]] },
  ])
}

const PUT_SUM = `INSERT INTO proved_sums (account, subject, period_start, movement, used_nano, period_end)
  VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (account, subject, period_start) DO UPDATE SET movement = excluded.movement, used_nano = excluded.used_nano`

/** What the receipts up to a movement came to never changes: the next proof adds what came behind it. */
export async function recordSums(file: SqliteFile, sums: readonly ProvedSumsTable[]): Promise<void> {
  const rows = sums.map((sum) => [
    ...[sum.account, sum.subject, sum.period_start],
    ...[sum.movement, sum.used_nano, sum.period_end],
  ])
  await file.atomic([{ sql: PUT_SUM, rows }])
}

const FORGET_SUMS = `DELETE FROM proved_sums WHERE (account, subject, period_start) IN
  (SELECT account, subject, period_start FROM proved_sums WHERE period_end < ? ORDER BY period_end LIMIT ?)`

/** Of periods that ended before: a proof that still meets one adds it up anew. */
export async function forgetSums(file: SqliteFile, before: number, limit: number): Promise<number> {
  const [forgotten = 0] = await file.atomic([{ sql: FORGET_SUMS, rows: [[before, limit]] }])
  return forgotten
}
