/** What a statement may be handed, and what a row may hold. */
export type SqlValue = string | number | bigint | null | Uint8Array
export type SqlRow = Record<string, SqlValue>

/** One statement, run once for each of its rows of parameters. */
export interface AtomicStatement {
  readonly sql: string
  readonly rows: readonly (readonly SqlValue[])[]
  /** How many rows each run must change; anything else undoes the whole list. */
  readonly expectChanges?: number
}

/** Thrown when a list was undone because a statement did not change what it had to. */
export class UnexpectedChanges extends Error {
  override readonly name = 'UnexpectedChanges'
}

/**
 * A database file that a worker thread owns: the only connection to it there is. Several statements are a list that is
 * run atomically; there are no interactive transactions, because between two messages the worker serves others.
 */
export interface SqliteFile {
  /** e.g. `libsql 3.45.1`, for `status` and `--version`. */
  readonly driver: string
  all(sql: string, parameters: readonly SqlValue[]): Promise<SqlRow[]>
  /** Runs the list in one transaction and resolves when it is durable, with the number of rows each statement changed. */
  atomic(statements: readonly AtomicStatement[]): Promise<number[]>
  close(): Promise<void>
}
