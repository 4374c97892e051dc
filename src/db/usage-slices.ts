import { sql } from 'kysely'
import type { KeyKind } from '../model/caller.ts'
import { isOfKind, RECEIPT_KINDS } from './statement.ts'
import type { LedgerDb } from './tables.ts'

/** All usage is kept by quarters of an hour: every time zone in use is so many of them away from UTC. */
export const QUARTER_MS = 900_000

/** What closed in a quarter of an hour of one key and model. */
export interface ClosedUsageRow {
  account: number
  /** Quarters since 1970. */
  quarter: number
  key: number
  kind: KeyKind
  model: string
  requests: number
  failed: number
  uncached_input: number
  cached_input: number
  cache_write: number
  output: number
  reasoning: number
  wallet_nano: bigint
  plan_nano: bigint
  /** The number of the last of them, and when that closed. */
  movement: number
  last_at: number
}

interface UsageSlice {
  readonly account: number
  /** The number of the last receipt that is counted already. */
  readonly after: number
}

const nextOfKind = (limit: number) => (kind: KeyKind) =>
  sql`
              SELECT * FROM (SELECT movement FROM receipts
                WHERE receipts.account = slices.account AND ${isOfKind(kind)} AND movement > slices.after
                ORDER BY movement LIMIT ${limit})`

const sumsOfKind = (kind: KeyKind) => sql`
    SELECT receipts.account AS account, closed_at / ${sql.lit(QUARTER_MS)} AS quarter, key, kind, model,
        COUNT(*) AS requests, COUNT(*) FILTER (WHERE outcome <> 'completed') AS failed,
        COALESCE(SUM(uncached_input), 0) AS uncached_input, COALESCE(SUM(cached_input), 0) AS cached_input,
        COALESCE(SUM(cache_write), 0) AS cache_write, COALESCE(SUM(output), 0) AS output,
        COALESCE(SUM(reasoning), 0) AS reasoning,
        COALESCE(SUM(charge_nano) FILTER (WHERE kind = 'wallet'), 0) AS wallet_nano,
        COALESCE(SUM(charge_nano) FILTER (WHERE kind = 'builder'), 0) AS plan_nano,
        MAX(movement) AS movement, closed_at AS last_at
      FROM bounded CROSS JOIN receipts ON receipts.account = bounded.account
        AND ${isOfKind(kind)} AND movement > bounded.after AND movement <= bounded.up_to
      GROUP BY receipts.account, closed_at / ${sql.lit(QUARTER_MS)}, key, kind, model`

/**
 * The next receipts of these accounts, so many of each at most, summed up where they lie: what crosses to the asking
 * thread is a row for each key, model and quarter. With MAX as its only extreme, SQLite takes `closed_at` from that row.
 */
export async function sumClosedReceipts(
  db: LedgerDb,
  slices: readonly UsageSlice[],
  receiptsOfEach: number,
): Promise<ClosedUsageRow[]> {
  const { rows } = await sql<ClosedUsageRow>`WITH slices AS (
      SELECT value ->> 0 AS account, value ->> 1 AS after FROM json_each(${JSON.stringify(slices.map(({ account, after }) => [account, after]))})
    ), bounded AS MATERIALIZED (
      SELECT account, after, (
          SELECT MAX(movement) FROM (
            SELECT movement FROM (
              ${sql.join(RECEIPT_KINDS.map(nextOfKind(receiptsOfEach)), sql` UNION ALL `)})
              ORDER BY movement LIMIT ${receiptsOfEach})
        ) AS up_to
        FROM slices
    )
    ${sql.join(RECEIPT_KINDS.map(sumsOfKind), sql` UNION ALL `)}`.execute(db)
  return rows
}

/** Of the receipts that are named, those that are there, as they are named. */
export async function listReceiptsThatAreThere(
  db: LedgerDb,
  named: readonly { readonly account: number; readonly movement: number; readonly closedAt: number }[],
): Promise<number[]> {
  const list = JSON.stringify(named.map(({ account, movement, closedAt }) => [account, movement, closedAt]))
  const ofKind = (kind: KeyKind) => sql`SELECT receipts.account AS account FROM json_each(${list}) AS named
    CROSS JOIN receipts ON receipts.account = named.value ->> 0 AND ${isOfKind(kind)}
      AND movement = named.value ->> 1 AND closed_at = named.value ->> 2`
  const { rows } = await sql<{ account: number }>`${sql.join(RECEIPT_KINDS.map(ofKind), sql` UNION ALL `)}`.execute(db)
  return rows.map(({ account }) => account)
}
