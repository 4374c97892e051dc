import { createRequire } from 'node:module'
import { MissingPart } from '../../lib/files.ts'
import { DatabaseLocked, SqliteFailure, sqliteCodeOf } from './failure.ts'
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

/** Node 22 stores a blob without memory of its own as NULL; one that is a part of something is stored as what it is. */
const NO_BYTES = new Uint8Array(new ArrayBuffer(1), 0, 0)

/**
 * A value as both libraries store it alike. JavaScript's numbers would be bound as REAL, so whole ones go as BigInt.
 * The types are checked although the compiler has done so: libsql takes the whole process down on a boolean, stores
 * undefined as null, and cuts a text at its first NUL.
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

/** How many values a statement takes: `?` is the next one, `?3` the third. */
function countPlaceholders(sql: string): number {
  let count = 0
  for (const [, position] of sql.replace(LITERALS_AND_COMMENTS, '').matchAll(/\?(\d*)/g)) {
    count = position === '' ? count + 1 : Math.max(count, Number(position))
  }
  return count
}

/** Turns what a library read, in place, into what the house works with: see the two conventions in store/tables. */
function readRows(rows: Record<string, unknown>[]): SqlRow[] {
  const first = rows[0]
  if (first === undefined) return []
  const columns = Object.keys(first)
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

function smallInteger(column: string, value: bigint): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number)) {
    throw new RangeError(`${column} is ${value}, too large for a number; money is read from columns named *_nano`)
  }
  return number
}

/** The little that the two libraries have in common, in the words of neither. */
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

/** node:sqlite where Node has it, else libsql, whose prebuilt binary needs no install script. */
export const connect = (path: string): NativeConnection => connectBuiltIn(path) ?? connectLibsql(path)

interface BuiltInStatement {
  setReadBigInts(on: boolean): void
  all(...parameters: SqlValue[]): Record<string, unknown>[]
  run(...parameters: SqlValue[]): { changes: number | bigint }
  /** Node 22.16 and later. */
  columns?(): unknown[]
}

interface BuiltInSqlite {
  DatabaseSync: new (path: string) => { prepare(sql: string): BuiltInStatement; exec(sql: string): void; close(): void }
}

/** Undefined where this Node has no `node:sqlite`, or hides it behind a flag (before 22.13). */
function connectBuiltIn(path: string): NativeConnection | undefined {
  const sqlite = withoutExperimentalWarning(() => process.getBuiltinModule('node:sqlite') as BuiltInSqlite | undefined)
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

/** Node 22 warns that its SQLite is experimental; nobody who starts a server can do anything with that. */
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

type Libsql = new (path: string) => { prepare(sql: string): LibsqlStatement; exec(sql: string): void; close(): void }

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
 * libsql ends the whole process on a text that is not UTF-8, as a flipped bit makes one. So what is not plain ASCII is fetched as
 * bytes, and decoded here. An expression has no declared type: its text comes as it is.
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

function guarded(statement: LibsqlStatement, texts: readonly string[]): NativeStatement {
  statement.safeIntegers(true)
  const decode = (column: string, bytes: ArrayBuffer): string => {
    try {
      return utf8.decode(bytes)
    } catch (cause) {
      throw new SqliteFailure(`A text in the column ${column} is not UTF-8`, 'SQLITE_CORRUPT', undefined, { cause })
    }
  }
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

/** A file that cannot be opened at all is the one failure that libsql gives no code for. */
function openLibsql(Libsql: Libsql, path: string): InstanceType<Libsql> {
  try {
    return new Libsql(path)
  } catch (cause) {
    throw new SqliteFailure(`Unable to open the database file ${path}`, 'SQLITE_CANTOPEN', undefined, { cause })
  }
}

function loadLibsql(): Libsql {
  try {
    return require('libsql') as Libsql
  } catch (cause) {
    throw new MissingPart(
      `Node ${process.versions.node} has no SQLite of its own and the optional package "libsql" could not be loaded. ` +
        'Use Node 22.13 or later, or install without --omit=optional.',
      { cause },
    )
  }
}
