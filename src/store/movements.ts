import { sql } from 'kysely'
import type { LedgerDb } from './tables.ts'

/**
 * What the indexes of numbers have before the number. Whoever asks without one of these looks through all that the
 * account ever closed or moved.
 */
export const RECEIPT_KINDS = ['wallet', 'builder'] as const
export const TRANSFER_UNITS = ['usd', 'quota', 'cap'] as const

/** How many movements an account has had, 0 for none: the largest of the last ones of each kind, which end their indexes. */
export async function findLastMovement(db: LedgerDb, account: number): Promise<number> {
  const ends = [
    ...RECEIPT_KINDS.map(
      (kind) => sql`(SELECT MAX(movement) FROM receipts
      WHERE account = ${account} AND kind = ${kind} AND movement IS NOT NULL)`,
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
