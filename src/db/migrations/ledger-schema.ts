import type { Schema } from '../sqlite/migrate.ts'
import type { LedgerTables } from '../tables.ts'
import { ledgerMigration } from './0001-ledger.ts'
import { allowancesMigration } from './0002-allowances-and-claims.ts'
import { movementsMigration } from './0004-movements.ts'
import { peopleMigration } from './0005-people.ts'
import { keysAndCodesMigration } from './0006-keys-and-codes.ts'
import { spendCountersMigration } from './0007-spend-counters.ts'

/**
 * What a compaction made of its conversation. Without a CHECK or a default nothing but the schema is written: a file with
 * millions of receipts is opened as quickly as an empty one.
 */
const compactionMigration: readonly string[] = [
  `ALTER TABLE receipts ADD COLUMN tokens_before INTEGER`,
  `ALTER TABLE receipts ADD COLUMN tokens_after INTEGER`,
]

/** What tells this ledger from every other one: the files beside it name it, and are not used with another. */
const ledgerIdentityMigration: readonly string[] = [
  `INSERT INTO meta (name, value) VALUES ('ledger_id', lower(hex(randomblob(16))))`,
]

/**
 * When an operator has set ledger time back, rows that were recorded before keep the times they have. One row here says
 * which rows those are and what time they count as where rows are searched by time: at most `set_back_to`.
 */
const clockCorrectionsMigration: readonly string[] = [
  `CREATE TABLE clock_corrections (
    row INTEGER PRIMARY KEY,
    set_back_from INTEGER NOT NULL,
    set_back_to INTEGER NOT NULL,
    last_receipt INTEGER NOT NULL,
    last_transfer INTEGER NOT NULL,
    CHECK (set_back_to < set_back_from)
  ) STRICT`,
  `CREATE INDEX clock_corrections_by_receipt ON clock_corrections (last_receipt, set_back_to)`,
  `CREATE INDEX clock_corrections_by_transfer ON clock_corrections (last_transfer, set_back_to)`,
  // Operators ask what was done to something, whosever it is.
  `CREATE INDEX audit_by_target ON audit (target, seq) WHERE target IS NOT NULL`,
  // A list of accounts counts the keys of each that are not revoked: however many were, it reads these only.
  `CREATE INDEX live_keys_of_account ON keys (account) WHERE revoked_at IS NULL`,
]

/**
 * The proof of the ledger reads balances in slices, account by account, and keeps no balance of each any more: only
 * that of the outside world, and for windows and spend caps with many receipts what those came to. Open
 * requests are found by account. Windows that ended long ago are found by their end, to be closed.
 */
const proofsMigration: readonly string[] = [
  `DROP INDEX open_receipts`,
  `CREATE INDEX open_receipts ON receipts (account) WHERE state = 'open'`,
  `CREATE INDEX live_windows_by_end ON buckets (period_end) WHERE kind = 'window' AND closed_at IS NULL`,
  `DELETE FROM proved_balances WHERE bucket <> 1`,
  `CREATE TABLE proved_sums (
    account INTEGER NOT NULL,
    subject TEXT NOT NULL,
    period_start INTEGER NOT NULL,
    movement INTEGER NOT NULL,
    used_nano INTEGER NOT NULL,
    period_end INTEGER NOT NULL,
    PRIMARY KEY (account, subject, period_start)
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX proved_sums_by_end ON proved_sums (period_end)`,
]

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
