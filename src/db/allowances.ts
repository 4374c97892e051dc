import { sql } from 'kysely'
import { SIDES } from '../ledger/state/state.ts'
import { correctedTime } from './clock.ts'
import { isOfKind, listRows } from './sql.ts'
import type { SqlStore } from './sql-store.ts'
import type { MovementRange } from './statement.ts'
import type { LedgerDb, Row } from './tables.ts'

/** All operator credits less refunds: the negative balance of the outside's own bucket. */
export async function findIssued(db: LedgerDb): Promise<bigint> {
  const outside = db.selectFrom('buckets').select('posted_nano').where('row', '=', SIDES.usd.issued)
  return -(await outside.executeTakeFirstOrThrow()).posted_nano
}

export interface LiveBucket
  extends Pick<Row<'buckets'>, 'row' | 'subject' | 'period_start' | 'period_end' | 'posted_nano' | 'held_nano'> {
  kind: 'wallet' | 'window'
  /** The sum of all transfers: for a window, what was granted. */
  granted_nano: bigint
}

/** The wallet of an account and every window that is not closed, oldest first. */
export const listLiveBuckets = (db: LedgerDb, account: number): Promise<LiveBucket[]> =>
  listRows(
    db,
    sql`SELECT row, subject, period_start, period_end, posted_nano, held_nano, kind, COALESCE(
        (SELECT SUM(delta_nano) FROM entries WHERE entries.bucket = buckets.row AND kind <> 'wallet'), 0) AS granted_nano
      FROM buckets WHERE account = ${account} AND closed_at IS NULL ORDER BY row`,
  )

export const listSpendCounters = (db: LedgerDb, account: number) =>
  db.selectFrom('spend_counters').selectAll().where('account', '=', account).execute()

export type StoredBucket = Pick<Row<'buckets'>, 'row' | 'kind' | 'subject' | 'period_start' | 'period_end'>

/** Also closed ones, oldest first. */
export const listBuckets = (db: LedgerDb, rows: readonly number[]) =>
  db
    .selectFrom('buckets')
    .select(['row', 'kind', 'subject', 'period_start', 'period_end'])
    .where('row', 'in', rows)
    .orderBy('row')
    .execute()

/** A period of a plan's window. */
export interface StoredWindow
  extends Pick<Row<'buckets'>, 'row' | 'subject' | 'closed_at' | 'posted_nano' | 'held_nano'> {
  period_start: number
  period_end: number
  granted_nano: bigint
  /** Granted less expired. Without what is posted it is what was used. */
  entered_nano: bigint
}

const WINDOW = sql`row, subject, period_start, period_end, closed_at, posted_nano, held_nano,
  (SELECT COALESCE(SUM(delta_nano), 0) FROM entries JOIN transfers ON transfers.row = entries.transfer
    WHERE entries.bucket = buckets.row AND transfers.kind = 'grant') AS granted_nano,
  (SELECT COALESCE(SUM(delta_nano), 0) FROM entries WHERE entries.bucket = buckets.row) AS entered_nano`

/** Subjects of windows, as a range of the index: `window:5h`, `window:month`. */
const FIRST = 'window:'
const BEHIND = 'window;'

export async function findWindow(
  db: LedgerDb,
  account: number,
  { subject, start }: { readonly subject: string; readonly start: number },
): Promise<StoredWindow | undefined> {
  const query = sql<StoredWindow>`SELECT ${WINDOW} FROM buckets
    WHERE account = ${account} AND subject = ${subject} AND period_start = ${start} AND kind = 'window'
    ORDER BY row DESC LIMIT 1`
  return (await listRows(db, query))[0]
}

/** The subjects of an account's windows, with one index lookup for each. */
export async function listWindowSubjects(db: LedgerDb, account: number): Promise<string[]> {
  const query = sql<{ subject: string }>`WITH RECURSIVE subjects (subject) AS (
      SELECT MIN(subject) FROM buckets WHERE account = ${account} AND subject >= ${FIRST} AND subject < ${BEHIND}
      UNION ALL
      SELECT (SELECT MIN(subject) FROM buckets
          WHERE account = ${account} AND subject > subjects.subject AND subject < ${BEHIND})
        FROM subjects WHERE subject IS NOT NULL)
    SELECT subject FROM subjects WHERE subject IS NOT NULL`
  return (await listRows(db, query)).map(({ subject }) => subject)
}

/** Latest first. */
export const listLatestWindows = (
  db: LedgerDb,
  account: number,
  { subject, limit }: { readonly subject: string; readonly limit: number },
): Promise<StoredWindow[]> =>
  listRows(
    db,
    sql`SELECT ${WINDOW} FROM buckets WHERE account = ${account} AND subject = ${subject} AND kind = 'window'
      ORDER BY period_start DESC LIMIT ${limit}`,
  )

/** When the last request that the plan paid ended, up to this movement. Times never fall where numbers rise. */
export async function findPlanClosingTime(db: LedgerDb, account: number, movement: number) {
  const query = sql<{ closed_at: number }>`SELECT ${correctedTime('receipts', 'closed_at')} AS closed_at FROM receipts
    WHERE account = ${account} AND ${isOfKind('builder')} AND movement <= ${movement}
    ORDER BY movement DESC LIMIT 1`
  return (await listRows(db, query))[0]?.closed_at
}

const HELD_ON = sql`CROSS JOIN json_each(receipts.buckets) AS held_on`

/**
 * How many of an account's requests have held on each bucket: those that ended in this range, and with `running` those that
 * run. One statement, so that a request which ends meanwhile is counted once.
 */
export async function countByBucket(
  db: LedgerDb,
  account: number,
  { from, before, running }: MovementRange & { readonly running: boolean },
): Promise<ReadonlyMap<number, number>> {
  const andRunning = sql`UNION ALL SELECT held_on.value, COUNT(*) FROM receipts INDEXED BY open_receipts ${HELD_ON}
    WHERE state = 'open' AND receipts.account = ${account} GROUP BY held_on.value`
  const query = sql<{ bucket: number; requests: number }>`SELECT bucket, SUM(requests) AS requests FROM (
      SELECT held_on.value AS bucket, COUNT(*) AS requests FROM receipts ${HELD_ON}
        WHERE receipts.account = ${account} AND ${isOfKind('builder')} AND movement >= ${from} AND movement < ${before}
        GROUP BY held_on.value
      ${running ? andRunning : sql``}) AS counted
    GROUP BY bucket`
  return new Map((await listRows(db, query)).map(({ bucket, requests }) => [bucket, requests]))
}

interface EndedBefore {
  readonly endedBefore: number
  readonly limit: number
}

/** Open windows without holds that ended before, of accounts that are not frozen, in the order of their ends. */
export const listIdleWindows = (db: LedgerDb, { endedBefore, limit }: EndedBefore) =>
  listRows(
    db,
    sql<{ row: number; account: number; subject: string }>`SELECT buckets.row, buckets.account, subject
      FROM buckets INDEXED BY live_windows_by_end CROSS JOIN accounts ON accounts.row = buckets.account
      WHERE kind = 'window' AND closed_at IS NULL AND period_end < ${endedBefore} AND held_nano = 0 AND frozen_at IS NULL
      ORDER BY period_end LIMIT ${limit}`,
  )

type ForgottenCounter = Pick<Row<'spend_counters'>, 'account' | 'subject' | 'period_start'>

const FORGET_COUNTERS = `DELETE FROM spend_counters WHERE (account, subject) IN
    (SELECT account, subject FROM spend_counters WHERE period_end < ? AND held_nano = 0 ORDER BY period_end LIMIT ?)
  RETURNING account, subject, period_start`

/** Deletes counters of spend caps without holds whose period ended before. The next use of a cap writes its row again. */
export const forgetIdleCounters = (
  file: SqlStore,
  { endedBefore, limit }: EndedBefore,
): Promise<readonly ForgottenCounter[]> => file.all<ForgottenCounter>(FORGET_COUNTERS, [endedBefore, limit])

export type StoredSubscription = Row<'subscriptions'>

/** Accounts scanned in one query: a few milliseconds of the worker. */
const ACCOUNTS_AT_ONCE = 4000

/** How many accounts are on each plan at this moment, in the order of plans. */
export async function countRunningPlans(db: LedgerDb, at: number): Promise<{ plan: string; accounts: number }[]> {
  const counts = new Map<string, number>()
  const [last] = await listRows(db, sql<{ account: number | null }>`SELECT MAX(account) AS account FROM subscriptions`)
  for (let after = 0; after < (last?.account ?? 0); after += ACCOUNTS_AT_ONCE) {
    const slice = sql<{ plan: string; accounts: number }>`SELECT plan, count(*) AS accounts FROM subscriptions
      WHERE account > ${after} AND account <= ${after + ACCOUNTS_AT_ONCE} AND (ends_at IS NULL OR ends_at > ${at})
        AND row = (SELECT MAX(newer.row) FROM subscriptions AS newer WHERE newer.account = subscriptions.account)
      GROUP BY plan`
    for (const { plan, accounts } of await listRows(db, slice)) counts.set(plan, (counts.get(plan) ?? 0) + accounts)
  }
  return [...counts]
    .map(([plan, accounts]) => ({ plan, accounts }))
    .sort((one, other) => (one.plan < other.plan ? -1 : 1))
}

const newestOf = (db: LedgerDb, account: number) =>
  db.selectFrom('subscriptions').selectAll().where('account', '=', account).orderBy('row', 'desc').limit(1)

/** The newest that had begun by then. */
export const findSubscriptionAt = (db: LedgerDb, account: number, at: number) =>
  newestOf(db, account).where('started_at', '<=', at).executeTakeFirst()

/** The newest one, running or ended. */
export const findSubscription = (db: LedgerDb, account: number) => newestOf(db, account).executeTakeFirst()
