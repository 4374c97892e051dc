import { type RawBuilder, sql } from 'kysely'
import { highAndLow } from './exact-sum.ts'
import { isOfKind, RECEIPT_KINDS, TRANSFER_UNITS } from './movements.ts'
import type { LedgerDb } from './tables.ts'

/** What some movements of an account charged to one window or spend cap. */
export interface PeriodCharges {
  /** The row of a window, or the subject of a spend cap. */
  subject: string
  high_nano: bigint
  low_nano: bigint
}

export interface CountedCap {
  /** e.g. `cap:17:day`. */
  readonly subject: string
  /** The receipt with which its period began. */
  readonly firstReceipt: number
}

/** The movements behind `after`, up to and with `to`: these are final. */
export async function sumChargesOfPeriods(
  db: LedgerDb,
  account: number,
  { after, to, caps }: { readonly after: number; readonly to: number; readonly caps: readonly CountedCap[] },
): Promise<readonly PeriodCharges[]> {
  const those = (kind: (typeof RECEIPT_KINDS)[number]) =>
    sql`receipts.account = ${account} AND ${isOfKind(kind)} AND movement > ${after} AND movement <= ${to} AND charge_nano > 0`
  const amount = sql.raw(highAndLow('charge_nano'))
  const ofWindows = sql`SELECT CAST(held_on.value AS TEXT) AS subject, ${amount}
    FROM receipts, json_each(receipts.buckets) AS held_on WHERE ${those('builder')} GROUP BY 1`
  const counted = caps.map(({ subject, firstReceipt }) => {
    const [, key, name] = subject.split(':')
    return [Number(key), name, firstReceipt, subject]
  })
  const ofCaps = (kind: (typeof RECEIPT_KINDS)[number]) => sql`
    SELECT counted.subject, ${amount} FROM receipts JOIN (
        SELECT json_extract(value, '$[0]') AS key, json_extract(value, '$[1]') AS name,
          json_extract(value, '$[2]') AS first, json_extract(value, '$[3]') AS subject
        FROM json_each(${JSON.stringify(counted)})) AS counted
      ON counted.key = receipts.key AND receipts.row >= counted.first
        AND instr(' ' || receipts.caps || ' ', ' ' || counted.name || ' ') > 0
      WHERE ${those(kind)} AND caps IS NOT NULL GROUP BY 1`
  const parts: RawBuilder<unknown>[] = [ofWindows, ...(counted.length > 0 ? RECEIPT_KINDS.map(ofCaps) : [])]
  return (await sql<PeriodCharges>`${sql.join(parts, sql` UNION ALL `)}`.execute(db)).rows
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
