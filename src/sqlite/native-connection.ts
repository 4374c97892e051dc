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
      return {
        returnsRows: statement.reader,
        all: (parameters) => statement.all(parameters),
        run: (parameters) => statement.run(parameters).changes,
      }
    },
  }
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
