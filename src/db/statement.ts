import { type RawBuilder, type Selectable, sql } from 'kysely'
import type { KeyKind } from '../model/caller.ts'
import { correctedTime } from './clock.ts'
import type { LedgerDb, TransfersTable } from './tables.ts'

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
  SELECT movement, at, kind, amount_nano, balance_nano, ref, reason, NULL, NULL, NULL FROM transfers
    WHERE account = ${account} AND unit = 'usd' AND movement >= ${from} AND movement < ${before}
      ${kind === undefined ? sql`` : sql`AND kind = ${kind}`}`

/** Newest first. Two indexes in the order of the same numbers are merged as they are read. */
export async function listStatement(
  db: LedgerDb,
  account: number,
  { kind, limit, ...range }: MovementRange & { readonly kind: StatementKind | undefined; readonly limit: number },
): Promise<StatementRow[]> {
  const charges = chargesIn(account, range)
  const transfers = transfersIn(account, range, kind)
  const lines =
    kind === undefined ? sql`${charges} UNION ALL ${transfers}` : kind === 'charge' ? charges : transfersOnly(transfers)
  return (await sql<StatementRow>`${lines} ORDER BY movement DESC LIMIT ${limit}`.execute(db)).rows
}

/** With the column names of a charge. */
const transfersOnly = (transfers: RawBuilder<unknown>) => sql`
  SELECT movement, at, kind, amount_nano, balance_nano, ref, reason, NULL AS model, NULL AS key_id, NULL AS key_name
    FROM (${transfers})`

/** When the wallet moved last, up to this movement. Times never fall where numbers rise. */
export async function findMovementTime(db: LedgerDb, account: number, movement: number): Promise<number | undefined> {
  const { rows } = await sql<{ at: number }>`SELECT at FROM (
      SELECT * FROM (SELECT movement, ${correctedTime('receipts', 'closed_at')} AS at FROM receipts
        WHERE account = ${account} AND kind = 'wallet' AND movement <= ${movement} ORDER BY movement DESC LIMIT 1)
      UNION ALL
      SELECT * FROM (SELECT movement, ${correctedTime('transfers', 'at')} AS at FROM transfers
        WHERE account = ${account} AND unit = 'usd' AND movement <= ${movement} ORDER BY movement DESC LIMIT 1))
    ORDER BY movement DESC LIMIT 1`.execute(db)
  return rows[0]?.at
}

/** The indexes of movements are partial, by these. A query without one of them scans the whole account. */
export const RECEIPT_KINDS = ['wallet', 'builder'] as const
export const TRANSFER_UNITS = ['usd', 'quota', 'cap'] as const

/** A literal, because SQLite does not use a partial index for a parameter. */
export const isOfKind = (kind: KeyKind) => sql<boolean>`receipts.kind = ${sql.lit(kind)}`

/** The number of an account's last movement, 0 for none: the maximum of the ends of all indexes. */
export async function findLastMovement(db: LedgerDb, account: number): Promise<number> {
  const ends = [
    ...RECEIPT_KINDS.map(
      (kind) => sql`(SELECT MAX(movement) FROM receipts
      WHERE account = ${account} AND ${isOfKind(kind)} AND movement IS NOT NULL)`,
    ),
    ...TRANSFER_UNITS.map(
      (unit) => sql`(SELECT MAX(movement) FROM transfers
      WHERE account = ${account} AND unit = ${unit} AND movement IS NOT NULL)`,
    ),
  ]
  const largest = sql.join(ends.map((end) => sql`COALESCE(${end}, 0)`))
  const { rows } = await sql<{ movement: number }>`SELECT MAX(${largest}) AS movement`.execute(db)
  return rows[0]?.movement ?? 0
}

/**
 * The movement from which on an account has closed this many requests before `before`; undefined when it has fewer. It reads
 * only indexes, so that a filtered list can scan a bounded part of an account at a time.
 */
export async function findSliceStart(
  db: LedgerDb,
  account: number,
  {
    kinds,
    before,
    requests,
  }: { readonly kinds: readonly KeyKind[]; readonly before: number; readonly requests: number },
): Promise<number | undefined> {
  const ofKind = (kind: KeyKind) => sql`SELECT movement FROM receipts
    WHERE account = ${account} AND ${isOfKind(kind)} AND movement < ${before}`
  const { rows } = await sql<{ movement: number }>`${sql.join(kinds.map(ofKind), sql` UNION ALL `)}
    ORDER BY movement DESC LIMIT 1 OFFSET ${requests - 1}`.execute(db)
  return rows[0]?.movement
}

export type StoredTransfer = Selectable<TransfersTable>

/** A refund may have the reference of a credit. */
export const findTransferByRef = (
  db: LedgerDb,
  account: number,
  kind: 'credit' | 'refund' | 'adjustment',
  ref: string,
): Promise<StoredTransfer | undefined> =>
  db
    .selectFrom('transfers')
    .selectAll()
    .where('account', '=', account)
    .where('kind', '=', kind)
    .where('ref', '=', ref)
    .executeTakeFirst()

/** Operators' transfers, newest first. */
export const listTransfersOfAccount = (
  db: LedgerDb,
  account: number,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<StoredTransfer[]> =>
  db
    .selectFrom('transfers')
    .selectAll()
    .where('account', '=', account)
    .where('unit', '=', 'usd')
    .where('row', '<', before)
    .orderBy('row', 'desc')
    .limit(limit)
    .execute()
