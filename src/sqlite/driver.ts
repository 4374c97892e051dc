import { bindable, countPlaceholders, readRows } from './conversions.ts'
import { connect, type NativeConnection, type NativeStatement } from './native-connection.ts'
import { DatabaseLocked, SqliteFailure, sqliteCodeOf } from './sqlite-failure.ts'
import type { SqlRow, SqlValue } from './sqlite-file.ts'

/** One synchronous connection, alike on every Node. Only the thread that owns the file has one. */
export interface SqliteDriver {
  /** e.g. `libsql 3.45.1`. */
  readonly name: string
  all(sql: string, parameters: readonly SqlValue[]): SqlRow[]
  /** Runs a statement for its effect, and says how many rows it changed; one that returns rows counts these. */
  run(sql: string, parameters: readonly SqlValue[]): number
  exec(sql: string): void
  close(): void
}

/** `full` makes every commit durable; `normal` may lose the newest ones when the machine loses power. */
export type Synchronous = 'full' | 'normal'

interface PreparedStatement {
  readonly native: NativeStatement
  readonly placeholders: number
}

/** The house asks some tens of different questions; the bound is for whoever builds SQL out of its values. */
const STATEMENTS_MAX = 256

/**
 * Opens the file and takes it for this connection alone, before anything else looks at it. Exclusive locking is set
 * before WAL on purpose: a second server must be refused on every Node, and SQLite before 3.51.3 (libsql has 3.45) can
 * lose committed pages when two connections share one WAL.
 */
export function openDriver(options: { path: string; synchronous: Synchronous }): SqliteDriver {
  return refusing(options.path, () => {
    const connection = connect(options.path)
    try {
      prepareFile(connection, options.synchronous)
      const [version] = connection.prepare('SELECT sqlite_version() AS version').all([])
      return driverOver(connection, `${connection.library} ${String(version?.version)}`)
    } catch (error) {
      connection.close()
      throw error
    }
  })
}

function prepareFile(connection: NativeConnection, synchronous: Synchronous): void {
  connection.exec('PRAGMA locking_mode = EXCLUSIVE')
  connection.exec('PRAGMA journal_mode = WAL')
  connection.exec(`PRAGMA synchronous = ${synchronous === 'full' ? 'FULL' : 'NORMAL'}`)
  connection.exec('PRAGMA foreign_keys = ON')
  // On macOS a plain fsync leaves the bytes in the drive's cache.
  if (process.platform === 'darwin') connection.exec('PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON')
  // The lock is taken with the first write, so an empty one is made now rather than when the first customer comes.
  connection.exec('BEGIN IMMEDIATE')
  connection.exec('COMMIT')
}

function driverOver(connection: NativeConnection, name: string): SqliteDriver {
  const statements = new Map<string, PreparedStatement>()

  const prepared = (sql: string, parameters: readonly SqlValue[]): NativeStatement => {
    let statement = statements.get(sql)
    if (statement === undefined) {
      statement = { native: connection.prepare(sql), placeholders: countPlaceholders(sql) }
      if (statements.size >= STATEMENTS_MAX) statements.delete(statements.keys().next().value!)
      statements.set(sql, statement)
    }
    // libsql keeps the values of the previous run for parameters that are missing: money would move by an old amount.
    if (statement.placeholders !== parameters.length) {
      throw new TypeError(`${statement.placeholders} parameters expected, ${parameters.length} given: ${sql}`)
    }
    return statement.native
  }

  return {
    name,
    all: (sql, parameters) => translating(() => readRows(prepared(sql, parameters).all(parameters.map(bindable)))),
    run: (sql, parameters) =>
      translating(() => {
        const statement = prepared(sql, parameters)
        const values = parameters.map(bindable)
        // Stopped at its first row, such a statement would keep libsql from committing the transaction.
        if (statement.returnsRows) return statement.all(values).length
        return statement.run(values)
      }),
    exec: (sql) => translating(() => connection.exec(sql)),
    close: () => {
      statements.clear()
      releaseFile(connection)
      connection.close()
    },
  }
}

/**
 * libsql keeps a closed connection alive until its statements are collected, and with it the lock. Out of WAL the lock can
 * be given back at once, and the file lies there alone, with everything in it.
 */
function releaseFile(connection: NativeConnection): void {
  try {
    connection.exec('PRAGMA journal_mode = DELETE')
    connection.exec('PRAGMA locking_mode = NORMAL')
    connection.exec('SELECT name FROM sqlite_master LIMIT 1')
  } catch (error) {
    // On a full disk the next start reads the WAL instead; the thread's end gives the lock back.
    if (sqliteCodeOf(error) === undefined) throw error
  }
}

/** Both libraries' errors become our own. */
function translating<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    const code = sqliteCodeOf(error)
    if (code === undefined) throw error
    throw new SqliteFailure((error as Error).message, code, undefined, { cause: error })
  }
}

/** While opening, busy means that somebody else has the file; later on nobody else can. */
function refusing<Result>(path: string, work: () => Result): Result {
  try {
    return translating(work)
  } catch (error) {
    if (error instanceof SqliteFailure && error.code === 'SQLITE_BUSY') throw new DatabaseLocked(path, { cause: error })
    throw error
  }
}
