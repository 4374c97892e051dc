import { sql } from 'kysely'
import type { KeyKind } from '../model/caller.ts'
import type { LedgerDb } from './tables.ts'

/**
 * What the indexes of numbers are by. Whoever asks without one of these looks through all that the account ever closed or
 * moved.
 */
export const RECEIPT_KINDS = ['wallet', 'builder'] as const
export const TRANSFER_UNITS = ['usd', 'quota', 'cap'] as const

/** As a literal: of a value that is bound SQLite does not know that the index of this kind has all that is asked for. */
export const isOfKind = (kind: KeyKind) => sql<boolean>`receipts.kind = ${sql.lit(kind)}`

/** How many movements an account has had, 0 for none: the largest of the last ones of each kind, which end their indexes. */
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
 * The number from which on an account has closed so many requests before another number; undefined when it has fewer. Only
 * indexes are read: this is how a list that is filtered looks at a bounded part of an account at a time.
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
