import { sql } from 'kysely'
import type { LedgerDb } from './tables.ts'

/** A period of an allowance of a plan, with what was ever put in and what it is down to. */
export interface StoredWindow {
  row: number
  subject: string
  period_start: number
  period_end: number
  posted_nano: bigint
  held_nano: bigint
  granted_nano: bigint
  /** Granted, less what expired: without what is posted, it is what was used. */
  entered_nano: bigint
}

const WINDOW = sql`row, subject, period_start, period_end, posted_nano, held_nano,
  (SELECT COALESCE(SUM(delta_nano), 0) FROM entries JOIN transfers ON transfers.row = entries.transfer
    WHERE entries.bucket = buckets.row AND transfers.kind = 'grant') AS granted_nano,
  (SELECT COALESCE(SUM(delta_nano), 0) FROM entries WHERE entries.bucket = buckets.row) AS entered_nano`

/** Subjects of windows, as a range of the index: `window:5h`, `window:month`. */
const FIRST = 'window:'
const BEHIND = 'window;'

/** Of this account only: nobody finds another's by its name and start. */
export async function findWindow(
  db: LedgerDb,
  account: number,
  { subject, start }: { readonly subject: string; readonly start: number },
): Promise<StoredWindow | undefined> {
  const { rows } = await sql<StoredWindow>`SELECT ${WINDOW} FROM buckets
    WHERE account = ${account} AND subject = ${subject} AND period_start = ${start} AND kind = 'window'
    ORDER BY row DESC LIMIT 1`.execute(db)
  return rows[0]
}

/** What an account ever had windows of: one look into the index for each. */
export async function listWindowSubjects(db: LedgerDb, account: number): Promise<string[]> {
  const { rows } = await sql<{ subject: string }>`WITH RECURSIVE subjects (subject) AS (
      SELECT MIN(subject) FROM buckets WHERE account = ${account} AND subject >= ${FIRST} AND subject < ${BEHIND}
      UNION ALL
      SELECT (SELECT MIN(subject) FROM buckets
          WHERE account = ${account} AND subject > subjects.subject AND subject < ${BEHIND})
        FROM subjects WHERE subject IS NOT NULL)
    SELECT subject FROM subjects WHERE subject IS NOT NULL`.execute(db)
  return rows.map(({ subject }) => subject)
}

/** Windows of one kind that began before a moment, the latest first. */
export async function listWindowsBefore(
  db: LedgerDb,
  account: number,
  { subject, before, limit }: { readonly subject: string; readonly before: number; readonly limit: number },
): Promise<StoredWindow[]> {
  const { rows } = await sql<StoredWindow>`SELECT ${WINDOW} FROM buckets
    WHERE account = ${account} AND subject = ${subject} AND period_start < ${before} AND kind = 'window'
    ORDER BY period_start DESC LIMIT ${limit}`.execute(db)
  return rows
}

/** When the request of the highest row up to this one was opened; undefined: there is none. */
export async function findOpeningTime(db: LedgerDb, row: number): Promise<number | undefined> {
  const found = await db
    .selectFrom('receipts')
    .select('opened_at')
    .where('row', '<=', row)
    .orderBy('row', 'desc')
    .limit(1)
    .executeTakeFirst()
  return found?.opened_at
}

/** How many of an account's requests in these rows have held on each bucket. */
export async function countByBucket(
  db: LedgerDb,
  account: number,
  { from, before }: { readonly from: number; readonly before: number },
): Promise<ReadonlyMap<number, number>> {
  const { rows } = await sql<{ bucket: number; requests: number }>`SELECT held_on.value AS bucket, COUNT(*) AS requests
    FROM receipts INDEXED BY receipts_of_account CROSS JOIN json_each(receipts.buckets) AS held_on
    WHERE receipts.account = ${account} AND receipts.row >= ${from} AND receipts.row < ${before}
    GROUP BY held_on.value`.execute(db)
  return new Map(rows.map(({ bucket, requests }) => [bucket, requests]))
}
