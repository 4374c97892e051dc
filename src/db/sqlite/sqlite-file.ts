/** What a statement may be handed, and what a row may hold. */
export type SqlValue = string | number | bigint | null | Uint8Array
export type SqlRow = Record<string, SqlValue>
/** Columns by name, as a statement brings them. */
export type RowOf<Row> = { readonly [Column in keyof Row]: SqlValue }

/** One statement, run once for each of its rows of parameters. */
export interface AtomicStatement {
  readonly sql: string
  readonly rows: readonly (readonly SqlValue[])[]
  /** The same for several rows in one run, which costs less than as many runs. */
  readonly several?: SeveralRows
  /** How many rows each row of parameters must change; anything else undoes the whole list. */
  readonly expectChanges?: number
}

/** `sql` takes one row where it says `each`; that part is repeated for more, with commas. */
export interface SeveralRows {
  readonly sql: string
  readonly each: string
}

/** Statements that belong together: all of them take effect, or none. */
export interface StatementGroup {
  /** Once a group has failed, the later ones about the same thing are left out. */
  readonly about: number
  readonly statements: readonly AtomicStatement[]
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
  /** What a row has is known to the statement alone: whoever writes it says so here, and nobody checks. */
  all<Row extends RowOf<Row> = SqlRow>(sql: string, parameters: readonly SqlValue[]): Promise<Row[]>
  /** Runs the list in one transaction and resolves when it is durable, with the number of rows each statement changed. */
  atomic(statements: readonly AtomicStatement[]): Promise<number[]>
  /**
   * Runs the groups in one transaction, each in a savepoint of its own: one whose data the file refuses fails alone. Resolves
   * when the others are durable, with the error of each group that failed. Rejects, and has changed nothing, when the file
   * itself does not take a write.
   */
  atomicEach(groups: readonly StatementGroup[]): Promise<(Error | undefined)[]>
  close(): Promise<void>
}
