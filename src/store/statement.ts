import { type RawBuilder, sql } from 'kysely'
import { correctedTime } from './clock-corrections.ts'
import type { LedgerDb } from './tables.ts'

export type StatementKind = 'charge' | 'credit' | 'refund' | 'adjustment'

/** One thing that moved a wallet: a request that cost something, or a transfer of dollars. */
export interface StatementRow {
  movement: number
  at: number
  kind: StatementKind
  /** Signed. */
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

/** Newest first: two indexes in the order of the same numbers, which are merged as they are read. */
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

/** The columns of a charge, which the first part of a union names. */
const transfersOnly = (transfers: RawBuilder<unknown>) => sql`
  SELECT movement, at, kind, amount_nano, balance_nano, ref, reason, NULL AS model, NULL AS key_id, NULL AS key_name
    FROM (${transfers})`

/** When the wallet moved last, up to this number; undefined: not yet. Times never fall where numbers rise. */
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
