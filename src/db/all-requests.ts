import { type RawBuilder, sql } from 'kysely'
import type { KeyKind } from '../model/caller.ts'
import { isOfKind, listRows, newestOfKinds, RECEIPT_KINDS, unionOfKinds } from './sql.ts'
import type { MovementRange } from './statement.ts'
import type { LedgerDb, ReceiptsTable } from './tables.ts'

/** A receipt with the key and the account that asked. */
export interface OperatedReceipt extends ReceiptsTable {
  readonly key_id: string
  readonly key_name: string
  readonly account_id: string
  readonly email: string
}

export interface AllRequestsFilter {
  /** The row of a key. */
  readonly key?: number | undefined
  readonly model?: string | undefined
  readonly lane?: string | undefined
  readonly kind?: KeyKind | undefined
  readonly status?: 'ok' | 'not_ok' | 'running' | undefined
  /** When the request began. */
  readonly from?: number | undefined
  readonly before?: number | undefined
  readonly chargeMin?: bigint | undefined
}

const STATUSES = {
  running: sql`AND receipts.state = 'open'`,
  ok: sql`AND receipts.outcome = 'completed'`,
  not_ok: sql`AND receipts.outcome <> 'completed'`,
} as const

function conditionsOf({ key, model, lane, kind, status, from, before, chargeMin }: AllRequestsFilter) {
  const conditions: RawBuilder<unknown>[] = []
  if (key !== undefined) conditions.push(sql`AND receipts.key = ${key}`)
  if (model !== undefined) conditions.push(sql`AND receipts.model = ${model}`)
  if (lane !== undefined) conditions.push(sql`AND receipts.lane = ${lane}`)
  if (kind !== undefined) conditions.push(sql`AND receipts.kind = ${kind}`)
  if (status !== undefined) conditions.push(STATUSES[status])
  if (from !== undefined) conditions.push(sql`AND receipts.opened_at >= ${from}`)
  if (before !== undefined) conditions.push(sql`AND receipts.opened_at < ${before}`)
  if (chargeMin !== undefined) conditions.push(sql`AND receipts.charge_nano >= ${chargeMin}`)
  return conditions.length === 0 ? sql`` : sql.join(conditions, sql` `)
}

const COLUMNS = sql`receipts.*, keys.id AS key_id, keys.name AS key_name, accounts.id AS account_id, accounts.email AS email`
const NAMED = sql`CROSS JOIN keys ON keys.row = receipts.key CROSS JOIN accounts ON accounts.row = receipts.account`

interface Numbered extends MovementRange {
  readonly limit: number
  readonly filter: AllRequestsFilter
}

/** Receipts of all accounts in a range of their rows, the last to begin first. */
export const listReceiptsByRow = (db: LedgerDb, { from, before, limit, filter }: Numbered) =>
  listRows(
    db,
    sql<OperatedReceipt>`SELECT ${COLUMNS} FROM receipts ${NAMED}
      WHERE receipts.row >= ${from} AND receipts.row < ${before} ${conditionsOf(filter)}
      ORDER BY receipts.row DESC LIMIT ${limit}`,
  )

/** Closed receipts of one account in a range of its movements, the last to end first. */
export function listReceiptsByMovement(db: LedgerDb, account: number, { from, before, limit, filter }: Numbered) {
  const kinds = filter.kind === undefined ? RECEIPT_KINDS : [filter.kind]
  const ofKind = (kind: KeyKind) => sql`SELECT ${COLUMNS} FROM receipts ${NAMED}
    WHERE receipts.account = ${account} AND ${isOfKind(kind)} AND receipts.movement >= ${from}
      AND receipts.movement < ${before} ${conditionsOf(filter)}`
  return listRows(db, sql<OperatedReceipt>`${newestOfKinds(ofKind, kinds)} LIMIT ${limit}`)
}

/** Running requests of one account, the last to begin first, by the index that has only running ones. */
export async function listOpenReceiptsOf(db: LedgerDb, account: number, filter: AllRequestsFilter, limit: number) {
  const query = sql<OperatedReceipt>`SELECT ${COLUMNS} FROM receipts INDEXED BY open_receipts ${NAMED}
    WHERE receipts.state = 'open' AND receipts.account = ${account} ${conditionsOf(filter)}`
  return (await listRows(db, query)).sort((one, other) => other.row - one.row).slice(0, limit)
}

export const findOperatedReceipt = async (db: LedgerDb, id: string): Promise<OperatedReceipt | undefined> =>
  (
    await listRows(db, sql<OperatedReceipt>`SELECT ${COLUMNS} FROM receipts ${NAMED} WHERE receipts.request_id = ${id}`)
  )[0]

/** When the last request up to this row began. Times never fall where rows rise, unless the clock was set back. */
export async function findOpeningTime(db: LedgerDb, row: number): Promise<number | undefined> {
  const query = sql<{ opened_at: number }>`SELECT opened_at FROM receipts WHERE row <= ${row} ORDER BY row DESC LIMIT 1`
  return (await listRows(db, query))[0]?.opened_at
}

/** When the last request of an account up to this movement ended. */
export async function findClosingTime(db: LedgerDb, account: number, movement: number): Promise<number | undefined> {
  const last = (kind: KeyKind) => sql`SELECT * FROM (SELECT movement, closed_at FROM receipts
    WHERE account = ${account} AND ${isOfKind(kind)} AND movement <= ${movement} ORDER BY movement DESC LIMIT 1) AS last_one`
  const query = sql<{ closed_at: number }>`SELECT closed_at FROM (${unionOfKinds(last)}) AS last_two
    ORDER BY movement DESC LIMIT 1`
  return (await listRows(db, query))[0]?.closed_at
}
