import type { AtomicStatement, SqliteFile, SqlValue } from './sqlite-file.ts'

/** Every text that was sent, with the values of the first time. */
export type SentStatements = Map<string, readonly SqlValue[]>

/** The same file, and what is sent to it. */
export function rememberSent(file: SqliteFile, sent: SentStatements = new Map()): SqliteFile {
  const remember = (sql: string, parameters: readonly SqlValue[]) => sent.has(sql) || sent.set(sql, parameters)
  const rememberForms = (statements: readonly AtomicStatement[]) => {
    for (const statement of statements) {
      for (const { sql, parameters } of formsOf(statement)) remember(sql, parameters)
    }
  }
  return {
    driver: file.driver,
    close: () => file.close(),
    atomicEach(groups) {
      for (const { statements } of groups) rememberForms(statements)
      return file.atomicEach(groups)
    },
    all(sql, parameters) {
      remember(sql, parameters)
      return file.all(sql, parameters)
    },
    atomic(statements) {
      rememberForms(statements)
      return file.atomic(statements)
    },
  }
}

/** One row, and several: whichever this batch was large enough for, the next one may be larger. */
function formsOf({ sql, rows, several }: AtomicStatement): { sql: string; parameters: readonly SqlValue[] }[] {
  const [first = []] = rows
  if (!several) return [{ sql, parameters: first }]
  const four = several.sql.replace(several.each, () => Array(4).fill(several.each).join(', '))
  return [
    { sql, parameters: first },
    { sql: four, parameters: [first, first, first, first].flat() },
  ]
}
