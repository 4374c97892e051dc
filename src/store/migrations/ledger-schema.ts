import type { Schema } from '../../sqlite/migrate.ts'
import type { LedgerTables } from '../tables.ts'
import { ledgerMigration } from './0001-ledger.ts'
import { allowancesMigration } from './0002-allowances-and-claims.ts'
import { compactionMigration } from './0003-compaction.ts'
import { movementsMigration } from './0004-movements.ts'
import { peopleMigration } from './0005-people.ts'
import { keysAndCodesMigration } from './0006-keys-and-codes.ts'

/** Written as an object so that the compiler misses a table that is not listed. */
const TABLES: Record<keyof LedgerTables, true> = {
  meta: true,
  accounts: true,
  keys: true,
  buckets: true,
  receipts: true,
  transfers: true,
  entries: true,
  prices: true,
  marks: true,
  subscriptions: true,
  claims: true,
  proved_rows: true,
  proved_balances: true,
  people: true,
  sessions: true,
  invites: true,
  audit: true,
  codes: true,
  wishes: true,
}

/** A static list: what ships is what runs, and no folder is searched at start. */
export const ledgerSchema: Schema = {
  migrations: [
    { name: '0001-ledger', statements: ledgerMigration },
    { name: '0002-allowances-and-claims', statements: allowancesMigration },
    { name: '0003-compaction', statements: compactionMigration },
    { name: '0004-movements', statements: movementsMigration },
    { name: '0005-people', statements: peopleMigration },
    { name: '0006-keys-and-codes', statements: keysAndCodesMigration },
  ],
  tables: Object.keys(TABLES),
}
