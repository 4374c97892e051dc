import type { Migration } from '../sqlite/migrate.ts'

/**
 * Turns that were refused before they began: the books know nothing of them, so this is the only copy, and nothing rests on
 * it. Running totals by quarters of an hour, as those of usage are, but by public ids: numbers of rows are given again when
 * a ledger is put back from a copy. A series without a key is of all keys of its kind.
 */
export const refusedTurnsMigration: Migration = {
  name: '0005-refused-turns',
  statements: [
    `CREATE TABLE refused_series (
      series INTEGER PRIMARY KEY,
      account TEXT NOT NULL,
      key TEXT NOT NULL,
      kind TEXT NOT NULL CHECK (kind IN ('wallet', 'builder')),
      code TEXT NOT NULL,
      UNIQUE (account, key, kind, code)
    ) STRICT`,
    `CREATE TABLE refused_turns (
      series INTEGER NOT NULL,
      quarter INTEGER NOT NULL,
      total INTEGER NOT NULL CHECK (total >= 0),
      PRIMARY KEY (series, quarter)
    ) STRICT, WITHOUT ROWID`,
  ],
}
