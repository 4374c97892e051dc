import { statSync } from 'node:fs'
import { SqliteFailure } from './sqlite-failure.ts'
import type { SqliteFile } from './sqlite-file.ts'

/**
 * Whether the process that had this database open did not close it: a close takes the write-ahead log away. Asked before
 * the file is opened.
 */
export const wasLeftOpen = (path: string): boolean =>
  ['-wal', '-journal'].some((log) => (statSync(`${path}${log}`, { throwIfNoEntry: false })?.size ?? 0) > 0)

/** Reads every page of the file once and throws if its structure is damaged. Indexes are not compared with their tables. */
export async function quickCheck(file: SqliteFile): Promise<void> {
  const [row] = await file.all<{ quick_check: string }>('PRAGMA quick_check(1)', [])
  if (row?.quick_check === 'ok') return
  throw new SqliteFailure(`quick_check: ${row?.quick_check ?? 'no answer'}`, 'SQLITE_CORRUPT')
}
