import type { Clock } from '../lib/clock.ts'
import { migrate } from '../sqlite/migrate.ts'
import { openSqlite, type SqliteOptions } from '../sqlite/open-sqlite.ts'
import { quickCheck, wasLeftOpen } from '../sqlite/quick-check.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { contentSchema } from './content-schema.ts'

/** Opens the file of contents, with a thread of its own: however much is written here, no charge waits behind it. */
export async function openContent(options: Omit<SqliteOptions, 'synchronous'> & { clock: Clock }): Promise<SqliteFile> {
  const isLeftOpen = wasLeftOpen(options.path)
  const file = await openSqlite({ path: options.path, synchronous: 'full', onDeath: options.onDeath })
  try {
    if (isLeftOpen) await quickCheck(file)
    // What is deleted is overwritten where its page is written anyway: a key that was destroyed is not in the file any more.
    await file.all('PRAGMA secure_delete = FAST', [])
    await migrate(file, contentSchema, options.clock)
  } catch (cause) {
    await file.close()
    throw new Error(`${options.path}: ${(cause as Error).message}`, { cause })
  }
  return file
}
