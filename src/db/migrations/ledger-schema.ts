import type { Schema } from '../sqlite/migrate.ts'
import type { LedgerTables } from '../tables.ts'
import { ledgerMigration } from './0001-ledger.ts'
import { allowancesMigration } from './0002-allowances-and-claims.ts'
import { compactionMigration } from './0003-compaction.ts'
import { movementsMigration } from './0004-movements.ts'
import { peopleMigration } from './0005-people.ts'
import { keysAndCodesMigration } from './0006-keys-and-codes.ts'
import { spendCountersMigration } from './0007-spend-counters.ts'
import { ledgerIdentityMigration } from './0008-ledger-identity.ts'
import { clockCorrectionsMigration } from './0009-clock-corrections.ts'
import { proofsMigration } from './0010-proofs.ts'

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
  spend_counters: true,
  subscriptions: true,
  claims: true,
  proved_rows: true,
  proved_balances: true,
  proved_sums: true,
  people: true,
  sessions: true,
  invites: true,
  audit: true,
  codes: true,
  wishes: true,
  waiting_ends: true,
  clock_corrections: true,
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
    { name: '0007-spend-counters', statements: spendCountersMigration },
    { name: '0008-ledger-identity', statements: ledgerIdentityMigration },
    { name: '0009-clock-corrections', statements: clockCorrectionsMigration },
    { name: '0010-proofs', statements: proofsMigration },
  ],
  tables: Object.keys(TABLES),
}
