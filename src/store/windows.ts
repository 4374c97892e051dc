import { sql } from 'kysely'
import { correctedTime } from './clock-corrections.ts'
import { isOfKind } from './movements.ts'
import type { MovementRange } from './statement.ts'
import type { LedgerDb } from './tables.ts'

/** A period of an allowance of a plan, with what was ever put in and what it is down to. */
export interface StoredWindow {
  row: number
  subject: string
  period_start: number
  period_end: number
  /** When what was left of it expired: by then everything that stood on it had ended. */
  closed_at: number | null
  posted_nano: bigint
  held_nano: bigint
  granted_nano: bigint
  /** Granted, less what expired: without what is posted, it is what was used. */
  entered_nano: bigint
}

const WINDOW = sql`row, subject, period_start, period_end, closed_at, posted_nano, held_nano,
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

/** Windows of one kind, the latest first. */
export async function listLatestWindows(
  db: LedgerDb,
  account: number,
  { subject, limit }: { readonly subject: string; readonly limit: number },
): Promise<StoredWindow[]> {
  const { rows } = await sql<StoredWindow>`SELECT ${WINDOW} FROM buckets
    WHERE account = ${account} AND subject = ${subject} AND kind = 'window'
    ORDER BY period_start DESC LIMIT ${limit}`.execute(db)
  return rows
}

/** When a request that the plan paid ended last, up to this number; undefined: none has. Times never fall where numbers rise. */
export async function findPlanClosingTime(
  db: LedgerDb,
  account: number,
  movement: number,
): Promise<number | undefined> {
  const { rows } = await sql<{
    closed_at: number
  }>`SELECT ${correctedTime('receipts', 'closed_at')} AS closed_at FROM receipts
    WHERE account = ${account} AND ${isOfKind('builder')} AND movement <= ${movement}
    ORDER BY movement DESC LIMIT 1`.execute(db)
  return rows[0]?.closed_at
}

const HELD_ON = sql`CROSS JOIN json_each(receipts.buckets) AS held_on`

/**
 * How many of an account's requests have held on each bucket: of those that ended with these numbers, and of those that run
 * where they are asked for. One statement, so that one which ends meanwhile is counted once.
 */
export async function countByBucket(
  db: LedgerDb,
  account: number,
  { from, before, running }: MovementRange & { readonly running: boolean },
): Promise<ReadonlyMap<number, number>> {
  const { rows } = await sql<{ bucket: number; requests: number }>`SELECT bucket, SUM(requests) AS requests FROM (
      SELECT held_on.value AS bucket, COUNT(*) AS requests FROM receipts ${HELD_ON}
        WHERE receipts.account = ${account} AND ${isOfKind('builder')} AND movement >= ${from} AND movement < ${before}
        GROUP BY held_on.value
      ${running ? sql`UNION ALL ${runningByBucket(account)}` : sql``})
    GROUP BY bucket`.execute(db)
  return new Map(rows.map(({ bucket, requests }) => [bucket, requests]))
}

const runningByBucket = (account: number) => sql`SELECT held_on.value, COUNT(*)
  FROM receipts INDEXED BY open_receipts ${HELD_ON} WHERE state = 'open' AND receipts.account = ${account} GROUP BY held_on.value`
