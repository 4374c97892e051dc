import { type RawBuilder, sql } from 'kysely'
import type { AtomicStatement } from '../sqlite/sqlite-file.ts'

/** Ledger time goes back, on the word of an operator. What is recorded by now was recorded under the wrong time. */
export const clockCorrectionInsert = (from: number, to: number): AtomicStatement => ({
  sql: `INSERT INTO clock_corrections (set_back_from, set_back_to, last_receipt, last_transfer)
    SELECT ?, ?, COALESCE((SELECT MAX(row) FROM receipts), 0), COALESCE((SELECT MAX(row) FROM transfers), 0)`,
  rows: [[from, to]],
  expectChanges: 1,
})

/**
 * The time of a row where rows are searched by time. Rows that were recorded before ledger time was set back count as no
 * later than what it was set back to, so that times still never fall where numbers rise.
 */
export function correctedTime(table: 'receipts' | 'transfers', column: string): RawBuilder<number> {
  const time = sql.ref(`${table}.${column}`)
  const last = sql.ref(table === 'receipts' ? 'last_receipt' : 'last_transfer')
  return sql<number>`MIN(${time}, COALESCE(
    (SELECT MIN(set_back_to) FROM clock_corrections WHERE ${last} >= ${sql.ref(`${table}.row`)}), ${time}))`
}
