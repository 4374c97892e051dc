import { SqlFailure, UnexpectedChanges } from '../sql-store.ts'
import { FUNCTIONS_SCHEMA } from './schema.ts'

/** The part of a driver that the ledger uses: the `Pool` of `pg` fits. */
export interface PostgresPool {
  query(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly Record<string, unknown>[]; readonly rowCount: number | null }>
}

/** For transactions of several queries. */
export interface PostgresConnections extends PostgresPool {
  connect(): Promise<PostgresConnection>
}

interface PostgresConnection extends PostgresPool {
  /** An error between two queries, which the next query reports too. Without a listener it would end the process. */
  on(event: 'error', listener: (error: Error) => void): void
  off(event: 'error', listener: (error: Error) => void): void
  release(error?: Error): void
}

/** Fields of an error of the server. Its other texts are in the language of the server. */
interface ServerError extends Error {
  readonly code?: string
  readonly severity?: string
  readonly table?: string
  readonly constraint?: string
}

/** The column that a unique constraint is about: PostgreSQL names it `accounts_email_key`. */
function columnOf(table = '', constraint = ''): string {
  if (constraint === `${table}_pkey`) return table === 'audit' ? 'seq' : 'primary key'
  return constraint.replace(`${table}_`, '').replace(/_key$/, '')
}

/** An error of the driver or the server as one of this program. As with SQLite, a broken unique constraint is named by its columns. */
export function asFailure(error: unknown, place?: number): unknown {
  if (error instanceof SqlFailure || error instanceof UnexpectedChanges || !(error instanceof Error)) return error
  const { code, severity, table, constraint, message } = error as ServerError
  if (severity === undefined || code === undefined) {
    return error instanceof TypeError || error instanceof RangeError
      ? error
      : new SqlFailure(message, 'no-answer', place, { cause: error })
  }
  const where = constraint === undefined ? '' : `: ${table}.${columnOf(table, constraint)}`
  return new SqlFailure(`${message}${where}`, code, place, { cause: error })
}

/** Calls a function of the ledger. Money is text in both directions, because JSON numbers are doubles. */
export async function callLedger<Result>(
  pool: PostgresPool,
  call: string,
  values: readonly unknown[],
): Promise<Result> {
  try {
    const { rows } = await pool.query(`SELECT ${FUNCTIONS_SCHEMA}.${call} AS result`, values)
    return rows[0]?.result as Result
  } catch (error) {
    throw asFailure(error)
  }
}

export const asJson = (value: unknown): string =>
  JSON.stringify(value, (_, each) => (typeof each === 'bigint' ? String(each) : each))

/** Runs `work` between `begin` and COMMIT. An error undoes it. */
export async function inTransaction<Result>(
  pool: PostgresConnections,
  begin: string,
  work: (transaction: PostgresPool) => Promise<Result>,
): Promise<Result> {
  const connection = await pool.connect()
  let failure: Error | undefined
  const onError = (error: Error) => {
    failure = error
  }
  connection.on('error', onError)
  try {
    await connection.query(begin)
    const result = await work(connection)
    await connection.query('COMMIT')
    return result
  } catch (error) {
    // A connection that does not take this is closed, which undoes the transaction too.
    await connection.query('ROLLBACK').catch((broken: Error) => {
      failure ??= broken
    })
    throw error
  } finally {
    connection.off('error', onError)
    connection.release(failure)
  }
}
