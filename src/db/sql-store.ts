import { pause } from '../lib/async.ts'
import { systemClock } from '../lib/clock.ts'

/** A parameter of a statement, or a cell of a row. */
export type SqlValue = string | number | bigint | null | Uint8Array
export type SqlRow = Record<string, SqlValue>
export type RowOf<Row> = { readonly [Column in keyof Row]: SqlValue }

/** One statement, run once for each of its rows of parameters. */
export interface AtomicStatement {
  readonly sql: string
  readonly rows: readonly (readonly SqlValue[])[]
  /** Runs several rows at once, which costs less than as many runs. */
  readonly several?: SeveralRows
  /** How many rows each row of parameters must change; anything else undoes the whole list. */
  readonly expectChanges?: number
}

/** `sql` takes one row where it contains `each`; that part is repeated for more, with commas. */
export interface SeveralRows {
  readonly sql: string
  readonly each: string
}

/**
 * How the log of a file is archived while the file is copied. `begin`: the log is empty, and from now on nothing leaves it
 * but into numbered files whose names begin with `into`. `cut`: what the log has becomes the next of them. `end`: as before.
 */
export type ArchiveStep =
  | { readonly kind: 'begin'; readonly into: string }
  | { readonly kind: 'cut' }
  | { readonly kind: 'end' }

/**
 * A database that runs lists of statements: an SQLite file behind its worker thread (db/sqlite), or PostgreSQL (db/postgres),
 * which translates the SQL of the files. There are no interactive transactions, because between two messages the worker
 * serves other callers.
 */
export interface SqlStore {
  /** e.g. `libsql 3.45.1` or `PostgreSQL 17.6`, for `status` and `--version`. */
  readonly driver: string
  /** The caller states the type of the rows; nothing checks it. */
  all<Row extends RowOf<Row> = SqlRow>(sql: string, parameters: readonly SqlValue[]): Promise<Row[]>
  /** Runs the list in one transaction. Resolves when it is durable, with the number of rows that each statement changed. */
  atomic(statements: readonly AtomicStatement[]): Promise<number[]>
  /** Archives the log of an SQLite file while it is copied for a backup (db/backup.ts). Returns how many parts there are. */
  archiveLog?(step: ArchiveStep): Promise<number>
  close(): Promise<void>
}

/** A statement with one row of parameters. */
export const statement = (sql: string, ...parameters: SqlValue[]): AtomicStatement => ({ sql, rows: [parameters] })

/** A statement that must change one row. */
export const changeOne = (sql: string, ...parameters: SqlValue[]): AtomicStatement => ({
  ...statement(sql, ...parameters),
  expectChanges: 1,
})

/** Runs a statement for each of these rows in one commit, and returns how many rows it has changed. */
export async function changeRows(file: SqlStore, sql: string, ...rows: SqlValue[][]): Promise<number> {
  const [changed = 0] = await file.atomic([{ sql, rows }])
  return changed
}

export async function findRow<Row extends RowOf<Row>>(
  file: SqlStore,
  sql: string,
  ...parameters: SqlValue[]
): Promise<Row | undefined> {
  const [row] = await file.all<Row>(sql, parameters)
  return row
}

/** An integer that is not money, as a number. Money is read from columns named `*_nano`. */
export function smallInteger(column: string, value: bigint): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number)) {
    throw new RangeError(`${column} is ${value}, too large for a number; money is read from columns named *_nano`)
  }
  return number
}

/** The database refused something: a broken constraint, bad SQL, a full disk. */
export class SqlFailure extends Error {
  override readonly name = 'SqlFailure'
  /** Stable: `SQLITE_CONSTRAINT_UNIQUE` of SQLite, `23505` of PostgreSQL. */
  readonly code: string
  /** The place of the statement in an atomic list, from 0. */
  readonly statement: number | undefined

  constructor(message: string, code: string, statement?: number, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.statement = statement
  }
}

/** A list was undone because a statement did not change as many rows as it had to. */
export class UnexpectedChanges extends Error {
  override readonly name = 'UnexpectedChanges'
}

/** Failures of the file, the server or the machine. Other codes are about one statement. */
const STORE_CODES =
  /^(?:SQLITE_(?:BUSY|LOCKED|NOMEM|READONLY|INTERRUPT|IOERR|CORRUPT|FULL|CANTOPEN|PROTOCOL|NOTADB|INTERNAL)|(?:08|25|28|3D|40|53|55|57|58|XX|no-answer))/

/** Whether a failure is about the data of a write: the database takes other rows. */
export const isOfTheData = (error: unknown): boolean =>
  error instanceof UnexpectedChanges ||
  error instanceof TypeError ||
  error instanceof RangeError ||
  (error instanceof SqlFailure && !STORE_CODES.test(error.code))

/** PostgreSQL cannot be reached, or does not serve at the moment. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof SqlFailure && /^(?:08|25|28|3D|40|53|55|57|58|XX|no-answer)/.test(error.code)

/** How long a call waits for a database that cannot be reached, e.g. while it restarts, before it fails. */
export const RETRY_MS = 2000
const RETRY_MIN_MS = 50

/**
 * Repeats `work` while the database is unavailable, for `retryMs`. After a failed connection it is unknown whether the database
 * has done the work, so it must be the same when it is done twice.
 */
export async function retryUnavailable<Result>(
  work: () => Promise<Result>,
  { retryMs, onTrouble }: { readonly retryMs: number; onTrouble?(error: unknown): void } = { retryMs: RETRY_MS },
): Promise<Result> {
  const startedAt = systemClock.nowMicros()
  for (let waitMs = RETRY_MIN_MS; ; waitMs = Math.min(waitMs * 2, RETRY_MS)) {
    try {
      return await work()
    } catch (error) {
      if (!isUnavailable(error)) throw error
      onTrouble?.(error)
      if (systemClock.nowMicros() - startedAt >= retryMs * 1000) throw error
    }
    await pause(waitMs)
  }
}

/** Whether rows that a write refers to or changes were deleted or changed since they were read, as another node may do. */
export const isChangedMeanwhile = (error: unknown): boolean =>
  error instanceof UnexpectedChanges || (error instanceof SqlFailure && /^2350[23]$/.test(error.code))

const ALREADY_THERE = new Set(['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY', '23505'])

/** Whether a row with the same unique value or key exists already. The message names the column. */
export const isAlreadyThere = (error: unknown): error is SqlFailure =>
  error instanceof SqlFailure && ALREADY_THERE.has(error.code)
