import { correctedTime } from './clock-corrections.ts'
import type { LedgerDb, MarksTable, ReceiptsTable } from './tables.ts'

export const findReceipt = (db: LedgerDb, requestId: string): Promise<ReceiptsTable | undefined> =>
  db.selectFrom('receipts').selectAll().where('request_id', '=', requestId).executeTakeFirst()

/** Those of these requests that have a receipt, with their accounts. */
export const listKnownRequests = (
  db: LedgerDb,
  requestIds: readonly string[],
): Promise<{ request_id: string; account: number }[]> =>
  db.selectFrom('receipts').select(['request_id', 'account']).where('request_id', 'in', requestIds).execute()

/** A hold without an end, as recovery needs it. */
export interface OpenReceiptRow {
  row: number
  request_id: string
  account: number
  model: string
  price_version: number
  buckets: string
  caps: string | null
  key: number
  hold_nano: bigint
  output_bound: number
  input_estimate: number
  cached_estimate: number
  /** Of its idempotency key, if it came with one. */
  scope: string | null
}

/** Oldest first: what the last process left behind, or what one account has open. */
export async function listOpenReceipts(db: LedgerDb, account?: number): Promise<OpenReceiptRow[]> {
  const receipts = await db
    .selectFrom('receipts')
    .leftJoin('claims', 'claims.receipt', 'receipts.row')
    .select(['row', 'request_id', 'account', 'model', 'price_version', 'buckets', 'claims.scope'])
    .select(['caps', 'key', 'hold_nano', 'output_bound', 'input_estimate', 'cached_estimate'])
    .where('receipts.state', '=', 'open')
    .$if(account !== undefined, (query) => query.where('receipts.account', '=', account!))
    .execute()
  // They are found by account, and are no more than run at once.
  return receipts.sort((one, other) => one.row - other.row)
}

/** How far the running streams of every node had got when it last wrote it down. */
export const findMarks = (db: LedgerDb): Promise<MarksTable[]> => db.selectFrom('marks').selectAll().execute()

/** The last numbers that were given out, 0 for none: the ledger counts on from them in memory. */
export async function findNewestRows(
  db: LedgerDb,
): Promise<{ receipt: number; transfer: number; bucket: number; subscription: number }> {
  const newest = async (table: 'receipts' | 'transfers' | 'buckets' | 'subscriptions') =>
    (
      await db
        .selectFrom(table)
        .select(({ fn }) => fn.max('row').as('row'))
        .executeTakeFirst()
    )?.row ?? 0
  return {
    receipt: await newest('receipts'),
    transfer: await newest('transfers'),
    bucket: await newest('buckets'),
    subscription: await newest('subscriptions'),
  }
}

/**
 * How many of the newest receipts are looked at for their closing time. Rows are numbered in ledger time, so the newest
 * opening is at the end of the table. A closing may stand on any row, but a turn that outlived this many younger ones
 * closed within moments of one of them; an index would cost every request a write to answer one question a start.
 */
const TAIL = 10_000

/**
 * The latest time that the books have seen, 0 for empty ones: ledger time goes on from here, never back. Rows that an
 * operator has taken the time back from count as what it was set back to.
 */
export async function findLatestLedgerTime(db: LedgerDb): Promise<number> {
  const newest = await db
    .selectFrom('receipts')
    .select(({ fn }) => [
      fn.max<number | null>(correctedTime('receipts', 'opened_at')).as('opened_at'),
      fn.max<number | null>(correctedTime('receipts', 'closed_at')).as('closed_at'),
    ])
    .where('row', '>', ({ selectFrom }) =>
      selectFrom('receipts as last').select(({ eb, fn }) => eb(fn.max('last.row'), '-', TAIL).as('row')),
    )
    .executeTakeFirst()
  const transfer = await db
    .selectFrom('transfers')
    .select(correctedTime('transfers', 'at').as('at'))
    .where('row', '=', ({ selectFrom }) =>
      selectFrom('transfers as last').select(({ fn }) => fn.max('last.row').as('row')),
    )
    .executeTakeFirst()
  const mark = await db.selectFrom('marks').select('at').orderBy('at', 'desc').limit(1).executeTakeFirst()
  return Math.max(newest?.opened_at ?? 0, newest?.closed_at ?? 0, transfer?.at ?? 0, mark?.at ?? 0)
}
