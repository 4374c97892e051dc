import { createRequire } from 'node:module'
import { MissingPart } from '../../lib/files.ts'
import { SqlFailure, type SqlRow, type SqlValue, smallInteger } from '../sql-store.ts'
import { DatabaseLocked, sqliteCodeOf } from './failure.ts'
import type { Synchronous } from './worker-messages.ts'

/** The program has some hundred statements. The bound is for SQL that is built from values. */
const STATEMENTS_MAX = 256

/** One synchronous connection, the same on every Node. */
export type SqliteDriver = ReturnType<typeof openDriver>

/**
 * Opens the file and locks it for this connection. Exclusive locking is set before WAL on purpose: a second server must be
 * refused on every Node, and SQLite before 3.51.3 (libsql has 3.45) can lose committed pages when two connections share
 * one WAL.
 */
export function openDriver({ path, synchronous }: { path: string; synchronous: Synchronous }) {
  try {
    return translating(() => {
      const connection = connect(path)
      try {
        prepareFile(connection, synchronous)
        const [version] = connection.prepare('SELECT sqlite_version() AS version').all([])
        return driverOver(connection, `${connection.library} ${String(version?.version)}`)
      } catch (error) {
        connection.close()
        throw error
      }
    })
  } catch (error) {
    // While opening, busy means that another process has the file.
    if (error instanceof SqlFailure && error.code === 'SQLITE_BUSY') throw new DatabaseLocked(path, { cause: error })
    throw error
  }
}

function prepareFile(connection: NativeConnection, synchronous: Synchronous): void {
  connection.exec('PRAGMA locking_mode = EXCLUSIVE')
  connection.exec('PRAGMA journal_mode = WAL')
  connection.exec(`PRAGMA synchronous = ${synchronous === 'full' ? 'FULL' : 'NORMAL'}`)
  connection.exec('PRAGMA foreign_keys = ON')
  // On macOS a plain fsync leaves the bytes in the drive's cache.
  if (process.platform === 'darwin') connection.exec('PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON')
  // SQLite takes the lock with the first write, so an empty transaction is made now.
  connection.exec('BEGIN IMMEDIATE')
  connection.exec('COMMIT')
}

function driverOver(connection: NativeConnection, name: string) {
  const statements = new Map<string, { readonly native: NativeStatement; readonly placeholders: number }>()

  const prepared = (sql: string, parameters: readonly SqlValue[]): NativeStatement => {
    let statement = statements.get(sql)
    if (statement === undefined) {
      statement = { native: connection.prepare(sql), placeholders: countPlaceholders(sql) }
      if (statements.size >= STATEMENTS_MAX) statements.delete(statements.keys().next().value!)
      statements.set(sql, statement)
    }
    // libsql keeps the previous run's values for missing parameters: money would move by an old amount.
    if (statement.placeholders !== parameters.length) {
      throw new TypeError(`${statement.placeholders} parameters expected, ${parameters.length} given: ${sql}`)
    }
    return statement.native
  }

  return {
    /** e.g. `libsql 3.45.1`. */
    name,
    all: (sql: string, parameters: readonly SqlValue[]): SqlRow[] =>
      translating(() => readRows(prepared(sql, parameters).all(parameters.map(bindable)))),
    /** Returns how many rows the statement changed, or how many it returned. */
    run: (sql: string, parameters: readonly SqlValue[]): number =>
      translating(() => {
        const statement = prepared(sql, parameters)
        const values = parameters.map(bindable)
        // Stopped at its first row, the statement would keep libsql from committing.
        return statement.returnsRows ? statement.all(values).length : statement.run(values)
      }),
    close(): void {
      statements.clear()
      releaseFile(connection)
      connection.close()
    },
  }
}

/**
 * libsql keeps a closed connection, and with it the lock, alive until its statements are collected. Outside WAL the lock is
 * released at once, and the file is complete without a log.
 */
function releaseFile(connection: NativeConnection): void {
  try {
    connection.exec('PRAGMA journal_mode = DELETE')
    connection.exec('PRAGMA locking_mode = NORMAL')
    connection.exec('SELECT name FROM sqlite_master LIMIT 1')
  } catch (error) {
    // On a full disk the next start reads the WAL instead; the end of the thread releases the lock.
    if (sqliteCodeOf(error) === undefined) throw error
  }
}

function translating<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    const code = sqliteCodeOf(error)
    if (code === undefined) throw error
    throw new SqlFailure((error as Error).message, code, undefined, { cause: error })
  }
}

/** Node 22 stores an empty array with its own buffer as NULL, but not an empty view of a larger buffer. */
const NO_BYTES = new Uint8Array(new ArrayBuffer(1), 0, 0)

/**
 * A value that both libraries store in the same way. They bind numbers as REAL, so whole numbers go as BigInt. Types are
 * checked at run time because libsql ends the process on a boolean, stores undefined as null, and cuts a text at its first
 * NUL.
 */
function bindable(value: SqlValue): SqlValue {
  switch (typeof value) {
    case 'bigint':
      return value
    case 'string':
      if (value.includes('\0')) throw new TypeError('A text with a NUL cannot be stored')
      return value
    case 'number':
      if (Number.isSafeInteger(value)) return BigInt(value)
      if (Number.isInteger(value) || !Number.isFinite(value)) throw new RangeError(`${value} cannot be stored exactly`)
      return value
    default:
      if (value instanceof Uint8Array) return value.length === 0 ? NO_BYTES : value
      if (value === null) return value
      throw new TypeError(`A ${typeof value} cannot be stored`)
  }
}

const LITERALS_AND_COMMENTS = /'[^']*'|"[^"]*"|--[^\n]*|\/\*[\s\S]*?\*\//g

/** `?` is the next parameter, `?3` the third. */
function countPlaceholders(sql: string): number {
  let count = 0
  for (const [, position] of sql.replace(LITERALS_AND_COMMENTS, '').matchAll(/\?(\d*)/g)) {
    count = position === '' ? count + 1 : Math.max(count, Number(position))
  }
  return count
}

/** Converts the rows of a library in place, by the two conventions in db/tables.ts. */
function readRows(rows: Record<string, unknown>[]): SqlRow[] {
  const columns = Object.keys(rows[0] ?? {})
  for (const row of rows) {
    for (const column of columns) {
      const value = row[column]
      if (typeof value === 'bigint') {
        if (!column.endsWith('_nano')) row[column] = smallInteger(column, value)
      } else if (value instanceof ArrayBuffer) {
        row[column] = new Uint8Array(value)
      }
    }
  }
  return rows as SqlRow[]
}

/** What both libraries have in common. */
export interface NativeConnection {
  readonly library: string
  prepare(sql: string): NativeStatement
  exec(sql: string): void
  close(): void
}

interface NativeStatement {
  all(parameters: SqlValue[]): Record<string, unknown>[]
  run(parameters: SqlValue[]): number
  readonly returnsRows: boolean
}

const require = createRequire(import.meta.url)

/** node:sqlite where Node has it; else libsql, whose prebuilt binary needs no install script. */
export const connect = (path: string): NativeConnection => connectBuiltIn(path) ?? connectLibsql(path)

/** Opens a file for reading alone, without a lock. The file must not change meanwhile. */
export const immutableUri = (path: string): string =>
  `file:${encodeURI(path).replaceAll('?', '%3f').replaceAll('#', '%23')}?immutable=1`

interface BuiltInStatement {
  setReadBigInts(on: boolean): void
  all(...parameters: SqlValue[]): Record<string, unknown>[]
  run(...parameters: SqlValue[]): { changes: number | bigint }
  /** Node 22.16 and later. */
  columns?(): unknown[]
}

/** The class of a library. */
type Library<Statement> = new (
  path: string,
) => {
  prepare(sql: string): Statement
  exec(sql: string): void
  close(): void
}

type BuiltIn = { DatabaseSync: Library<BuiltInStatement> }

/** Undefined where this Node has no `node:sqlite`, or hides it behind a flag (before 22.13). */
function connectBuiltIn(path: string): NativeConnection | undefined {
  const sqlite = withoutExperimentalWarning(() => process.getBuiltinModule('node:sqlite') as BuiltIn | undefined)
  if (sqlite === undefined) return undefined
  const database = new sqlite.DatabaseSync(path)
  return {
    library: 'node:sqlite',
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
    prepare: (sql) => {
      const statement = database.prepare(sql)
      statement.setReadBigInts(true)
      return {
        returnsRows: (statement.columns?.().length ?? 0) > 0,
        all: (parameters) => statement.all(...parameters),
        run: (parameters) => Number(statement.run(...parameters).changes),
      }
    },
  }
}

/** Suppresses Node 22's warning that its SQLite is experimental: operators cannot act on it. */
function withoutExperimentalWarning<Result>(work: () => Result): Result {
  const emit = process.emitWarning
  process.emitWarning = (() => {}) as typeof process.emitWarning
  try {
    return work()
  } finally {
    process.emitWarning = emit
  }
}

interface LibsqlStatement {
  readonly reader: boolean
  columns(): readonly { readonly name: string; readonly type: string | null }[]
  safeIntegers(on: boolean): void
  all(parameters: SqlValue[]): Record<string, unknown>[]
  run(parameters: SqlValue[]): { changes: number }
}

function connectLibsql(path: string): NativeConnection {
  const database = openLibsql(loadLibsql(), path)
  return {
    library: 'libsql',
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
    prepare: (sql) => {
      const statement = database.prepare(sql)
      statement.safeIntegers(true)
      const texts = textColumnsOf(statement, sql)
      if (texts.length > 0) return guarded(database.prepare(withTextsAsBytes(statement, sql, texts)), texts)
      return {
        returnsRows: statement.reader,
        all: (parameters) => statement.all(parameters),
        run: (parameters) => statement.run(parameters).changes,
      }
    },
  }
}

/**
 * libsql ends the process on a text that is not UTF-8, which a flipped bit can make. So a text that is not plain ASCII is
 * fetched as bytes and decoded here. An expression has no declared type, so its text is not guarded.
 */
function textColumnsOf(statement: LibsqlStatement, sql: string): string[] {
  if (!statement.reader || !/^\s*(?:SELECT|WITH)\b/i.test(sql)) return []
  const columns = statement.columns()
  const isNamedTwice = new Set(columns.map(({ name }) => name)).size < columns.length
  return isNamedTwice ? [] : columns.filter(({ type }) => type === 'TEXT').map(({ name }) => name)
}

function withTextsAsBytes(statement: LibsqlStatement, sql: string, texts: readonly string[]): string {
  const columns = statement.columns().map(({ name }) => {
    const column = `"${name.replaceAll('"', '""')}"`
    if (!texts.includes(name)) return column
    return `CASE WHEN ${column} GLOB '*[^ -~]*' THEN CAST(${column} AS BLOB) ELSE ${column} END AS ${column}`
  })
  return `SELECT ${columns.join(', ')} FROM (${sql})`
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decode(column: string, bytes: ArrayBuffer): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new SqlFailure(`A text in the column ${column} is not UTF-8`, 'SQLITE_CORRUPT', undefined, { cause })
  }
}

function guarded(statement: LibsqlStatement, texts: readonly string[]): NativeStatement {
  statement.safeIntegers(true)
  const all = (parameters: SqlValue[]) => {
    const rows = statement.all(parameters)
    for (const row of rows) {
      for (const column of texts) {
        const value = row[column]
        if (value instanceof ArrayBuffer) row[column] = decode(column, value)
      }
    }
    return rows
  }
  return { returnsRows: true, all, run: (parameters) => all(parameters).length }
}

/** libsql gives no code when a file cannot be opened. */
function openLibsql(Libsql: Library<LibsqlStatement>, path: string) {
  try {
    return new Libsql(path)
  } catch (cause) {
    throw new SqlFailure(`Unable to open the database file ${path}`, 'SQLITE_CANTOPEN', undefined, { cause })
  }
}

function loadLibsql(): Library<LibsqlStatement> {
  try {
    return require('libsql') as Library<LibsqlStatement>
  } catch (cause) {
    throw new MissingPart(
      `Node ${process.versions.node} has no SQLite of its own and the optional package "libsql" could not be loaded. ` +
        'Use Node 22.13 or later, or install without --omit=optional.',
      { cause },
    )
  }
}
