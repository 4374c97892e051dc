import { sql } from 'kysely'
import type { AccountRow } from '../model/ids.ts'
import type { LedgerDb } from './tables.ts'

/** All live balances and open holds as they were at one moment of a running ledger, and the last rows there were then. */
export interface BooksMoment {
  readonly buckets: readonly MomentBucket[]
  readonly open: readonly { readonly row: number; readonly hold: bigint; readonly on: readonly number[] }[]
  readonly lastReceipt: number
  readonly lastTransfer: number
}

export interface MomentBucket {
  readonly row: number
  readonly account: AccountRow | undefined
  readonly unit: string
  readonly kind: string
  readonly subject: string
  readonly posted: bigint
  readonly held: bigint
}

interface BucketRow {
  row: number
  account: number | null
  unit: string
  kind: string
  subject: string
  posted_nano: bigint
  held_nano: bigint
}

interface MomentRow extends BucketRow {
  what: 'bucket' | 'open' | 'last receipt' | 'last transfer'
  buckets: string
}

/**
 * One statement, because between two of them the thread serves others: a settle would be in one half only. Closed periods
 * are not in it: there is a row of them for every five hours of every account, and they never change again.
 */
const MOMENT = `
  SELECT 'bucket' AS what, row, account, unit, kind, subject, posted_nano, held_nano, '' AS buckets FROM buckets
    WHERE closed_at IS NULL
  UNION ALL SELECT 'open', row, NULL, '', '', '', 0, hold_nano, buckets FROM receipts WHERE state = 'open'
  UNION ALL SELECT 'last receipt', COALESCE(MAX(row), 0), NULL, '', '', '', 0, 0, '' FROM receipts
  UNION ALL SELECT 'last transfer', COALESCE(MAX(row), 0), NULL, '', '', '', 0, 0, '' FROM transfers`

export async function readBooksMoment(db: LedgerDb): Promise<BooksMoment> {
  const { rows } = await sql<MomentRow>`${sql.raw(MOMENT)}`.execute(db)
  const rowOf = (what: MomentRow['what']) => rows.find((row) => row.what === what)?.row ?? 0
  return {
    buckets: rows.filter(({ what }) => what === 'bucket').map(bucketOf),
    open: rows
      .filter(({ what }) => what === 'open')
      .map(({ row, held_nano, buckets }) => ({ row, hold: held_nano, on: JSON.parse(buckets) as number[] })),
    lastReceipt: rowOf('last receipt'),
    lastTransfer: rowOf('last transfer'),
  }
}

/** By their rows: periods that were closed by the moment, so that it does not matter when they are read. */
export async function readClosedBuckets(db: LedgerDb, rows: readonly number[]): Promise<MomentBucket[]> {
  if (rows.length === 0) return []
  const found = await sql<BucketRow>`SELECT row, account, unit, kind, subject, posted_nano, held_nano FROM buckets
    WHERE row IN (SELECT value FROM json_each(${JSON.stringify(rows)}))`.execute(db)
  return found.rows.map(bucketOf)
}

const bucketOf = ({ row, account, unit, kind, subject, posted_nano, held_nano }: BucketRow): MomentBucket => ({
  ...{ row, unit, kind, subject },
  account: (account ?? undefined) as AccountRow | undefined,
  posted: posted_nano,
  held: held_nano,
})
