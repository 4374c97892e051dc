import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { LedgerDb } from './tables.ts'

/** How far the books have been proved, and what every balance was by then. */
export interface StoredProof {
  readonly receipt: number
  readonly transfer: number
  /** Balances that were not zero. */
  readonly posted: ReadonlyMap<number, bigint>
}

export async function findProof(db: LedgerDb): Promise<StoredProof> {
  const rows = await db.selectFrom('proved_rows').selectAll().execute()
  const balances = await db.selectFrom('proved_balances').selectAll().execute()
  const rowOf = (what: 'receipt' | 'transfer') => rows.find((row) => row.what === what)?.row ?? 0
  return {
    receipt: rowOf('receipt'),
    transfer: rowOf('transfer'),
    posted: new Map(balances.map(({ bucket, posted_nano }) => [bucket, posted_nano])),
  }
}

const PUT_ROW = `INSERT INTO proved_rows (what, row) VALUES (?, ?)
  ON CONFLICT (what) DO UPDATE SET row = excluded.row`

const PUT_BALANCE = `INSERT INTO proved_balances (bucket, posted_nano) VALUES (?, ?)
  ON CONFLICT (bucket) DO UPDATE SET posted_nano = excluded.posted_nano`

const DROP_BALANCE = `DELETE FROM proved_balances WHERE bucket = ?`

/** All of it or nothing; only the balances that have moved since the last proof are written. */
export async function recordProof(file: SqliteFile, proof: StoredProof, before: StoredProof): Promise<void> {
  const changed = [...proof.posted].filter(([bucket, posted]) => before.posted.get(bucket) !== posted)
  const dropped = [...before.posted.keys()].filter((bucket) => !proof.posted.has(bucket)).map((bucket) => [bucket])
  await file.atomic([
    {
      sql: PUT_ROW,
      rows: [
        ['receipt', proof.receipt],
        ['transfer', proof.transfer],
      ],
    },
    ...(changed.length > 0 ? [{ sql: PUT_BALANCE, rows: changed }] : []),
    ...(dropped.length > 0 ? [{ sql: DROP_BALANCE, rows: dropped }] : []),
  ])
}
