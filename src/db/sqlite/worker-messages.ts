import type { ArchiveStep, AtomicStatement, SqlRow, SqlStore, SqlValue } from '../sql-store.ts'
import type { PackedError } from './failure.ts'

/** Statements that take effect together, or not at all. */
export interface StatementGroup {
  /** Once a group has failed, later groups with the same number are skipped. */
  readonly about: number
  readonly statements: readonly AtomicStatement[]
}

/** A database file with the worker thread that owns it: the only connection to the file. */
export interface SqliteFile extends SqlStore {
  /**
   * Runs the groups in one transaction, each in its own savepoint: a group whose data is refused fails alone. Resolves
   * when the others are durable, with the error of each failed group. Rejects, and has changed nothing, when the database
   * itself does not take a write.
   */
  atomicEach(groups: readonly StatementGroup[]): Promise<(Error | undefined)[]>
}

/** `full` makes every commit durable; `normal` may lose the newest commits on a power loss. */
export type Synchronous = 'full' | 'normal'

/** SQLite's own default: after a commit with so many pages in the log, they move into the file. */
export const AUTOCHECKPOINT_PAGES = 1000

/** What the worker is started with. */
export interface WorkerSettings {
  readonly path: string
  readonly synchronous: Synchronous
}

export type WorkerTask =
  | { readonly kind: 'all'; readonly sql: string; readonly parameters: readonly SqlValue[] }
  | { readonly kind: 'atomic'; readonly statements: readonly AtomicStatement[] }
  | { readonly kind: 'each'; readonly groups: readonly StatementGroup[] }
  | { readonly kind: 'archive'; readonly step: ArchiveStep }
  | { readonly kind: 'close' }

/** Rows and parameters stay nested arrays: measured, a structured clone of them is cheaper than of one flat array. */
export type WorkerRequest = { readonly id: number; readonly task: WorkerTask }

/** The id of the worker's first message, sent once it has the file or cannot have it. */
export const OPENED = 0

export type WorkerReply =
  | {
      readonly id: number
      readonly kind: 'done'
      readonly value: string | number | SqlRow[] | number[] | (PackedError | undefined)[] | null
    }
  | { readonly id: number; readonly kind: 'failed'; readonly failure: PackedError }
