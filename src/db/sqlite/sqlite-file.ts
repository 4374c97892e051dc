import type { PackedError } from './failure.ts'

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

/** Statements that take effect together, or not at all. */
export interface StatementGroup {
  /** Once a group has failed, later groups with the same number are skipped. */
  readonly about: number
  readonly statements: readonly AtomicStatement[]
}

/**
 * A database file with the worker thread that owns it: the only connection to the file. A transaction is a list of
 * statements; there are no interactive transactions, because between two messages the worker serves other callers.
 */
export interface SqliteFile {
  /** e.g. `libsql 3.45.1`, for `status` and `--version`. */
  readonly driver: string
  /** The caller states the type of the rows; nothing checks it. */
  all<Row extends RowOf<Row> = SqlRow>(sql: string, parameters: readonly SqlValue[]): Promise<Row[]>
  /** Runs the list in one transaction. Resolves when it is durable, with the number of rows that each statement changed. */
  atomic(statements: readonly AtomicStatement[]): Promise<number[]>
  /**
   * Runs the groups in one transaction, each in its own savepoint: a group whose data the file refuses fails alone. Resolves
   * when the others are durable, with the error of each failed group. Rejects, and has changed nothing, when the file itself
   * does not take a write.
   */
  atomicEach(groups: readonly StatementGroup[]): Promise<(Error | undefined)[]>
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
export async function changeRows(file: SqliteFile, sql: string, ...rows: SqlValue[][]): Promise<number> {
  const [changed = 0] = await file.atomic([{ sql, rows }])
  return changed
}

export async function findRow<Row extends RowOf<Row>>(
  file: SqliteFile,
  sql: string,
  ...parameters: SqlValue[]
): Promise<Row | undefined> {
  const [row] = await file.all<Row>(sql, parameters)
  return row
}

/** `full` makes every commit durable; `normal` may lose the newest commits on a power loss. */
export type Synchronous = 'full' | 'normal'

/** What the worker is started with. */
export interface WorkerSettings {
  readonly path: string
  readonly synchronous: Synchronous
}

export type WorkerTask =
  | { readonly kind: 'all'; readonly sql: string; readonly parameters: readonly SqlValue[] }
  | { readonly kind: 'atomic'; readonly statements: readonly AtomicStatement[] }
  | { readonly kind: 'each'; readonly groups: readonly StatementGroup[] }
  | { readonly kind: 'close' }

/** Rows and parameters stay nested arrays: measured, a structured clone of them is cheaper than of one flat array. */
export type WorkerRequest = { readonly id: number; readonly task: WorkerTask }

/** The id of the worker's first message, sent once it has the file or cannot have it. */
export const OPENED = 0

export type WorkerReply =
  | {
      readonly id: number
      readonly kind: 'done'
      readonly value: string | SqlRow[] | number[] | (PackedError | undefined)[] | null
    }
  | { readonly id: number; readonly kind: 'failed'; readonly failure: PackedError }
