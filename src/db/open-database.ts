import { statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Kysely } from 'kysely'
import type { Clock } from '../lib/clock.ts'
import { findLedgerId } from './meta.ts'
import { ledgerSchema } from './migrations/ledger-schema.ts'
import { findReceipt } from './receipts.ts'
import { openSettleJournal, type SettleJournal } from './settle-journal.ts'
import { quickCheck, wasLeftOpen } from './sqlite/check-integrity.ts'
import { DatabaseLocked, describeTrouble } from './sqlite/failure.ts'
import { createSqliteDialect } from './sqlite/kysely-dialect.ts'
import { listTables, migrate } from './sqlite/migrate.ts'
import { oneReadAtATime, openSqlite, type SqliteOptions } from './sqlite/open-sqlite.ts'
import type { SqliteFile } from './sqlite/sqlite-file.ts'
import type { LedgerDb, LedgerTables } from './tables.ts'

/** The ledger's file: `db` asks, `file` runs lists of statements that belong together; `journal` lies beside it. */
export interface Database {
  /** Tells this ledger from every other one. */
  readonly ledger: string
  readonly db: LedgerDb
  /** Asks the same for people who look, so that nobody who pays waits behind them. */
  readonly patientDb: LedgerDb
  readonly file: SqliteFile
  readonly journal: SettleJournal
  close(): Promise<void>
}

interface DatabaseOptions extends Omit<SqliteOptions, 'synchronous'> {
  readonly clock: Clock
  /** Files that belong to a ledger which was here before. With any of them no new ledger is begun. */
  readonly ofEarlierLedger?: readonly string[]
}

/** The ledger's file cannot be used: a sentence that names it and says what to do. */
export class LedgerUnusable extends Error {
  override readonly name = 'LedgerUnusable'
}

/** Opens the ledger and brings it to the newest schema; a file that cannot be brought there is closed again, untouched. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { path, clock } = options
  const isLeftOpen = wasLeftOpen(path)
  if (sizeOf(path) === 0) refuseToBeginAnew(options)
  const file = await openSqlite({ path, synchronous: 'full', onDeath: options.onDeath }).catch((error: unknown) => {
    throw troubleWith(path, error)
  })
  try {
    if ((await listTables(file)).length === 0) refuseToBeginAnew(options)
    if (isLeftOpen) await quickCheck(file)
    await migrate(file, ledgerSchema, clock)
    const db = new Kysely<LedgerTables>({ dialect: createSqliteDialect(file) })
    const patientDb = new Kysely<LedgerTables>({ dialect: createSqliteDialect(oneReadAtATime(file, clock)) })
    const ledger = await findLedgerId(db)
    // Whoever has the lock of the ledger has its journal.
    const journal = await openSettleJournal({
      ...{ path: join(dirname(path), 'settles.journal'), ledger, now: () => clock.now() },
      knows: (record) => knowsRequestOf(db, record),
    })
    return {
      ledger,
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
  } catch (error) {
    await file.close()
    throw troubleWith(path, error)
  }
}

function troubleWith(path: string, error: unknown): unknown {
  if (error instanceof DatabaseLocked || error instanceof LedgerUnusable) return error
  const trouble = describeTrouble(path, error)
  if (trouble !== undefined) return new LedgerUnusable(trouble, { cause: error })
  const { message } = error as Error
  return message.includes(path) ? error : new Error(`${path}: ${message}`, { cause: error })
}

/** A record begins with its request id and a space: see ledger/journaled-ends, which refuses what has another form. */
async function knowsRequestOf(db: LedgerDb, record: string): Promise<boolean> {
  const space = record.indexOf(' ')
  return space < 0 || (await findReceipt(db, record.slice(0, space))) !== undefined
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function refuseToBeginAnew({ path, ofEarlierLedger = [] }: DatabaseOptions): void {
  if (ofEarlierLedger.length === 0) return
  const others = ofEarlierLedger.map((other) => basename(other)).join(', ')
  throw new LedgerUnusable(
    `${path} is missing or empty, but ${others} of an earlier ledger are in its folder. Restore ledger.db from a backup. ` +
      `To begin a new ledger instead, move these files to another folder first: ${others}.`,
  )
}
