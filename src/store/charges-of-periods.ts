import { sql } from 'kysely'
import { exactSum, highAndLow } from './exact-sum.ts'
import { isOfKind, RECEIPT_KINDS, TRANSFER_UNITS } from './movements.ts'
import type { LedgerDb } from './tables.ts'

/** The movements of an account after `after`, up to and including `to`. They are final. */
interface MovementSlice {
  readonly account: number
  readonly after: number
  readonly to: number
}

interface HighAndLow {
  high_nano: bigint
  low_nano: bigint
}

const charges = sql.raw(highAndLow('charge_nano'))

const inSlice = ({ account, after, to }: MovementSlice, kind: (typeof RECEIPT_KINDS)[number]) =>
  sql`receipts.account = ${account} AND ${isOfKind(kind)} AND movement > ${after} AND movement <= ${to} AND charge_nano > 0`

/** What was charged to a window of a plan. */
export async function sumChargesOfWindow(db: LedgerDb, slice: MovementSlice, bucket: number): Promise<bigint> {
  const { rows } = await sql<HighAndLow>`SELECT ${charges} FROM receipts, json_each(receipts.buckets) AS held_on
    WHERE ${inSlice(slice, 'builder')} AND held_on.value = ${bucket}`.execute(db)
  return exactSum(rows[0]!)
}

/** The keys that were charged under spend caps. */
export async function listKeysUnderCaps(db: LedgerDb, slice: MovementSlice): Promise<readonly number[]> {
  const ofKind = (kind: (typeof RECEIPT_KINDS)[number]) =>
    sql`SELECT key FROM receipts WHERE ${inSlice(slice, kind)} AND caps IS NOT NULL`
  const { rows } = await sql<{ key: number }>`${sql.join(RECEIPT_KINDS.map(ofKind), sql` UNION `)}`.execute(db)
  return rows.map(({ key }) => key)
}

export interface CountedCap {
  readonly key: number
  /** As on receipts: `day`. */
  readonly name: string
  /** The receipt with which its period began. */
  readonly firstReceipt: number
  /** It counts the movements after `from`, up to and including `to`. */
  readonly from: number
  readonly to: number
}

/** What was charged to each of the spend caps, in their order. */
export async function sumChargesOfCaps(
  db: LedgerDb,
  slice: MovementSlice,
  caps: readonly CountedCap[],
): Promise<readonly bigint[]> {
  const asked = JSON.stringify(caps.map(({ key, name, firstReceipt, from, to }) => [key, name, firstReceipt, from, to]))
  const ofKind = (kind: (typeof RECEIPT_KINDS)[number]) => sql`
    SELECT counted.place, ${charges} FROM receipts JOIN (
        SELECT key AS place, value ->> 0 AS key, value ->> 1 AS name, value ->> 2 AS first, value ->> 3 AS after, value ->> 4 AS last
          FROM json_each(${asked})) AS counted
      ON counted.key = receipts.key AND receipts.row >= counted.first
        AND movement > counted.after AND movement <= counted.last
        AND instr(' ' || receipts.caps || ' ', ' ' || counted.name || ' ') > 0
      WHERE ${inSlice(slice, kind)} AND caps IS NOT NULL GROUP BY 1`
  const { rows } = await sql<
    HighAndLow & { place: number }
  >`${sql.join(RECEIPT_KINDS.map(ofKind), sql` UNION ALL `)}`.execute(db)
  const sums = caps.map(() => 0n)
  for (const row of rows) sums[row.place]! += exactSum(row)
  return sums
}

/**
 * The last movement of an account up to a time, 0 for none: times never fall where numbers rise. Goes up from 0 in steps, each
 * half as large as the one before, in one statement. `otherwise` where an operator has set ledger time back: then they did fall.
 */
export async function findMovementAt(
  db: LedgerDb,
  account: number,
  { last, at, otherwise }: { readonly last: number; readonly at: number; readonly otherwise: number },
): Promise<number> {
  const ofKind = (kind: (typeof RECEIPT_KINDS)[number]) =>
    sql`(SELECT closed_at FROM receipts WHERE account = ${account} AND ${isOfKind(kind)} AND movement = reached + step)`
  const ofUnit = (unit: (typeof TRANSFER_UNITS)[number]) =>
    sql`(SELECT at FROM transfers WHERE account = ${account} AND unit = ${sql.lit(unit)} AND movement = reached + step)`
  const time = sql`COALESCE(${sql.join([...RECEIPT_KINDS.map(ofKind), ...TRANSFER_UNITS.map(ofUnit)])}, 0)`
  const first = last < 1 ? 0 : 2 ** Math.floor(Math.log2(last))
  const { rows } = await sql<{ movement: number }>`WITH RECURSIVE halved (reached, step) AS (
      SELECT 0, ${first}
      UNION ALL
      SELECT CASE WHEN reached + step <= ${last} AND ${time} <= ${at} THEN reached + step ELSE reached END, step / 2
        FROM halved WHERE step > 0)
    SELECT CASE WHEN EXISTS (SELECT 1 FROM clock_corrections) THEN ${otherwise} ELSE MAX(reached) END AS movement FROM halved`.execute(
    db,
  )
  return rows[0]?.movement ?? 0
}
