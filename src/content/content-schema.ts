import type { Migration, Schema } from '../sqlite/migrate.ts'
import { responsesMigration } from './responses-migration.ts'
import { USAGE_SUMS } from './usage-series.ts'

/**
 * Answers that may be given again. The body is the last column, so that a row is judged without reading it; the index
 * holds all that the choice of what has to go looks at.
 */
const answersMigration: Migration = {
  name: '0001-answers',
  statements: [
    `CREATE TABLE answers (
    request_id TEXT NOT NULL UNIQUE,
    account INTEGER NOT NULL,
    ring_key TEXT NOT NULL,
    status INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    encoding TEXT NOT NULL CHECK (encoding IN ('identity', 'deflate')),
    raw_bytes INTEGER NOT NULL,
    bytes INTEGER NOT NULL CHECK (bytes = length(sealed)),
    facts TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    sealed BLOB NOT NULL
  ) STRICT`,
    `CREATE INDEX answers_by_expiry ON answers (expires_at, bytes)`,
  ],
}

const SUMS = USAGE_SUMS.map((sum) => `${sum} INTEGER NOT NULL CHECK (${sum} >= 0)`).join(',\n      ')

/**
 * Usage as running totals. All of it can be made anew from the receipts of the ledger: nothing here is the only copy.
 *
 * A series is one of the ways to look at an account: all of it, or one kind, key or model, or two of them together; what
 * it does not look at is empty, or 0 for the key. A row of `usage` says how much its series had come to by the end of a
 * quarter of an hour, counted in quarters since 1970, and is there only where something was used in that quarter.
 */
const usageMigration: Migration = {
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

/**
 * Who has used up their tries to sign in, and until when all of them are back: what a restart would forgive otherwise; and
 * from which networks an e-mail has signed in. A name has a keyed digest, because what was typed as an e-mail may be a
 * password.
 */
const lockoutsMigration: Migration = {
  name: '0004-lockouts',
  statements: [
    `CREATE TABLE lockouts (
      name TEXT PRIMARY KEY,
      until INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID`,
    `CREATE INDEX lockouts_by_end ON lockouts (until)`,
  ],
}

/**
 * Turns that were refused before they began: the books know nothing of them, so this is the only copy, and nothing rests on
 * it. Running totals by quarters of an hour, as those of usage are, but by public ids: numbers of rows are given again when
 * a ledger is put back from a copy. A series without a key is of all keys of its kind.
 */
const refusedTurnsMigration: Migration = {
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

/**
 * Whose the rows are: `account` in every table but `refused_series` is a number of `owners`, and belongs to one account id.
 * `of_ledger` says which ledger the file belongs to, and how far that had got. What an earlier version sealed has the row
 * number of its account bound into it.
 */
const ownersMigration: Migration = {
  name: '0006-owners',
  statements: [
    `CREATE TABLE owners (
      owner INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE
    ) STRICT`,
    `CREATE TABLE of_ledger (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      ledger TEXT NOT NULL,
      receipt INTEGER NOT NULL,
      request_id TEXT NOT NULL,
      transfer INTEGER NOT NULL,
      transfer_at INTEGER NOT NULL
    ) STRICT`,
    'ALTER TABLE account_keys ADD COLUMN sealed_as TEXT',
    'UPDATE account_keys SET sealed_as = account',
  ],
}

/** Of which streams the log is every byte that was sent, so that whoever repeats their request is given it again from there. */
const sentStreamsMigration: Migration = {
  name: '0007-sent-streams',
  statements: ['ALTER TABLE responses ADD COLUMN as_sent INTEGER NOT NULL DEFAULT 0 CHECK (as_sent IN (0, 1))'],
}

/** A static list: what ships is what runs, and no folder is searched at start. */
export const contentSchema: Schema = {
  migrations: [
    ...[answersMigration, responsesMigration, usageMigration, lockoutsMigration],
    ...[refusedTurnsMigration, ownersMigration, sentStreamsMigration],
  ],
  tables: [
    ...['answers', 'account_keys', 'responses', 'response_objects', 'items', 'response_items', 'events'],
    ...['state_size', 'usage_series', 'usage', 'usage_upto', 'refused_series', 'refused_turns', 'lockouts'],
    ...['owners', 'of_ledger'],
  ],
}
