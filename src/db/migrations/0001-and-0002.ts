/** The other side of the double entry: money that came from or went to the world, and money that was earned. */
const BUCKET_EXTERNAL = 1
const BUCKET_REVENUE = 2

/** At most three row writes a request. The CHECK on buckets makes an overdraft impossible, whatever the code does. */
export const ledgerMigration: readonly string[] = [
  `CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE accounts (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    email TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL CHECK (status IN ('active', 'suspended', 'closed')),
    created_at INTEGER NOT NULL
  ) STRICT`,
  `CREATE TABLE keys (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account INTEGER NOT NULL REFERENCES accounts (row),
    kind TEXT NOT NULL CHECK (kind IN ('wallet', 'builder')),
    name TEXT NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    shown TEXT NOT NULL,
    models TEXT,
    limits TEXT,
    expires_at INTEGER,
    disabled_at INTEGER,
    revoked_at INTEGER,
    created_at INTEGER NOT NULL
  ) STRICT`,
  `CREATE INDEX keys_of_account ON keys (account)`,
  `CREATE TABLE buckets (
    row INTEGER PRIMARY KEY,
    unit TEXT NOT NULL CHECK (unit IN ('usd', 'quota')),
    kind TEXT NOT NULL CHECK (kind IN ('wallet', 'window', 'system')),
    account INTEGER REFERENCES accounts (row),
    subject TEXT NOT NULL,
    window_start INTEGER,
    window_end INTEGER,
    posted_nano INTEGER NOT NULL DEFAULT 0,
    held_nano INTEGER NOT NULL DEFAULT 0 CHECK (held_nano >= 0),
    CHECK ((kind = 'system') = (account IS NULL)),
    CHECK (kind = 'system' OR posted_nano - held_nano >= 0)
  ) STRICT`,
  `CREATE INDEX buckets_of_account ON buckets (account)`,
  `CREATE UNIQUE INDEX one_wallet_an_account ON buckets (account) WHERE kind = 'wallet'`,
  `INSERT INTO buckets (row, unit, kind, subject)
    VALUES (${BUCKET_EXTERNAL}, 'usd', 'system', 'external'), (${BUCKET_REVENUE}, 'usd', 'system', 'revenue')`,
  `CREATE TABLE receipts (
    row INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL UNIQUE,
    account INTEGER NOT NULL,
    key INTEGER NOT NULL,
    kind TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'settled', 'released')),
    model TEXT NOT NULL,
    price_version INTEGER NOT NULL,
    buckets TEXT NOT NULL,
    hold_nano INTEGER NOT NULL CHECK (hold_nano >= 0),
    output_cap INTEGER NOT NULL,
    output_bound INTEGER NOT NULL,
    input_estimate INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    closed_at INTEGER,
    outcome TEXT,
    lane TEXT,
    uncached_input INTEGER,
    cached_input INTEGER,
    cache_write INTEGER,
    output INTEGER,
    reasoning INTEGER,
    estimated INTEGER,
    tier INTEGER,
    cost_nano INTEGER,
    charge_nano INTEGER,
    shortfall_nano INTEGER,
    first_byte_ms INTEGER,
    total_ms INTEGER,
    attempts TEXT,
    CHECK (charge_nano IS NULL OR charge_nano BETWEEN 0 AND hold_nano),
    CHECK ((state = 'open') = (charge_nano IS NULL)),
    CHECK (state <> 'released' OR charge_nano = 0)
  ) STRICT`,
  `CREATE INDEX open_receipts ON receipts (row) WHERE state = 'open'`,
  // The charge of a request as entries that sum to zero. The next migration adds the other side of windows.
  `CREATE VIEW usage_entries AS
    SELECT receipts.row AS receipt, held_on.value AS bucket, -receipts.charge_nano AS delta_nano
      FROM receipts, json_each(receipts.buckets) AS held_on
      WHERE receipts.state = 'settled'
    UNION ALL
    SELECT receipts.row AS receipt, ${BUCKET_REVENUE} AS bucket, receipts.charge_nano AS delta_nano
      FROM receipts
      WHERE receipts.state = 'settled' AND receipts.kind = 'wallet'`,
  `CREATE TABLE transfers (
    row INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('credit', 'refund', 'adjustment')),
    unit TEXT NOT NULL CHECK (unit IN ('usd', 'quota')),
    account INTEGER NOT NULL REFERENCES accounts (row),
    ref TEXT NOT NULL,
    reason TEXT NOT NULL,
    amount_nano INTEGER NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (account, ref)
  ) STRICT`,
  `CREATE INDEX transfers_of_account ON transfers (account)`,
  `CREATE TABLE entries (
    transfer INTEGER NOT NULL REFERENCES transfers (row),
    seq INTEGER NOT NULL,
    bucket INTEGER NOT NULL REFERENCES buckets (row),
    delta_nano INTEGER NOT NULL,
    PRIMARY KEY (transfer, seq)
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX entries_of_bucket ON entries (bucket)`,
  `CREATE TABLE prices (
    model TEXT NOT NULL,
    version INTEGER NOT NULL,
    terms TEXT NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (model, version)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE marks (
    node INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    packed BLOB NOT NULL
  ) STRICT`,
  // For anyone who opens the file by hand.
  `CREATE TRIGGER entries_are_final BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never edited'); END`,
  `CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END`,
  `CREATE TRIGGER closed_receipts_are_final BEFORE UPDATE ON receipts WHEN OLD.state <> 'open'
    BEGIN SELECT RAISE(ABORT, 'a closed receipt is never edited'); END`,
]

/** The other sides of allowances and spend caps: what was issued, what was used, and what expired unused. */
const SYSTEM_BUCKETS = [
  [-11, 'quota', 'issued'],
  [-12, 'quota', 'used'],
  [-13, 'quota', 'expired'],
  [-21, 'cap', 'issued'],
  [-22, 'cap', 'used'],
  [-23, 'cap', 'expired'],
]

const COLUMNS = {
  buckets: 'row, unit, kind, account, subject, window_start, window_end, posted_nano, held_nano',
  transfers: 'row, kind, unit, account, ref, reason, amount_nano, at',
  entries: 'transfer, seq, bucket, delta_nano',
}

/** Plans, spend caps and idempotency keys. Three tables are rebuilt, because SQLite cannot change a CHECK. */
export const allowancesMigration: readonly string[] = [
  `DROP VIEW usage_entries`,
  `CREATE TABLE new_buckets (
    row INTEGER PRIMARY KEY,
    unit TEXT NOT NULL CHECK (unit IN ('usd', 'quota', 'cap')),
    kind TEXT NOT NULL CHECK (kind IN ('wallet', 'window', 'cap', 'system')),
    account INTEGER REFERENCES accounts (row),
    subject TEXT NOT NULL,
    period_start INTEGER,
    period_end INTEGER,
    closed_at INTEGER,
    posted_nano INTEGER NOT NULL DEFAULT 0,
    held_nano INTEGER NOT NULL DEFAULT 0 CHECK (held_nano >= 0),
    CHECK ((kind = 'system') = (account IS NULL)),
    CHECK (kind = 'system' OR unit = CASE kind WHEN 'wallet' THEN 'usd' WHEN 'window' THEN 'quota' ELSE 'cap' END),
    CHECK ((kind IN ('window', 'cap')) = (period_end IS NOT NULL)),
    CHECK (closed_at IS NULL OR (posted_nano = 0 AND held_nano = 0)),
    CHECK (kind = 'system' OR posted_nano - held_nano >= 0)
  ) STRICT`,
  `CREATE TABLE new_transfers (
    row INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('credit', 'refund', 'adjustment', 'grant', 'expiry')),
    unit TEXT NOT NULL CHECK (unit IN ('usd', 'quota', 'cap')),
    account INTEGER NOT NULL REFERENCES accounts (row),
    ref TEXT NOT NULL,
    reason TEXT NOT NULL,
    amount_nano INTEGER NOT NULL,
    at INTEGER NOT NULL,
    UNIQUE (account, unit, ref),
    CHECK ((unit = 'usd') = (kind IN ('credit', 'refund', 'adjustment')))
  ) STRICT`,
  `CREATE TABLE new_entries (
    transfer INTEGER NOT NULL REFERENCES new_transfers (row),
    seq INTEGER NOT NULL,
    bucket INTEGER NOT NULL REFERENCES new_buckets (row),
    delta_nano INTEGER NOT NULL,
    PRIMARY KEY (transfer, seq)
  ) STRICT, WITHOUT ROWID`,
  `INSERT INTO new_buckets (row, unit, kind, account, subject, period_start, period_end, posted_nano, held_nano)
    SELECT ${COLUMNS.buckets} FROM buckets`,
  `INSERT INTO new_transfers (${COLUMNS.transfers}) SELECT ${COLUMNS.transfers} FROM transfers`,
  `INSERT INTO new_entries (${COLUMNS.entries}) SELECT ${COLUMNS.entries} FROM entries`,
  `DROP TABLE entries`,
  `DROP TABLE transfers`,
  `DROP TABLE buckets`,
  `ALTER TABLE new_buckets RENAME TO buckets`,
  `ALTER TABLE new_transfers RENAME TO transfers`,
  `ALTER TABLE new_entries RENAME TO entries`,
  `INSERT INTO buckets (row, unit, kind, subject)
    VALUES ${SYSTEM_BUCKETS.map(([row, unit, subject]) => `(${row}, '${unit}', 'system', '${subject}')`).join(', ')}`,
  // An account may have years of closed periods.
  `CREATE INDEX live_buckets_of_account ON buckets (account) WHERE closed_at IS NULL`,
  `CREATE INDEX buckets_by_subject ON buckets (account, subject, period_start)`,
  `CREATE UNIQUE INDEX one_wallet_an_account ON buckets (account) WHERE kind = 'wallet'`,
  `CREATE INDEX transfers_of_account ON transfers (account, unit)`,
  `CREATE INDEX entries_of_bucket ON entries (bucket)`,
  `CREATE TRIGGER entries_are_final BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never edited'); END`,
  `CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END`,
  `CREATE TRIGGER closed_buckets_are_final BEFORE UPDATE ON buckets WHEN OLD.closed_at IS NOT NULL
    BEGIN SELECT RAISE(ABORT, 'a closed period is never moved'); END`,
  // The charge of a request as entries that sum to zero in each unit: out of each bucket of its hold, into revenue or used.
  `CREATE VIEW usage_entries AS
    SELECT receipts.row AS receipt, held_on.value AS bucket, -receipts.charge_nano AS delta_nano
      FROM receipts, json_each(receipts.buckets) AS held_on
      WHERE receipts.state = 'settled'
    UNION ALL
    SELECT receipts.row AS receipt,
        CASE buckets.unit WHEN 'usd' THEN 2 WHEN 'quota' THEN -12 ELSE -22 END AS bucket,
        receipts.charge_nano AS delta_nano
      FROM receipts, json_each(receipts.buckets) AS held_on JOIN buckets ON buckets.row = held_on.value
      WHERE receipts.state = 'settled'`,
  `ALTER TABLE receipts ADD COLUMN cached_estimate INTEGER NOT NULL DEFAULT 0`,
  `CREATE TABLE subscriptions (
    row INTEGER PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (row),
    plan TEXT NOT NULL,
    billing_day INTEGER NOT NULL CHECK (billing_day BETWEEN 1 AND 31),
    started_at INTEGER NOT NULL,
    ends_at INTEGER
  ) STRICT`,
  `CREATE INDEX subscriptions_of_account ON subscriptions (account, row)`,
  // Keys are stored as digests.
  `CREATE TABLE claims (
    receipt INTEGER PRIMARY KEY,
    scope TEXT NOT NULL UNIQUE,
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'kept', 'not-kept')),
    at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT`,
  `CREATE INDEX claims_by_expiry ON claims (expires_at)`,
  `ALTER TABLE keys ADD COLUMN cap_day_nano INTEGER CHECK (cap_day_nano > 0)`,
  `ALTER TABLE keys ADD COLUMN cap_month_nano INTEGER CHECK (cap_month_nano > 0)`,
  // Set when its rows did not balance; the log and the report of db verify say why.
  `ALTER TABLE accounts ADD COLUMN frozen_at INTEGER`,
  `CREATE INDEX frozen_accounts ON accounts (row) WHERE frozen_at IS NOT NULL`,
  // How far the ledger is verified, and every balance at that point: the next verification begins there.
  `CREATE TABLE proved_rows (what TEXT PRIMARY KEY CHECK (what IN ('receipt', 'transfer')), row INTEGER NOT NULL) STRICT`,
  `CREATE TABLE proved_balances (bucket INTEGER PRIMARY KEY, posted_nano INTEGER NOT NULL) STRICT`,
]
