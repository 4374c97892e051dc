import { dirname, join } from 'node:path'
import { Kysely } from 'kysely'
import type { Clock } from '../lib/clock.ts'
import { createSqliteDialect } from '../sqlite/kysely-dialect.ts'
import { migrate } from '../sqlite/migrate.ts'
import { oneReadAtATime } from '../sqlite/one-read-at-a-time.ts'
import { openSqlite, type SqliteOptions } from '../sqlite/open-sqlite.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { ledgerSchema } from './migrations/ledger-schema.ts'
import { openSettleJournal, type SettleJournal } from './settle-journal.ts'
import type { LedgerDb, LedgerTables } from './tables.ts'

/** The ledger's file: `db` asks, `file` runs lists of statements that belong together; `journal` lies beside it. */
export interface Database {
  readonly db: LedgerDb
  /** Asks the same for people who look, so that nobody who pays waits behind them. */
  readonly patientDb: LedgerDb
  readonly file: SqliteFile
  readonly journal: SettleJournal
  close(): Promise<void>
}

/** Opens the ledger and brings it to the newest schema; a file that cannot be brought there is closed again, untouched. */
export async function openDatabase(options: Omit<SqliteOptions, 'synchronous'> & { clock: Clock }): Promise<Database> {
  const file = await openSqlite({ path: options.path, synchronous: 'full', onDeath: options.onDeath })
  try {
    await migrate(file, ledgerSchema, options.clock)
  } catch (cause) {
    await file.close()
    throw new Error(`${options.path}: ${(cause as Error).message}`, { cause })
  }
  // Whoever has the lock of the ledger has its journal.
  const journal = await openSettleJournal(join(dirname(options.path), 'settles.journal'))
  const db = new Kysely<LedgerTables>({ dialect: createSqliteDialect(file) })
  const patientDb = new Kysely<LedgerTables>({ dialect: createSqliteDialect(oneReadAtATime(file, options.clock)) })
  return {
    db,
    patientDb,
    file,
    journal,
    async close() {
      await db.destroy()
      await journal.close()
      await file.close()
    },
  }
}
