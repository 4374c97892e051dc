import { type RawBuilder, sql } from 'kysely'
import type { KeyKind } from '../model/caller.ts'
import { correctedTime } from './clock.ts'
import {
  isOfKind,
  listRows,
  newestFirst,
  newestOfKinds,
  type PageBefore,
  RECEIPT_KINDS,
  TRANSFER_UNITS,
} from './sql.ts'
import type { LedgerDb } from './tables.ts'

export type StatementKind = 'charge' | 'credit' | 'refund' | 'adjustment'

/** A charge of a request, or a transfer of dollars. */
export interface StatementRow {
  movement: number
  at: number
  kind: StatementKind
  amount_nano: bigint
  balance_nano: bigint | null
  ref: string
  reason: string
  model: string | null
  key_id: string | null
  key_name: string | null
}

/** Movements from `from` on, before `before`. */
export interface MovementRange {
  readonly from: number
  readonly before: number
}

const chargesIn = (account: number, { from, before }: MovementRange): RawBuilder<unknown> => sql`
  SELECT movement, closed_at AS at, 'charge' AS kind, -charge_nano AS amount_nano, balance_nano, request_id AS ref,
      COALESCE(outcome, '') AS reason, model, keys.id AS key_id, keys.name AS key_name
    FROM receipts CROSS JOIN keys ON keys.row = receipts.key
    WHERE receipts.account = ${account} AND receipts.kind = 'wallet' AND movement >= ${from} AND movement < ${before}
      AND charge_nano > 0`

const transfersIn = (account: number, { from, before }: MovementRange, kind: StatementKind | undefined) => sql`
  SELECT movement, at, kind, amount_nano, balance_nano, ref, reason, NULL AS model, NULL AS key_id, NULL AS key_name
    FROM transfers
    WHERE account = ${account} AND unit = 'usd' AND movement >= ${from} AND movement < ${before}
      ${kind === undefined ? sql`` : sql`AND kind = ${kind}`}`

/** Newest first. Two indexes in the order of the same numbers are merged as they are read. */
export function listStatement(
  db: LedgerDb,
  account: number,
  { kind, limit, ...range }: MovementRange & { readonly kind: StatementKind | undefined; readonly limit: number },
): Promise<StatementRow[]> {
  const charges = kind === undefined || kind === 'charge' ? [newestFirst(chargesIn(account, range), 'charges')] : []
  const transfers = kind === 'charge' ? [] : [newestFirst(transfersIn(account, range, kind), 'money')]
  const lines = sql.join([...charges, ...transfers], sql` UNION ALL `)
  return listRows(db, sql<StatementRow>`${lines} ORDER BY movement DESC LIMIT ${limit}`)
}

/** When the account moved last, up to this movement. Times never fall where numbers rise. */
export async function findMovementTime(db: LedgerDb, account: number, movement: number): Promise<number | undefined> {
  const lastRequest = (
    kind: KeyKind,
  ) => sql`SELECT * FROM (SELECT movement, ${correctedTime('receipts', 'closed_at')} AS at
    FROM receipts WHERE account = ${account} AND kind = ${sql.lit(kind)} AND movement <= ${movement}
    ORDER BY movement DESC LIMIT 1) AS ${sql.raw(`last_${kind}`)}`
  const query = sql<{ at: number }>`SELECT at FROM (
      ${lastRequest('wallet')}
      UNION ALL
      ${lastRequest('builder')}
      UNION ALL
      SELECT * FROM (SELECT movement, ${correctedTime('transfers', 'at')} AS at FROM transfers
        WHERE account = ${account} AND unit = 'usd' AND movement <= ${movement} ORDER BY movement DESC LIMIT 1) AS last_transfer) AS last_moves
    ORDER BY movement DESC LIMIT 1`
  return (await listRows(db, query))[0]?.at
}

/**
 * The last movement of an account up to a time, 0 for none: a binary search in one statement, because times never fall where
 * numbers rise. Returns `otherwise` if an operator has set ledger time back: then they did.
 */
export async function findMovementAt(
  db: LedgerDb,
  account: number,
  { last, at, otherwise }: { readonly last: number; readonly at: number; readonly otherwise: number },
): Promise<number> {
  const ofKind = (kind: KeyKind) =>
    sql`(SELECT closed_at FROM receipts WHERE account = ${account} AND ${isOfKind(kind)} AND movement = reached + step)`
  const ofUnit = (unit: (typeof TRANSFER_UNITS)[number]) =>
    sql`(SELECT at FROM transfers WHERE account = ${account} AND unit = ${sql.lit(unit)} AND movement = reached + step)`
  const time = sql`COALESCE(${sql.join([...RECEIPT_KINDS.map(ofKind), ...TRANSFER_UNITS.map(ofUnit)])}, 0)`
  const first = last < 1 ? 0 : 2 ** Math.floor(Math.log2(last))
  const query = sql<{ movement: number }>`WITH RECURSIVE halved (reached, step) AS (
      SELECT CAST(0 AS BIGINT), ${first}
      UNION ALL
      SELECT CASE WHEN reached + step <= ${last} AND ${time} <= ${at} THEN reached + step ELSE reached END, step / 2
        FROM halved WHERE step > 0)
    SELECT CASE WHEN EXISTS (SELECT 1 FROM clock_corrections) THEN ${otherwise} ELSE MAX(reached) END AS movement FROM halved`
  return (await listRows(db, query))[0]?.movement ?? 0
}

/** The last request of the wallet and the last transfer of dollars before a movement, the later one first. */
export const listLastMoves = (db: LedgerDb, account: number, before: number) =>
  listRows(
    db,
    sql<LastMove>`
      SELECT * FROM (SELECT movement, closed_at AS at, ${correctedTime('receipts', 'closed_at')} AS corrected, balance_nano,
          'charge' AS kind, CAST(NULL AS BIGINT) AS amount_nano, '' AS ref, '' AS reason FROM receipts
        WHERE account = ${account} AND kind = 'wallet' AND movement < ${before} ORDER BY movement DESC LIMIT 1) AS last_charge
      UNION ALL
      SELECT * FROM (SELECT movement, at, ${correctedTime('transfers', 'at')} AS corrected, balance_nano, kind, amount_nano, ref, reason
        FROM transfers
        WHERE account = ${account} AND unit = 'usd' AND movement < ${before} ORDER BY movement DESC LIMIT 1) AS last_transfer
      ORDER BY movement DESC`,
  )

/** Of a request only its number, time and balance are read. `corrected` is the time without an operator's correction of the clock. */
interface LastMove {
  movement: number
  at: number
  corrected: number
  balance_nano: bigint
  kind: StatementKind
  amount_nano: bigint | null
  ref: string
  reason: string
}

/** How many requests of the wallet closed in a range of movements, counted in the index. */
export async function countWalletRequests(db: LedgerDb, account: number, { from, before }: MovementRange) {
  const query = sql<{ requests: number }>`SELECT COUNT(*) AS requests FROM receipts
    WHERE account = ${account} AND kind = 'wallet' AND movement >= ${from} AND movement < ${before}`
  return (await listRows(db, query))[0]!.requests
}

/** The wallet's balance before a movement: 0 before the first one. */
export const findWalletBalance = async (db: LedgerDb, account: number, before: number): Promise<bigint> =>
  (await listLastMoves(db, account, before))[0]?.balance_nano ?? 0n

/** Transfers of dollars in a range of movements, oldest first. */
export const listMoneyTransfers = (
  db: LedgerDb,
  account: number,
  { from, before, limit }: MovementRange & { readonly limit: number },
) =>
  listRows(
    db,
    sql<{ movement: number; at: number; kind: string; amount_nano: bigint; ref: string; reason: string }>`
      SELECT movement, at, kind, amount_nano, ref, reason FROM transfers
        WHERE account = ${account} AND unit = 'usd' AND movement >= ${from} AND movement < ${before}
        ORDER BY movement LIMIT ${limit}`,
  )

/** The number of an account's last movement, 0 for none: the maximum of the ends of all indexes. */
export async function findLastMovement(db: LedgerDb, account: number): Promise<number> {
  const last = (table: 'receipts' | 'transfers', which: RawBuilder<unknown>) => sql`SELECT
    (SELECT MAX(movement) FROM ${sql.table(table)} WHERE account = ${account} AND ${which} AND movement IS NOT NULL) AS movement`
  const ends = [
    ...RECEIPT_KINDS.map((kind) => last('receipts', isOfKind(kind))),
    ...TRANSFER_UNITS.map((unit) => last('transfers', sql`unit = ${unit}`)),
  ]
  const [row] = await listRows(
    db,
    sql<{
      movement: number | null
    }>`SELECT MAX(movement) AS movement FROM (${sql.join(ends, sql` UNION ALL `)}) AS ends`,
  )
  return row?.movement ?? 0
}

/**
 * The movement from which on an account has closed this many requests before `before`; undefined when it has fewer. It reads
 * only indexes, so that a filtered list can scan a bounded part of an account at a time.
 */
export async function findSliceStart(
  db: LedgerDb,
  account: number,
  slice: { readonly kinds: readonly KeyKind[]; readonly before: number; readonly requests: number },
): Promise<number | undefined> {
  const ofKind = (kind: KeyKind) => sql`SELECT movement FROM receipts
    WHERE account = ${account} AND ${isOfKind(kind)} AND movement < ${slice.before}`
  const query = sql<{ movement: number }>`${newestOfKinds(ofKind, slice.kinds)}
    LIMIT 1 OFFSET ${slice.requests - 1}`
  return (await listRows(db, query))[0]?.movement
}

/** A refund may have the reference of a credit. */
export const findTransferByRef = (
  db: LedgerDb,
  account: number,
  kind: 'credit' | 'refund' | 'adjustment',
  ref: string,
) =>
  db
    .selectFrom('transfers')
    .selectAll()
    .where(({ and }) => and({ account, kind, ref }))
    .executeTakeFirst()

/** Operators' transfers, newest first. */
export const listTransfersOfAccount = (db: LedgerDb, account: number, { before, limit }: PageBefore) =>
  db
    .selectFrom('transfers')
    .selectAll()
    .where(({ and }) => and({ account, unit: 'usd' }))
    .where('row', '<', before)
    .orderBy('row', 'desc')
    .limit(limit)
    .execute()
