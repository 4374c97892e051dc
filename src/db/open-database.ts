import { existsSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Kysely } from 'kysely'
import type { Clock } from '../lib/clock.ts'
import { unfinishedMove, unfinishedRestore } from '../lib/files.ts'
import { createStoreDialect } from './kysely-dialect.ts'
import { findLedgerId, UNFINISHED_MOVE } from './meta.ts'
import { ledgerMigrations } from './migrations/ledger-migrations.ts'
import { findReceipt } from './receipts.ts'
import { openSettleJournal } from './settle-journal.ts'
import { quickCheck, wasLeftOpen } from './sqlite/check-integrity.ts'
import { DatabaseLocked, describeTrouble } from './sqlite/failure.ts'
import { listTables, migrate } from './sqlite/migrate.ts'
import { oneReadAtATime, openSqlite, type SqliteOptions } from './sqlite/open-sqlite.ts'
import type { LedgerDb, LedgerTables } from './tables.ts'

export type Database = Awaited<ReturnType<typeof openDatabase>>

interface DatabaseOptions extends Omit<SqliteOptions, 'synchronous'> {
  readonly clock: Clock
  /** Files of an earlier ledger in this folder. With any of them no new ledger is created. */
  readonly ofEarlierLedger?: readonly string[]
}

/** The ledger's file, or its database, cannot be used. The message tells the operator what to do. */
export class LedgerUnusable extends Error {
  override readonly name: string = 'LedgerUnusable'
}

/** Opens the ledger and migrates it to the newest schema. A file that cannot be migrated is closed unchanged. */
export async function openDatabase(options: DatabaseOptions) {
  const { path, clock } = options
  const isLeftOpen = wasLeftOpen(path)
  if (!statSync(path, { throwIfNoEntry: false })?.size) refuseNewLedger(options)
  const file = await openSqlite({ path, synchronous: 'full', onDeath: options.onDeath }).catch((error: unknown) => {
    throw asLedgerUnusable(path, error)
  })
  try {
    if ((await listTables(file)).length === 0) refuseNewLedger(options)
    if (isLeftOpen) await quickCheck(file)
    await migrate(file, ledgerMigrations, clock)
    const db: LedgerDb = new Kysely<LedgerTables>({ dialect: createStoreDialect(file) })
    const lowPriorityDb: LedgerDb = new Kysely<LedgerTables>({
      dialect: createStoreDialect(oneReadAtATime(file, clock)),
    })
    const ledger = await findLedgerId(db)
    // The lock of the ledger is also the lock of its journal.
    const journal = await openSettleJournal({
      ...{ path: join(dirname(path), 'settles.journal'), ledger, now: () => clock.now() },
      knows: (record) => knowsRequestOf(db, record),
    })
    return {
      kind: 'sqlite' as const,
      /** The random id of this ledger. */
      ledger,
      db,
      /** Queries with low priority, for the console and audits, so that no request waits behind them. */
      lowPriorityDb,
      /** Runs atomic lists. */
      file,
      /** The file beside it. */
      journal,
      async close(): Promise<void> {
        await db.destroy()
        await journal.close()
        await file.close()
      },
    }
  } catch (error) {
    await file.close()
    throw asLedgerUnusable(path, error)
  }
}

function asLedgerUnusable(path: string, error: unknown): unknown {
  if (error instanceof DatabaseLocked || error instanceof LedgerUnusable) return error
  const trouble = describeTrouble(path, error)
  if (trouble !== undefined) return new LedgerUnusable(trouble, { cause: error })
  const { message } = error as Error
  return message.includes(path) ? error : new Error(`${path}: ${message}`, { cause: error })
}

/** A record begins with its request id and a space; ledger/journal.ts refuses other forms. */
export async function knowsRequestOf(db: LedgerDb, record: string): Promise<boolean> {
  const space = record.indexOf(' ')
  return space < 0 || (await findReceipt(db, record.slice(0, space))) !== undefined
}

function refuseNewLedger({ path, ofEarlierLedger = [] }: DatabaseOptions): void {
  if (existsSync(unfinishedMove(path)))
    throw new LedgerUnusable(`A ledger was being moved into ${dirname(path)}. ${UNFINISHED_MOVE}`)
  if (existsSync(unfinishedRestore(path)))
    throw new LedgerUnusable(
      `A backup is being restored into ${dirname(path)}, or was when the restore was killed. Wait for its end, or repeat millrace db restore. ` +
        'To begin a new ledger instead, move all files of this folder to another one first.',
    )
  if (ofEarlierLedger.length === 0) return
  const others = ofEarlierLedger.map((other) => basename(other)).join(', ')
  throw new LedgerUnusable(
    `${path} is missing or empty, but ${others} of an earlier ledger are in its folder. Restore ledger.db from a backup. ` +
      `To begin a new ledger instead, move these files to another folder first: ${others}.`,
  )
}
