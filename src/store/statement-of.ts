import type { Compilable } from 'kysely'
import type { AtomicStatement, SqlValue } from '../sqlite/sqlite-file.ts'

/** A query as one statement of a list that is run in one step. With `expectChanges` it undoes the list where it changes fewer. */
export function statementOf(query: Compilable, expectChanges?: number): AtomicStatement {
  const { sql, parameters } = query.compile()
  const statement = { sql, rows: [parameters as SqlValue[]] }
  return expectChanges === undefined ? statement : { ...statement, expectChanges }
}
