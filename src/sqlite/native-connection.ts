import { createRequire } from 'node:module'
import { MissingPart } from '../lib/missing-part.ts'
import { SqliteFailure } from './sqlite-failure.ts'
import type { SqlValue } from './sqlite-file.ts'

/** The little that the two libraries have in common, in the words of neither. */
export interface NativeConnection {
  readonly library: string
  prepare(sql: string): NativeStatement
  exec(sql: string): void
  close(): void
}

export interface NativeStatement {
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
