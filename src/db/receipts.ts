import { type Expression, type ExpressionBuilder, type RawBuilder, type SqlBool, sql } from 'kysely'
import type { KeyKind } from '../model/caller.ts'
import { correctedTime } from './clock.ts'
import type { ClosedUsage } from './content/usage-totals.ts'
import { eachOf, isOfKind, listRows, newestOfKinds, type PageBefore, RECEIPT_KINDS, unionOfKinds } from './sql.ts'
import { changeRows, type SqlStore } from './sql-store.ts'
import type { MovementRange } from './statement.ts'
import type { LedgerDb, LedgerTables, ReceiptsTable } from './tables.ts'

export const findReceipt = (db: LedgerDb, requestId: string): Promise<ReceiptsTable | undefined> =>
  db.selectFrom('receipts').selectAll().where('request_id', '=', requestId).executeTakeFirst()

/** Of these requests, those that have a receipt. */
export const listKnownRequests = (db: LedgerDb, requestIds: readonly string[]) =>
  db.selectFrom('receipts').select(['request_id', 'account']).where('request_id', 'in', requestIds).execute()

/** An open hold, for recovery, with the scope of its idempotency key. */
export type OpenReceiptRow = Awaited<ReturnType<typeof listOpenReceipts>>[number]

/** Oldest first: the open holds of all accounts, or of one. */
export async function listOpenReceipts(db: LedgerDb, account?: number) {
  const receipts = await db
    .selectFrom('receipts')
    .leftJoin('claims', 'claims.receipt', 'receipts.row')
    .select(['row', 'request_id', 'account', 'key', 'model', 'price_version', 'buckets', 'caps', 'claims.scope'])
    .select(['hold_nano', 'output_bound', 'input_estimate', 'cached_estimate', 'asked'])
    .where('receipts.state', '=', 'open')
    .$if(account !== undefined, (query) => query.where('receipts.account', '=', account!))
    .execute()
  // Sorted here, because the index of open receipts is by account. There are no more than turns that run at once.
  return receipts.sort((one, other) => one.row - other.row)
}

export const findMarks = (db: LedgerDb) => db.selectFrom('marks').selectAll().execute()

/** The last row numbers, 0 for none. The ledger counts on from them in memory. */
export async function findNewestRows(db: LedgerDb) {
  const newest = async (table: 'receipts' | 'transfers' | 'buckets' | 'subscriptions'): Promise<number> => {
    const query = sql<{ row: number | null }>`SELECT MAX(row) AS row FROM ${sql.table(table)}`
    return (await listRows(db, query))[0]?.row ?? 0
  }
  return {
    receipt: await newest('receipts'),
    transfer: await newest('transfers'),
    bucket: await newest('buckets'),
    subscription: await newest('subscriptions'),
  }
}

/**
 * How many of the newest receipts are searched for the latest closing time. Rows are numbered in ledger time, so the newest
 * opening is at the end. A closing may be on any row, but a turn that outlived this many younger ones closed within moments
 * of one of them. An index would cost every request a write for one query per start.
 */
const TAIL = 10_000

/**
 * The latest time in the ledger, 0 for an empty one. Ledger time goes on from here. Rows from before an operator set the
 * clock back count as what it was set back to.
 */
export async function findLatestLedgerTime(db: LedgerDb): Promise<number> {
  const query = sql<{ at: number | null }>`
    SELECT MAX(MAX(${correctedTime('receipts', 'opened_at')}, COALESCE(${correctedTime('receipts', 'closed_at')}, 0))) AS at
      FROM receipts WHERE row > (SELECT MAX(row) FROM receipts) - ${TAIL}
    UNION ALL SELECT ${correctedTime('transfers', 'at')} FROM transfers WHERE row = (SELECT MAX(row) FROM transfers)
    UNION ALL SELECT MAX(at) FROM marks
    ORDER BY 1 DESC LIMIT 1`
  return (await listRows(db, query))[0]?.at ?? 0
}

/** A receipt with the key that asked. */
export type ListedRequest = Awaited<ReturnType<typeof listRunningRequests>>[number]

export interface RequestFilter {
  /** The row of a key. */
  readonly key?: number | undefined
  /** The row of a person, for requests of their keys. */
  readonly person?: number | undefined
  readonly model?: string | undefined
  readonly kind?: KeyKind | undefined
  /** `repo:millrace` */
  readonly tag?: string | undefined
  readonly outcome?: 'ok' | 'not_ok' | 'running' | undefined
  /** The row of a bucket that it holds or held on. */
  readonly bucket?: number | undefined
}

export type ClosedRequest = ListedRequest & { movement: number }

/** The kinds that a filter admits. Each has its own index. */
export const kindsOf = ({ kind }: RequestFilter): readonly KeyKind[] => (kind === undefined ? RECEIPT_KINDS : [kind])

/** The last to end first. The indexes of the kinds are merged as they are read. */
export async function listClosedRequests(
  db: LedgerDb,
  account: number,
  { from, before, limit, filter }: MovementRange & { readonly limit: number; readonly filter: RequestFilter },
): Promise<ClosedRequest[]> {
  const [first, ...others] = kindsOf(filter).map((kind) => {
    const ofKind = (
      filter.tag === undefined ? withKeys(db) : taggedWith(db, account, { tag: filter.tag, from, before })
    )
      .where('receipts.account', '=', account)
      .where(isOfKind(kind))
      .where('receipts.movement', '>=', from)
      .where('receipts.movement', '<', before)
      .where((eb) => eb.and(conditionsOf(eb, { ...filter, tag: undefined })))
      .orderBy('receipts.movement', 'desc')
    return db.selectFrom(ofKind.as('of_kind')).selectAll()
  })
  const all = others.reduce((query, other) => query.unionAll(other), first!)
  return (await all.orderBy('movement', 'desc').limit(limit).execute()) as ClosedRequest[]
}

/** Newest first, by the index of open receipts, which is scanned until there are enough. */
export async function listRunningRequests(
  db: LedgerDb,
  account: number,
  { before, limit, filter }: PageBefore & { readonly filter: RequestFilter },
) {
  const found: Awaited<ReturnType<ReturnType<typeof withKeys>['execute']>> = []
  for (let behind = before; found.length < limit; ) {
    const open = sql<{ row: number }>`SELECT row FROM receipts INDEXED BY open_receipts
      WHERE state = 'open' AND account = ${account} AND row < ${behind} ORDER BY row DESC LIMIT ${SLICE_ROWS}`
    const slice = (await listRows(db, open)).map(({ row }) => row)
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

/** Few enough that neither this thread nor the worker is blocked for long. */
const SLICE_ROWS = 1000

export async function sumRunning(db: LedgerDb, account: number, kind: KeyKind) {
  const query = sql<{ requests: number; held_nano: bigint }>`
    SELECT COUNT(*) AS requests, COALESCE(SUM(hold_nano), 0) AS held_nano
      FROM receipts INDEXED BY open_receipts WHERE state = 'open' AND account = ${account} AND kind = ${kind}`
  return (await listRows(db, query))[0]!
}

const withKeys = (db: LedgerDb) =>
  db
    .selectFrom('receipts')
    .innerJoin('keys', 'keys.row', 'receipts.key')
    .selectAll('receipts')
    .select(['keys.id as key_id', 'keys.name as key_name'])

/** The tagged requests lead, however rare they are. */
const taggedWith = (db: LedgerDb, account: number, { tag, from, before }: MovementRange & { readonly tag: string }) =>
  db
    .selectFrom('receipt_tags')
    .crossJoin('receipts')
    .innerJoin('keys', 'keys.row', 'receipts.key')
    .selectAll('receipts')
    .select(['keys.id as key_id', 'keys.name as key_name'])
    .where('receipt_tags.account', '=', account)
    .where('receipt_tags.tag', '=', tag)
    .where('receipt_tags.movement', '>=', from)
    .where('receipt_tags.movement', '<', before)
    .whereRef('receipts.movement', '=', 'receipt_tags.movement') as unknown as ReturnType<typeof withKeys>

/** The movement from which on so many requests with a tag have closed before `before`; undefined when there are fewer. */
export async function findTaggedSliceStart(
  db: LedgerDb,
  account: number,
  { tag, before, requests }: { readonly tag: string; readonly before: number; readonly requests: number },
): Promise<number | undefined> {
  const query = sql<{ movement: number }>`SELECT movement FROM receipt_tags
    WHERE account = ${account} AND tag = ${tag} AND movement < ${before} ORDER BY movement DESC LIMIT 1 OFFSET ${requests - 1}`
  return (await listRows(db, query))[0]?.movement
}

function conditionsOf(
  eb: ExpressionBuilder<LedgerTables, 'receipts' | 'keys'>,
  { key, person, model, kind, tag, outcome, bucket }: RequestFilter,
): Expression<SqlBool>[] {
  const conditions: Expression<SqlBool>[] = []
  if (key !== undefined) conditions.push(eb('receipts.key', '=', key))
  // Without an index: the receipts are read in the order of their account, from which a page is bounded.
  if (person !== undefined) conditions.push(sql<SqlBool>`+keys.person = ${person}`)
  if (model !== undefined) conditions.push(eb('receipts.model', '=', model))
  if (kind !== undefined) conditions.push(eb('receipts.kind', '=', kind))
  // Of a running request, which is not among the tagged ones yet.
  if (tag !== undefined) {
    conditions.push(sql<SqlBool>`EXISTS (SELECT 1 FROM json_each(receipts.tags) AS tagged WHERE tagged.value = ${tag})`)
  }
  if (outcome === 'running') conditions.push(eb('receipts.state', '=', 'open'))
  if (outcome === 'ok') conditions.push(eb('receipts.outcome', '=', 'completed'))
  if (outcome === 'not_ok') conditions.push(eb('receipts.outcome', '<>', 'completed'))
  if (bucket !== undefined) {
    const heldOn = sql`SELECT 1 FROM json_each(receipts.buckets) AS held_on WHERE held_on.value = ${bucket}`
    conditions.push(sql<SqlBool>`EXISTS (${heldOn})`)
  }
  return conditions
}

export const findClaim = (db: LedgerDb, scope: string) =>
  db
    .selectFrom('claims')
    .innerJoin('receipts', 'receipts.row', 'claims.receipt')
    .select(['claims.receipt', 'receipts.request_id', 'claims.scope', 'claims.fingerprint'])
    .select(['claims.state', 'claims.expires_at'])
    .where('claims.scope', '=', scope)
    .executeTakeFirst()

export const findClaimOfReceipt = (db: LedgerDb, receipt: number) =>
  db.selectFrom('claims').select(['state', 'expires_at']).where('receipt', '=', receipt).executeTakeFirst()

/** Deletes expired claims of ended requests, oldest first, up to `limit`. */
export const forgetExpiredClaims = (file: SqlStore, now: number, limit: number) =>
  changeRows(file, FORGET_EXPIRED, [now, limit])

const FORGET_EXPIRED = `DELETE FROM claims WHERE receipt IN
  (SELECT receipt FROM claims WHERE expires_at <= ? AND state <> 'running' ORDER BY expires_at LIMIT ?)`

/** Usage is kept by quarters of an hour, because every time zone in use is a multiple of them away from UTC. */
export const QUARTER_MS = 900_000

/** The receipts of one key, model and set of tags that closed in one quarter of an hour. */
export interface ClosedUsageRow extends Omit<ClosedUsage, 'account'> {
  account: number
  /** Of the last of them. */
  movement: number
}

const nextOfKind = (limit: number) => (kind: KeyKind) =>
  sql`
  SELECT * FROM (SELECT movement FROM receipts
    WHERE receipts.account = slices.account AND ${isOfKind(kind)} AND movement > slices.after
    ORDER BY movement LIMIT ${limit}) AS next`

const sumsOfKind = (kind: KeyKind) => sql`
    SELECT sums.*, last.closed_at AS last_at, keys.person AS person, keys.team AS team FROM (
      SELECT receipts.account AS account, closed_at / ${sql.lit(QUARTER_MS)} AS quarter, key, kind, model, tags,
        COUNT(*) AS requests, COUNT(*) FILTER (WHERE outcome <> 'completed') AS failed,
        COALESCE(SUM(uncached_input), 0) AS uncached_input, COALESCE(SUM(cached_input), 0) AS cached_input,
        COALESCE(SUM(cache_write), 0) AS cache_write, COALESCE(SUM(output), 0) AS output,
        COALESCE(SUM(reasoning), 0) AS reasoning,
        COALESCE(SUM(charge_nano) FILTER (WHERE kind = 'wallet'), 0) AS wallet_nano,
        COALESCE(SUM(charge_nano) FILTER (WHERE kind = 'builder'), 0) AS plan_nano,
        MAX(movement) AS movement
      FROM bounded CROSS JOIN receipts ON ${eachOf(sql`receipts.account = bounded.account
        AND ${isOfKind(kind)} AND movement > bounded.after AND movement <= bounded.up_to`)}
      GROUP BY receipts.account, closed_at / ${sql.lit(QUARTER_MS)}, key, kind, model, tags) AS sums
    CROSS JOIN receipts AS last ON ${eachOf(
      sql`last.account = sums.account AND last.kind = ${sql.lit(kind)} AND last.movement = sums.movement`,
    )}
    LEFT JOIN keys ON keys.row = sums.key`

/**
 * Sums the next receipts of these accounts after a movement, up to `receiptsOfEach` per account, so that only one row for each key, model and
 * quarter crosses to this thread.
 */
export function sumClosedReceipts(
  db: LedgerDb,
  slices: readonly { readonly account: number; readonly after: number }[],
  receiptsOfEach: number,
): Promise<ClosedUsageRow[]> {
  const list = JSON.stringify(slices.map(({ account, after }) => [account, after]))
  const query = sql<ClosedUsageRow>`WITH slices AS (
      SELECT CAST(value ->> 0 AS BIGINT) AS account, CAST(value ->> 1 AS BIGINT) AS after FROM json_each(${list})
    ), bounded AS MATERIALIZED (
      SELECT account, after, (
          SELECT MAX(movement) FROM (
            SELECT movement FROM (${unionOfKinds(nextOfKind(receiptsOfEach))}) AS of_kinds ORDER BY movement LIMIT ${receiptsOfEach}) AS next_ones
        ) AS up_to
        FROM slices
    )
    ${unionOfKinds(sumsOfKind)}`
  return listRows(db, query)
}

/** Of the named receipts, the accounts of those that exist with this time. */
export async function listReceiptsThatAreThere(
  db: LedgerDb,
  named: readonly { readonly account: number; readonly movement: number; readonly closedAt: number }[],
): Promise<number[]> {
  const list = JSON.stringify(named.map(({ account, movement, closedAt }) => [account, movement, closedAt]))
  const ofKind = (kind: KeyKind) => sql`SELECT receipts.account AS account FROM json_each(${list}) AS named
    CROSS JOIN receipts ON receipts.account = CAST(named.value ->> 0 AS BIGINT) AND ${isOfKind(kind)}
      AND movement = CAST(named.value ->> 1 AS BIGINT) AND closed_at = CAST(named.value ->> 2 AS BIGINT)`
  const rows = await listRows(db, sql<{ account: number }>`${unionOfKinds(ofKind)}`)
  return rows.map(({ account }) => account)
}

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

function conditionsOfAll({ key, model, lane, kind, status, from, before, chargeMin }: AllRequestsFilter) {
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
      WHERE receipts.row >= ${from} AND receipts.row < ${before} ${conditionsOfAll(filter)}
      ORDER BY receipts.row DESC LIMIT ${limit}`,
  )

/** Closed receipts of one account in a range of its movements, the last to end first. */
export function listReceiptsByMovement(db: LedgerDb, account: number, { from, before, limit, filter }: Numbered) {
  const kinds = filter.kind === undefined ? RECEIPT_KINDS : [filter.kind]
  const ofKind = (kind: KeyKind) => sql`SELECT ${COLUMNS} FROM receipts ${NAMED}
    WHERE receipts.account = ${account} AND ${isOfKind(kind)} AND receipts.movement >= ${from}
      AND receipts.movement < ${before} ${conditionsOfAll(filter)}`
  return listRows(db, sql<OperatedReceipt>`${newestOfKinds(ofKind, kinds)} LIMIT ${limit}`)
}

/** Running requests of one account, the last to begin first, by the index that has only running ones. */
export async function listOpenReceiptsOf(db: LedgerDb, account: number, filter: AllRequestsFilter, limit: number) {
  const query = sql<OperatedReceipt>`SELECT ${COLUMNS} FROM receipts INDEXED BY open_receipts ${NAMED}
    WHERE receipts.state = 'open' AND receipts.account = ${account} ${conditionsOfAll(filter)}`
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
