import type { SqliteDriver } from './driver.ts'
import { SqliteFailure } from './sqlite-failure.ts'
import { type AtomicStatement, UnexpectedChanges } from './sqlite-file.ts'

/** Runs the list in one transaction: all of it, or nothing. Returns when it is as durable as the file was opened for. */
export function runAtomic(driver: SqliteDriver, statements: readonly AtomicStatement[]): number[] {
  driver.run('BEGIN IMMEDIATE', [])
  try {
    const changes = statements.map((statement, index) => runStatement(driver, statement, index))
    driver.run('COMMIT', [])
    return changes
  } catch (error) {
    rollBack(driver)
    throw error
  }
}

function runStatement(driver: SqliteDriver, statement: AtomicStatement, index: number): number {
  const { sql, rows, expectChanges } = statement
  let total = 0
  try {
    for (const row of rows) {
      const changes = driver.run(sql, row)
      if (expectChanges !== undefined && changes !== expectChanges) {
        throw new UnexpectedChanges(`Statement ${index} changed ${changes} rows instead of ${expectChanges}: ${sql}`)
      }
      total += changes
    }
  } catch (error) {
    if (!(error instanceof SqliteFailure)) throw error
    throw new SqliteFailure(error.message, error.code, index, { cause: error })
  }
  return total
}

/** A full disk has already undone the transaction; if one were still open, the next BEGIN would say so. */
function rollBack(driver: SqliteDriver): void {
  try {
    driver.run('ROLLBACK', [])
  } catch (error) {
    if (!(error instanceof SqliteFailure)) throw error
  }
}
