import type { Change } from '../books/changes.ts'
import { isOfTheData } from '../sqlite/sqlite-failure.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { type PackedMarks, recordChanges } from './record-changes.ts'

interface DecidedOperation {
  readonly account: number
  readonly changes: readonly Change[]
}

/** Marks stand in the same row for all accounts. */
const NO_ACCOUNT = 0

/**
 * Writes a batch in one commit, with the fewest row writes. Where the file refuses what is in it, the operations are written
 * one by one instead. Returns undefined when all was written; else an entry for each operation, and one for the marks: the error of
 * what was refused. Behind it no operation of the same account is tried: it gets the same error.
 */
export async function recordBatch(
  file: SqliteFile,
  operations: readonly DecidedOperation[],
  marks: PackedMarks | undefined,
): Promise<readonly (Error | undefined)[] | undefined> {
  try {
    const changes = operations.flatMap((operation) => operation.changes)
    await file.atomic(recordChanges(changes, marks))
    return undefined
  } catch (error) {
    if (!isOfTheData(error)) throw error
  }
  const groups = operations.map(({ account, changes }) => ({
    about: account,
    statements: recordChanges(changes, undefined),
  }))
  if (marks) groups.push({ about: NO_ACCOUNT, statements: recordChanges([], marks) })
  const failures = await file.atomicEach(groups)
  return failures.some((failure) => failure !== undefined) ? failures : undefined
}
