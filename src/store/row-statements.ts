import type { Compilable } from 'kysely'
import type { AtomicStatement, SqlValue } from '../sqlite/sqlite-file.ts'
import type { LedgerTables } from './tables.ts'

/** A statement that still needs its rows. Each row of them is one row of the table, and has to be there or come to be. */
export type RowStatement = Omit<AtomicStatement, 'rows'>

type ColumnOf<Table extends keyof LedgerTables> = keyof LedgerTables[Table] & string

/** Rows of parameters in the order of `columns`; `fixed` are SQL expressions, the same for all of them. */
export function insertInto<Table extends keyof LedgerTables>(
  table: Table,
  columns: readonly ColumnOf<Table>[],
  fixed: Partial<Record<ColumnOf<Table>, string>> = {},
): RowStatement {
  const each = `(${[...columns.map(() => '?'), ...Object.values<string | undefined>(fixed)].join(', ')})`
  const sql = `INSERT INTO ${table} (${[...columns, ...Object.keys(fixed)].join(', ')}) VALUES ${each}`
  return { sql, several: { sql, each }, expectChanges: 1 }
}

/**
 * Rows of parameters in the order of `set` and `add`, then the `row` they are about. A row that does not fulfil `where`
 * undoes the whole batch.
 */
export function updateRows<Table extends keyof LedgerTables>(
  table: Table,
  change: {
    readonly set?: readonly ColumnOf<Table>[]
    readonly add?: readonly ColumnOf<Table>[]
    readonly where?: string
  },
): RowStatement {
  const { set = [], add = [] } = change
  const assign = (valueFor: (column: string) => string) =>
    [
      ...set.map((column) => `${column} = ${valueFor(column)}`),
      ...add.map((column) => `${column} = ${table}.${column} + ${valueFor(column)}`),
    ].join(', ')
  const columns = [...set, ...add, 'row']
  const where = change.where === undefined ? '' : ` AND ${change.where}`
  const each = `(${columns.map(() => '?').join(', ')})`
  // An index would be asked before the row, which its number finds at once.
  const several = `WITH batch (${columns.join(', ')}) AS (VALUES ${each})
    UPDATE ${table} NOT INDEXED SET ${assign((column) => `batch.${column}`)}
    FROM batch WHERE ${table}.row = batch.row${where}`
  return {
    sql: `UPDATE ${table} SET ${assign(() => '?')} WHERE row = ?${where}`,
    several: { sql: several, each },
    expectChanges: 1,
  }
}

/** A query as one statement of a list that is run in one step. With `expectChanges` it undoes the list where it changes fewer. */
export function statementOf(query: Compilable, expectChanges?: number): AtomicStatement {
  const { sql, parameters } = query.compile()
  const statement = { sql, rows: [parameters as SqlValue[]] }
  return expectChanges === undefined ? statement : { ...statement, expectChanges }
}
