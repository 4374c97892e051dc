import type { Synchronous } from './connection.ts'
import { DatabaseLocked, SqliteFailure } from './failure.ts'
import {
  type AtomicStatement,
  type SqlRow,
  type SqlValue,
  type StatementGroup,
  UnexpectedChanges,
} from './sqlite-file.ts'

/** What the thread is started with. */
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

/** The thread speaks first, with this id, as soon as it has the file or knows that it will not get it. */
export const OPENED = 0

export type WorkerReply =
  | {
      readonly id: number
      readonly kind: 'done'
      readonly value: string | SqlRow[] | number[] | (PackedError | undefined)[] | null
    }
  | { readonly id: number; readonly kind: 'failed'; readonly failure: PackedError }

/** Classes do not survive the way between two threads, so an error travels as what it is made of. */
export interface PackedError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly code: string | undefined
  readonly statement: number | undefined
}

export function packError(error: unknown): PackedError {
  const failure = error instanceof Error ? error : new Error(String(error))
  const { code, statement } = failure instanceof SqliteFailure ? failure : {}
  return { name: failure.name, message: failure.message, stack: failure.stack, code, statement }
}

/** The error of the thread becomes the cause, so that both stacks can be read. */
export function unpackError(packed: PackedError, path: string): Error {
  const cause = new Error(packed.message)
  cause.name = packed.name
  if (packed.stack !== undefined) cause.stack = packed.stack
  switch (packed.name) {
    case 'DatabaseLocked':
      return new DatabaseLocked(path, { cause })
    case 'SqliteFailure':
      return new SqliteFailure(packed.message, packed.code ?? 'SQLITE_ERROR', packed.statement, { cause })
    case 'UnexpectedChanges':
      return new UnexpectedChanges(packed.message, { cause })
    case 'TypeError':
      return new TypeError(packed.message, { cause })
    case 'RangeError':
      return new RangeError(packed.message, { cause })
    default:
      return new Error(packed.message, { cause })
  }
}
