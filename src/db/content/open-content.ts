import type { Clock } from '../../lib/clock.ts'
import { beginsNow, type TimesAhead } from '../clock.ts'
import type { LedgerMark } from '../meta.ts'
import { type AtomicStatement, findRow, type SqlStore, statement } from '../sql-store.ts'
import { quickCheck, wasLeftOpen } from '../sqlite/check-integrity.ts'
import { type Migration, migrate } from '../sqlite/migrate.ts'
import { openSqlite, type SqliteOptions } from '../sqlite/open-sqlite.ts'
import type { SqliteFile } from '../sqlite/worker-messages.ts'
import { SERVED_SUMS } from './served-totals.ts'
import { USAGE_SUMS } from './usage-totals.ts'

/**
 * Stored responses. Neither content nor ids are in plain text: ids and items are found by digests that are keyed by their
 * account. Deleting a response is one statement: triggers delete its links, its events, the items without another reference
 * and the key of an account that has nothing left, and count the children of its parent.
 */
const responsesMigration: Migration = {
  name: '0002-responses',
  statements: [
    `CREATE TABLE account_keys (
      account INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      ring_key TEXT NOT NULL,
      wrapped BLOB NOT NULL
    ) STRICT`,
    // `children`: how many were built on it. Large things are in tables of their own, so that a chain is followed quickly.
    `CREATE TABLE responses (
      response INTEGER PRIMARY KEY,
      account INTEGER NOT NULL,
      id TEXT NOT NULL,
      request_id TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL,
      status TEXT NOT NULL CHECK (status IN ('in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
      parent INTEGER REFERENCES responses (response),
      children INTEGER NOT NULL DEFAULT 0 CHECK (children >= 0),
      items INTEGER NOT NULL CHECK (items >= 0),
      item_bytes INTEGER NOT NULL CHECK (item_bytes >= 0),
      log TEXT NOT NULL CHECK (log IN ('none', 'kept', 'too-large')),
      bytes INTEGER NOT NULL CHECK (bytes >= 0),
      facts TEXT,
      UNIQUE (account, id)
    ) STRICT`,
    `CREATE INDEX responses_to_go ON responses (expires_at) WHERE children = 0 AND status <> 'in_progress'`,
    `CREATE INDEX responses_running ON responses (status) WHERE status = 'in_progress'`,
    `CREATE INDEX responses_by_request ON responses (request_id) WHERE facts IS NOT NULL`,
    'CREATE INDEX responses_by_parent ON responses (parent) WHERE parent IS NOT NULL',
    `CREATE TABLE response_objects (
      response INTEGER PRIMARY KEY REFERENCES responses (response) ON DELETE CASCADE,
      encoding TEXT NOT NULL CHECK (encoding IN ('identity', 'deflate')),
      raw_bytes INTEGER NOT NULL,
      sealed BLOB NOT NULL
    ) STRICT`,
    `CREATE TABLE items (
      item INTEGER PRIMARY KEY,
      account INTEGER NOT NULL,
      digest TEXT NOT NULL,
      id TEXT,
      encoding TEXT NOT NULL CHECK (encoding IN ('identity', 'deflate')),
      raw_bytes INTEGER NOT NULL,
      bytes INTEGER NOT NULL CHECK (bytes >= 0),
      sealed BLOB NOT NULL,
      UNIQUE (account, digest)
    ) STRICT`,
    'CREATE INDEX items_by_id ON items (account, id) WHERE id IS NOT NULL',
    // side: 0 what was sent, 1 what was answered.
    `CREATE TABLE response_items (
      response INTEGER NOT NULL REFERENCES responses (response) ON DELETE CASCADE,
      side INTEGER NOT NULL CHECK (side IN (0, 1)),
      position INTEGER NOT NULL,
      item INTEGER NOT NULL REFERENCES items (item),
      PRIMARY KEY (response, side, position)
    ) STRICT, WITHOUT ROWID`,
    'CREATE INDEX response_items_by_item ON response_items (item)',
    `CREATE TABLE events (
      event INTEGER PRIMARY KEY,
      response INTEGER NOT NULL REFERENCES responses (response) ON DELETE CASCADE,
      from_sequence INTEGER NOT NULL,
      to_sequence INTEGER NOT NULL CHECK (to_sequence >= from_sequence),
      encoding TEXT NOT NULL CHECK (encoding IN ('identity', 'deflate')),
      raw_bytes INTEGER NOT NULL,
      bytes INTEGER NOT NULL CHECK (bytes >= 0),
      sealed BLOB NOT NULL,
      UNIQUE (response, to_sequence)
    ) STRICT`,
    `CREATE TABLE state_size (one INTEGER PRIMARY KEY CHECK (one = 1), bytes INTEGER NOT NULL CHECK (bytes >= 0)) STRICT`,
    'INSERT INTO state_size (one, bytes) VALUES (1, 0)',
    ...counted('responses'),
    ...counted('items'),
    ...counted('events'),
    `CREATE TRIGGER response_changed AFTER UPDATE OF bytes ON responses BEGIN
      UPDATE state_size SET bytes = bytes + NEW.bytes - OLD.bytes;
    END`,
    `CREATE TRIGGER child_came AFTER INSERT ON responses WHEN NEW.parent IS NOT NULL BEGIN
      UPDATE responses SET children = children + 1 WHERE response = NEW.parent;
    END`,
    `CREATE TRIGGER child_went AFTER DELETE ON responses WHEN OLD.parent IS NOT NULL BEGIN
      UPDATE responses SET children = children - 1 WHERE response = OLD.parent;
    END`,
    `CREATE TRIGGER account_emptied AFTER DELETE ON responses
      WHEN NOT EXISTS (SELECT 1 FROM responses WHERE account = OLD.account) BEGIN
      DELETE FROM account_keys WHERE account = OLD.account;
    END`,
    `CREATE TRIGGER link_went AFTER DELETE ON response_items
      WHEN NOT EXISTS (SELECT 1 FROM response_items WHERE item = OLD.item) BEGIN
      DELETE FROM items WHERE item = OLD.item;
    END`,
  ],
}

/** Keeps the sum of the bytes of all rows. */
function counted(table: 'responses' | 'items' | 'events'): string[] {
  return [
    `CREATE TRIGGER ${table}_came AFTER INSERT ON ${table} BEGIN
      UPDATE state_size SET bytes = bytes + NEW.bytes;
    END`,
    `CREATE TRIGGER ${table}_went AFTER DELETE ON ${table} BEGIN
      UPDATE state_size SET bytes = bytes - OLD.bytes;
    END`,
  ]
}

/** Answers that may be replayed. The body is the last column, so that the others are read without it. */
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
 * Usage as running totals, which can be rebuilt from the receipts. A series is an account, or its usage by kind, key or
 * model, or two of them; other names are empty, or 0 for the key. A row of `usage` is the total of its series by the end of
 * a quarter of an hour in which something was used.
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
 * Sign-in attempts that are used up, which a restart would forgive otherwise, and from which networks an email has signed
 * in. A name has a keyed digest, because what was typed as an email may be a password.
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
 * Turns that were refused before they began, which the ledger does not have, as running totals like those of usage. They are
 * named by public ids, because a ledger restored from a backup assigns row numbers again. A series without a key is of all
 * keys of its kind.
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
 * `account` in every table but `refused_series` is a number of `owners`. `of_ledger` names the ledger of the file and its
 * position. What an earlier version sealed has the row number of its account bound into it.
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

/** Marks logs that have every byte of their stream, so that a repeated request can be answered from them. */
const sentStreamsMigration: Migration = {
  name: '0007-sent-streams',
  statements: ['ALTER TABLE responses ADD COLUMN as_sent INTEGER NOT NULL DEFAULT 0 CHECK (as_sent IN (0, 1))'],
}

/** The person of the key that a response was requested with: a member reads only their own. */
const personsMigration: Migration = {
  name: '0008-persons-of-responses',
  statements: ['ALTER TABLE responses ADD COLUMN person INTEGER'],
}

const SERVED = SERVED_SUMS.map((sum) => `${sum} INTEGER NOT NULL CHECK (${sum} >= 0)`).join(',\n      ')

/**
 * What the server has served, for its operators (served-totals.ts). It can be rebuilt from the receipts. `at` is the beginning
 * of a quarter of an hour, a day or a month of UTC. Account 0 and an empty model stand for all of them.
 */
const servedMigration: Migration = {
  name: '0009-served',
  statements: [
    `CREATE TABLE served (
      level TEXT NOT NULL CHECK (level IN ('all', 'model', 'account')),
      step TEXT NOT NULL CHECK (step IN ('quarter', 'day', 'month')),
      at INTEGER NOT NULL,
      account INTEGER NOT NULL,
      model TEXT NOT NULL,
      ${SERVED},
      PRIMARY KEY (level, step, at, account, model)
    ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE served_latency (
      measure TEXT NOT NULL CHECK (measure IN ('first', 'total')),
      step TEXT NOT NULL CHECK (step IN ('quarter', 'day', 'month')),
      at INTEGER NOT NULL,
      ms INTEGER NOT NULL,
      requests INTEGER NOT NULL CHECK (requests >= 0),
      PRIMARY KEY (measure, step, at, ms)
    ) STRICT, WITHOUT ROWID`,
    // Slots of five minutes, deleted after two days.
    `CREATE TABLE served_lanes (
      slot INTEGER NOT NULL,
      lane TEXT NOT NULL,
      succeeded INTEGER NOT NULL CHECK (succeeded >= 0),
      failed INTEGER NOT NULL CHECK (failed >= 0),
      failed_at INTEGER,
      error TEXT,
      status INTEGER,
      PRIMARY KEY (slot, lane)
    ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE served_lane_latency (
      slot INTEGER NOT NULL,
      lane TEXT NOT NULL,
      ms INTEGER NOT NULL,
      calls INTEGER NOT NULL CHECK (calls >= 0),
      PRIMARY KEY (slot, lane, ms)
    ) STRICT, WITHOUT ROWID`,
    // As usage_upto, counted by itself.
    `CREATE TABLE served_upto (
      account INTEGER PRIMARY KEY,
      movement INTEGER NOT NULL,
      closed_at INTEGER NOT NULL
    ) STRICT`,
  ],
}

/** Series of usage by tag. SQLite cannot change a CHECK, so the table of series is rebuilt. */
const tagSeriesMigration: Migration = {
  name: '0010-tag-series',
  statements: [
    `CREATE TABLE new_usage_series (
      series INTEGER PRIMARY KEY,
      account INTEGER NOT NULL,
      level TEXT NOT NULL CHECK (level IN
        ('all', 'kind', 'model', 'kind+model', 'key', 'key+model', 'tag', 'kind+tag', 'key+tag')),
      key INTEGER NOT NULL,
      model TEXT NOT NULL,
      kind TEXT NOT NULL CHECK (kind IN ('', 'wallet', 'builder')),
      last_at INTEGER NOT NULL,
      UNIQUE (account, level, key, model, kind)
    ) STRICT`,
    `INSERT INTO new_usage_series (series, account, level, key, model, kind, last_at)
      SELECT series, account, level, key, model, kind, last_at FROM usage_series`,
    'DROP TABLE usage_series',
    'ALTER TABLE new_usage_series RENAME TO usage_series',
  ],
}

/**
 * Conversations of the playground, sealed with the keys of their accounts, which now also last as long as one of them. And how
 * requests of each model ended and how quickly answers came, in quarters of an hour, deleted after two days.
 */
const conversationsMigration: Migration = {
  name: '0011-conversations-and-model-speed',
  statements: [
    `CREATE TABLE conversations (
      conversation INTEGER PRIMARY KEY,
      account INTEGER NOT NULL,
      person TEXT NOT NULL,
      id TEXT NOT NULL,
      saved_at INTEGER NOT NULL,
      title BLOB NOT NULL,
      encoding TEXT NOT NULL CHECK (encoding IN ('identity', 'deflate')),
      raw_bytes INTEGER NOT NULL,
      bytes INTEGER NOT NULL CHECK (bytes >= 0),
      sealed BLOB NOT NULL,
      UNIQUE (person, id)
    ) STRICT`,
    'CREATE INDEX conversations_of_account ON conversations (account)',
    'DROP TRIGGER account_emptied',
    ...['responses', 'conversations'].map(
      (table) => `CREATE TRIGGER account_emptied_of_${table} AFTER DELETE ON ${table}
        WHEN NOT EXISTS (SELECT 1 FROM responses WHERE account = OLD.account)
          AND NOT EXISTS (SELECT 1 FROM conversations WHERE account = OLD.account) BEGIN
        DELETE FROM account_keys WHERE account = OLD.account;
      END`,
    ),
    `CREATE TABLE served_models (
      slot INTEGER NOT NULL,
      model TEXT NOT NULL,
      measure TEXT NOT NULL CHECK (measure IN ('failed', 'first', 'rate')),
      value INTEGER NOT NULL,
      requests INTEGER NOT NULL CHECK (requests >= 0),
      PRIMARY KEY (slot, model, measure, value)
    ) STRICT, WITHOUT ROWID`,
  ],
}

export const contentMigrations: readonly Migration[] = [
  ...[answersMigration, responsesMigration, usageMigration, lockoutsMigration],
  ...[
    refusedTurnsMigration,
    ownersMigration,
    sentStreamsMigration,
    personsMigration,
    servedMigration,
    tagSeriesMigration,
    conversationsMigration,
  ],
]

/** What everything that is kept in content.db takes. */
export interface ContentServices {
  readonly file: SqlStore
  readonly now: () => number
  readonly onFailure: (error: unknown) => void
}

/** Opens content.db, with its own worker, so that no charge waits behind its writes. */
export async function openContent(options: Omit<SqliteOptions, 'synchronous'> & { clock: Clock }): Promise<SqliteFile> {
  const isLeftOpen = wasLeftOpen(options.path)
  const file = await openSqlite({ path: options.path, synchronous: 'full', onDeath: options.onDeath })
  try {
    if (isLeftOpen) await quickCheck(file)
    // Deleted data is overwritten where its page is written anyway, so that a destroyed key is not in the file any more.
    await file.all('PRAGMA secure_delete = FAST', [])
    await migrate(file, contentMigrations, options.clock)
  } catch (cause) {
    await file.close()
    throw new Error(`${options.path}: ${(cause as Error).message}`, { cause })
  }
  return file
}

/** SQLite overwrites what is deleted in its page; the checkpoint removes the page's older versions. */
export const eraseDeleted = async (file: SqlStore): Promise<void> =>
  void (await file.all('PRAGMA wal_checkpoint(TRUNCATE)', []))

/** The ledger that content.db belongs to, and its position at the last write of content.db. */
interface ContentLedger {
  readonly ledger: string
  readonly mark: LedgerMark
}

/** Undefined in a new file, and in one of an earlier version. */
export async function findContentLedger(file: SqlStore): Promise<ContentLedger | undefined> {
  const sql = `SELECT ledger, receipt, request_id AS requestId, transfer, transfer_at AS transferAt FROM of_ledger`
  const row = await findRow<LedgerMark & { readonly ledger: string }>(file, sql)
  if (row === undefined) return undefined
  const { ledger, ...mark } = row
  return { ledger, mark }
}

const BELONG = `INSERT INTO of_ledger (one, ledger, receipt, request_id, transfer, transfer_at) VALUES (1, ?, ?, ?, ?, ?)`
const NAME_OWNER = 'INSERT INTO owners (owner, id) VALUES (?, ?)'

/** Makes the file this ledger's. `accounts` are those of an older file, by their row numbers in it. */
export async function adoptContent(
  file: SqlStore,
  { ledger, mark }: ContentLedger,
  accounts: readonly { readonly row: number; readonly id: string }[],
): Promise<void> {
  await file.atomic([
    { sql: NAME_OWNER, rows: accounts.map(({ row, id }) => [row, id]) },
    statement(BELONG, ledger, mark.receipt, mark.requestId, mark.transfer, mark.transferAt),
  ])
}

const OLDER_OWNERS = `SELECT account FROM answers UNION SELECT account FROM account_keys UNION SELECT account FROM responses
  UNION SELECT account FROM items UNION SELECT account FROM usage_series UNION SELECT account FROM usage_upto`

/** The row numbers by which a file of an earlier version knows its accounts. */
export const listOlderOwners = async (file: SqlStore): Promise<number[]> =>
  (await file.all<{ account: number }>(OLDER_OWNERS, [])).map(({ account }) => account)

const SAMPLE = 1000
const NEWEST_REQUESTS = `SELECT * FROM (SELECT request_id, account FROM answers ORDER BY rowid DESC LIMIT ${SAMPLE})
  UNION SELECT * FROM (SELECT request_id, account FROM responses
    WHERE status IN ('completed', 'incomplete') ORDER BY response DESC LIMIT ${SAMPLE})`

/** The newest requests of an older file with a whole answer, with the row numbers of their accounts. */
export const listOlderRequests = (file: SqlStore): Promise<{ request_id: string; account: number }[]> =>
  file.all(NEWEST_REQUESTS, [])

/** How far an older file has counted each account: movement and time of the last receipt. */
export const listOlderCounts = (file: SqlStore): Promise<{ account: number; movement: number; closedAt: number }[]> =>
  file.all(`SELECT account, movement, closed_at AS closedAt FROM usage_upto WHERE closed_at > 0 LIMIT ${SAMPLE}`, [])

const MOVE_ON = 'UPDATE of_ledger SET receipt = ?, request_id = ?, transfer = ?, transfer_at = ?'

/** The same file, which records the ledger's position with each write if it has changed, and with `close`. */
export function withMarks(file: SqlStore, current: () => LedgerMark): SqlStore {
  let noted = current()
  const atomic = async (statements: readonly AtomicStatement[]): Promise<number[]> => {
    const mark = current()
    if (mark === noted) return file.atomic(statements)
    const { receipt, requestId, transfer, transferAt } = mark
    const changes = await file.atomic([...statements, statement(MOVE_ON, receipt, requestId, transfer, transferAt)])
    noted = mark
    return changes.slice(0, statements.length)
  }
  return {
    ...file,
    atomic,
    async close() {
      await atomic([]).catch(() => {})
      await file.close()
    },
  }
}

const DAY_MS = 86_400_000

/** The times in content.db that a fast clock has written and that retention or rights depend on. */
export const CONTENT_TIMES_AHEAD: readonly TimesAhead[] = [
  {
    ...{ what: 'kept_answers', table: 'answers', key: 'rowid', columns: ['at', 'expires_at'], where: 'at > ?3' },
    repair: beginsNow('at', 'expires_at'),
  },
  {
    ...{ what: 'stored_responses', table: 'responses', key: 'response', columns: ['created_at', 'expires_at'] },
    where: 'created_at > ?3',
    repair: ({ created_at: at, expires_at: end }, { to }) => ({
      created_at: to,
      // 0: deleted.
      expires_at: Math.max(0, Number(end) - (Number(at) - to)),
    }),
  },
  {
    // A lockout lasts minutes: one that ends more than a day ahead was written by the fast clock.
    ...{ what: 'lockouts', table: 'lockouts', key: 'name', slicedBy: 'until', columns: ['until'] },
    where: `until > ?3 + ${DAY_MS}`,
    repair: ({ until }, { from, to }) => ({ until: Math.max(to, Number(until) - (from - to)) }),
  },
  {
    ...{ what: 'usage_series', table: 'usage_series', key: 'series', columns: ['last_at'], where: 'last_at > ?3' },
    repair: (_, { to }) => ({ last_at: to }),
  },
]
