import type { Migration } from '../sqlite/migrate.ts'

/** What a row of `usage` has, beside its series and its quarter of an hour. */
export const USAGE_SUMS = [
  ...(['requests', 'failed', 'uncached_input', 'cached_input', 'cache_write', 'output', 'reasoning'] as const),
  ...(['wallet_nano', 'plan_nano'] as const),
]

const SUMS = USAGE_SUMS.map((sum) => `${sum} INTEGER NOT NULL CHECK (${sum} >= 0)`).join(',\n      ')

/**
 * Usage as running totals. All of it can be made anew from the receipts of the ledger: nothing here is the only copy.
 *
 * A series is one of the ways to look at an account: all of it, or one kind, key or model, or two of them together; what
 * it does not look at is empty, or 0 for the key. A row of `usage` says how much its series had come to by the end of a
 * quarter of an hour, counted in quarters since 1970, and is there only where something was used in that quarter.
 */
export const usageMigration: Migration = {
  name: '0003-usage',
  statements: [
    `CREATE TABLE usage_series (
      series INTEGER PRIMARY KEY,
      account INTEGER NOT NULL,
      level TEXT NOT NULL CHECK (level IN ('all', 'kind', 'model', 'kind+model', 'key', 'key+model')),
      key INTEGER NOT NULL,
      model TEXT NOT NULL,
      kind TEXT NOT NULL CHECK (kind IN ('', 'wallet', 'builder')),
      last_at INTEGER NOT NULL,
      UNIQUE (account, level, key, model, kind)
    ) STRICT`,
    `CREATE TABLE usage (
      series INTEGER NOT NULL,
      quarter INTEGER NOT NULL,
      ${SUMS},
      CHECK (failed <= requests),
      PRIMARY KEY (series, quarter)
    ) STRICT, WITHOUT ROWID`,
    // The receipt that was counted last, by its number in the account and its time: from there it goes on.
    `CREATE TABLE usage_upto (
      account INTEGER PRIMARY KEY,
      movement INTEGER NOT NULL,
      closed_at INTEGER NOT NULL
    ) STRICT`,
  ],
}
