import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { KeyKind } from '../model/caller.ts'
import { isOfKind, RECEIPT_KINDS } from './movements.ts'
import type { MovementRange } from './statement.ts'
import type { LedgerDb, LedgerTables, ReceiptsTable } from './tables.ts'

/** A receipt with the key that asked. */
export interface ListedRequest extends ReceiptsTable {
  key_id: string
  key_name: string
}

export interface RequestFilter {
  /** The row of a key. */
  readonly key?: number | undefined
  readonly model?: string | undefined
  readonly kind?: KeyKind | undefined
  readonly outcome?: 'ok' | 'not_ok' | 'running' | undefined
  /** The row of a bucket that its hold stands or stood on. */
  readonly bucket?: number | undefined
}

/** One that has ended, and so has its number. */
export type ClosedRequest = ListedRequest & { movement: number }

/** Which indexes have what a filter lets through. */
export const kindsOf = ({ kind }: RequestFilter): readonly KeyKind[] => (kind === undefined ? RECEIPT_KINDS : [kind])

/** Of those that have ended, in the order in which they did, the last one first: an index of each kind, merged as they are read. */
export async function listClosedRequests(
  db: LedgerDb,
  account: number,
  { from, before, limit, filter }: MovementRange & { readonly limit: number; readonly filter: RequestFilter },
): Promise<ClosedRequest[]> {
  const [first, ...others] = kindsOf(filter).map((kind) =>
    withKeys(db)
      .where('receipts.account', '=', account)
      .where(isOfKind(kind))
      .where('receipts.movement', '>=', from)
      .where('receipts.movement', '<', before)
      .where((eb) => eb.and(conditionsOf(eb, filter))),
  )
  const all = others.reduce((query, other) => query.unionAll(other), first!)
  return (await all.orderBy('movement', 'desc').limit(limit).execute()) as ClosedRequest[]
}

/**
 * Of an account's open holds, by an index that has nothing but open ones. Newest first: however many there are, all of them
 * are looked at until there are enough.
 */
export async function listRunningRequests(
  db: LedgerDb,
  account: number,
  { before, limit, filter }: { readonly before: number; readonly limit: number; readonly filter: RequestFilter },
): Promise<ListedRequest[]> {
  const found: ListedRequest[] = []
  for (let behind = before; found.length < limit; ) {
    const slice = await listOpenRows(db, account, behind)
    if (slice.length === 0) break
    const wanted = withKeys(db)
      .where('receipts.row', 'in', slice)
      .where((eb) => eb.and(conditionsOf(eb, filter)))
      .orderBy('receipts.row', 'desc')
      .limit(limit - found.length)
    found.push(...(await wanted.execute()))
    if (slice.length < SLICE_ROWS) break
    behind = slice.at(-1)!
  }
  return found
}

/** Few enough that neither this thread nor the one of the books is kept from others for long. */
const SLICE_ROWS = 1000

async function listOpenRows(db: LedgerDb, account: number, before: number): Promise<number[]> {
  const { rows } = await sql<{ row: number }>`SELECT row FROM receipts INDEXED BY open_receipts
    WHERE state = 'open' AND account = ${account} AND row < ${before} ORDER BY row DESC LIMIT ${SLICE_ROWS}`.execute(db)
  return rows.map(({ row }) => row)
}

export interface RunningSum {
  requests: number
  held_nano: bigint
}

/** What of an account runs now, by who pays. */
export async function sumRunning(db: LedgerDb, account: number, kind: KeyKind): Promise<RunningSum> {
  const { rows } = await sql<RunningSum>`SELECT COUNT(*) AS requests, COALESCE(SUM(hold_nano), 0) AS held_nano
    FROM receipts INDEXED BY open_receipts WHERE state = 'open' AND account = ${account} AND kind = ${kind}`.execute(db)
  return rows[0]!
}

const withKeys = (db: LedgerDb) =>
  db
    .selectFrom('receipts')
    .innerJoin('keys', 'keys.row', 'receipts.key')
    .selectAll('receipts')
    .select(['keys.id as key_id', 'keys.name as key_name'])

function conditionsOf(
  eb: ExpressionBuilder<LedgerTables, 'receipts' | 'keys'>,
  { key, model, kind, outcome, bucket }: RequestFilter,
): Expression<SqlBool>[] {
  const conditions: Expression<SqlBool>[] = []
  if (key !== undefined) conditions.push(eb('receipts.key', '=', key))
  if (model !== undefined) conditions.push(eb('receipts.model', '=', model))
  if (kind !== undefined) conditions.push(eb('receipts.kind', '=', kind))
  if (outcome === 'running') conditions.push(eb('receipts.state', '=', 'open'))
  if (outcome === 'ok') conditions.push(eb('receipts.outcome', '=', 'completed'))
  if (outcome === 'not_ok') conditions.push(eb('receipts.outcome', '<>', 'completed'))
  if (bucket !== undefined) conditions.push(standsOn(bucket))
  return conditions
}

const standsOn = (bucket: number) =>
  sql<SqlBool>`EXISTS (SELECT 1 FROM json_each(receipts.buckets) AS held_on WHERE held_on.value = ${bucket})`
