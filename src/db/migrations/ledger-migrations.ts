import type { Migration } from '../sqlite/migrate.ts'
import { allowancesMigration, ledgerMigration } from './0001-and-0002.ts'
import {
  directoriesMigration,
  jobsMigration,
  mailLanesMigration,
  managedMigration,
  noticesMigration,
  paidPeriodsMigration,
  paymentsMigration,
  requiredFactorsMigration,
  runsMigration,
  secondFactorsMigration,
  signOnMigration,
  tagsMigration,
  whoseRunsMigration,
} from './0015-to-0027.ts'

/** Without a CHECK or a default only the schema is written, however many receipts the file has. */
const compactionMigration: readonly string[] = [
  `ALTER TABLE receipts ADD COLUMN tokens_before INTEGER`,
  `ALTER TABLE receipts ADD COLUMN tokens_after INTEGER`,
]

/**
 * Everything that closed or moved on an account gets its number there, with the wallet's balance after it, so that an
 * account's history is read in pages from an index. Existing rows are ordered by time, a transfer before a charge of the
 * same millisecond. A file of 1,000,000 receipts (261 MB) takes 11 to 14 seconds on two cores.
 */
const movementsMigration: readonly string[] = [
  `ALTER TABLE receipts ADD COLUMN movement INTEGER`,
  `ALTER TABLE receipts ADD COLUMN balance_nano INTEGER`,
  `ALTER TABLE transfers ADD COLUMN movement INTEGER`,
  `ALTER TABLE transfers ADD COLUMN balance_nano INTEGER`,
  // The rows are numbered while this is away; it comes back as it was.
  `DROP TRIGGER closed_receipts_are_final`,
  `CREATE TABLE numbered (
    is_receipt INTEGER NOT NULL,
    row INTEGER NOT NULL,
    movement INTEGER NOT NULL,
    balance_nano INTEGER,
    PRIMARY KEY (is_receipt, row)
  ) STRICT, WITHOUT ROWID`,
  `INSERT INTO numbered (is_receipt, row, movement, balance_nano)
    WITH moved AS (
      SELECT 0 AS is_receipt, row, account, at, CASE unit WHEN 'usd' THEN amount_nano END AS delta_nano FROM transfers
      UNION ALL
      SELECT 1, row, account, closed_at, CASE kind WHEN 'wallet' THEN -charge_nano END FROM receipts WHERE state <> 'open'
    )
    SELECT is_receipt, row,
        ROW_NUMBER() OVER in_order,
        CASE WHEN delta_nano IS NOT NULL THEN SUM(delta_nano) OVER in_order END
      FROM moved
      WINDOW in_order AS (PARTITION BY account ORDER BY at, is_receipt, row ROWS UNBOUNDED PRECEDING)`,
  `UPDATE receipts SET movement = numbered.movement, balance_nano = numbered.balance_nano
    FROM numbered WHERE numbered.is_receipt = 1 AND numbered.row = receipts.row`,
  `UPDATE transfers SET movement = numbered.movement, balance_nano = numbered.balance_nano
    FROM numbered WHERE numbered.is_receipt = 0 AND numbered.row = transfers.row`,
  `DROP TABLE numbered`,
  `CREATE TRIGGER closed_receipts_are_final BEFORE UPDATE ON receipts WHEN OLD.state <> 'open'
    BEGIN SELECT RAISE(ABORT, 'a closed receipt is never edited'); END`,
  // A wallet's statement is read without scanning the requests that a plan paid. Two indexes are half as large as one with
  // the kind in every entry. There is none by account alone: with many accounts each entry is a page to write.
  `CREATE UNIQUE INDEX wallet_receipts_by_movement ON receipts (account, movement)
    WHERE kind = 'wallet' AND movement IS NOT NULL`,
  `CREATE UNIQUE INDEX builder_receipts_by_movement ON receipts (account, movement)
    WHERE kind = 'builder' AND movement IS NOT NULL`,
  `CREATE UNIQUE INDEX transfers_by_movement ON transfers (account, unit, movement) WHERE movement IS NOT NULL`,
]

/** People who sign in to the console, and the audit log. Passwords are salted slow hashes, secrets are keyed digests. */
const peopleMigration: readonly string[] = [
  `CREATE TABLE people (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    email TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('owner', 'operator')),
    account INTEGER REFERENCES accounts (row),
    password TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    password_changed_at INTEGER NOT NULL,
    disabled_at INTEGER,
    CHECK (role = 'operator' OR account IS NOT NULL)
  ) STRICT`,
  `CREATE INDEX people_of_account ON people (account, row)`,
  `CREATE INDEX active_people_by_role ON people (role) WHERE disabled_at IS NULL`,
  `CREATE TABLE sessions (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL UNIQUE,
    person INTEGER NOT NULL REFERENCES people (row),
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    confirmed_at INTEGER NOT NULL,
    agent TEXT NOT NULL,
    address TEXT NOT NULL
  ) STRICT`,
  `CREATE INDEX sessions_of_person ON sessions (person, row)`,
  `CREATE INDEX sessions_by_expiry ON sessions (expires_at)`,
  `CREATE INDEX sessions_by_use ON sessions (seen_at)`,
  // Without an email and a person: for the first person of a server.
  `CREATE TABLE invites (
    row INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('owner', 'operator')),
    account INTEGER REFERENCES accounts (row),
    person INTEGER REFERENCES people (row),
    email TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    created_by TEXT NOT NULL
  ) STRICT`,
  `CREATE INDEX invites_by_email ON invites (email)`,
  `CREATE INDEX invites_by_expiry ON invites (expires_at)`,
  // Each row's hash covers the one before it: a row that was changed, taken out or put in breaks the chain.
  `CREATE TABLE audit (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT,
    account INTEGER REFERENCES accounts (row),
    detail TEXT NOT NULL,
    prev_hash BLOB NOT NULL,
    hash BLOB NOT NULL
  ) STRICT`,
  `CREATE INDEX audit_of_account ON audit (account, seq)`,
  `CREATE INDEX audit_of_target ON audit (account, target, seq)`,
  `CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is never edited'); END`,
  `CREATE TRIGGER audit_stays BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is never deleted'); END`,
]

/** Key rotation, redeemable codes and funding requests. A rotated key keeps its row. */
const keysAndCodesMigration: readonly string[] = [
  `ALTER TABLE keys ADD COLUMN former_digest BLOB`,
  `ALTER TABLE keys ADD COLUMN former_shown TEXT`,
  `ALTER TABLE keys ADD COLUMN former_until INTEGER`,
  `CREATE UNIQUE INDEX keys_by_former_digest ON keys (former_digest) WHERE former_digest IS NOT NULL`,
  `ALTER TABLE keys ADD COLUMN playground INTEGER NOT NULL DEFAULT 0`,
  // Two pages that open the playground in the same moment share one.
  `CREATE UNIQUE INDEX one_playground_key ON keys (account, kind) WHERE playground = 1 AND revoked_at IS NULL`,
  // Claimed (redeemed_by) and then credited, in two commits: what stands between them is found by the index.
  `CREATE TABLE codes (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    batch TEXT NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    shown TEXT NOT NULL,
    amount_nano INTEGER NOT NULL CHECK (amount_nano > 0),
    note TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    withdrawn_at INTEGER,
    redeemed_by INTEGER REFERENCES accounts (row),
    redeemed_at INTEGER,
    credited_at INTEGER,
    CHECK ((redeemed_by IS NULL) = (redeemed_at IS NULL)),
    CHECK (redeemed_at IS NULL OR withdrawn_at IS NULL),
    CHECK (credited_at IS NULL OR redeemed_at IS NOT NULL)
  ) STRICT`,
  `CREATE INDEX codes_to_credit ON codes (row) WHERE redeemed_at IS NOT NULL AND credited_at IS NULL`,
  `CREATE TRIGGER claimed_codes_are_final BEFORE UPDATE OF redeemed_by, amount_nano ON codes WHEN OLD.redeemed_by IS NOT NULL
    BEGIN SELECT RAISE(ABORT, 'a code that was redeemed is never given to anybody else'); END`,
  `CREATE TABLE wishes (
    row INTEGER PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (row),
    amount_nano INTEGER NOT NULL CHECK (amount_nano > 0),
    note TEXT NOT NULL,
    at INTEGER NOT NULL,
    answered_at INTEGER
  ) STRICT`,
  `CREATE UNIQUE INDEX one_open_wish ON wishes (account) WHERE answered_at IS NULL`,
  `CREATE INDEX open_wishes ON wishes (row) WHERE answered_at IS NULL`,
  // In the commit of the credit itself, so that no crash leaves a wish open that was fulfilled. A code is no answer.
  `CREATE TRIGGER a_credit_answers_the_wish AFTER INSERT ON transfers
    WHEN NEW.unit = 'usd' AND NEW.kind = 'credit' AND NEW.ref NOT GLOB 'code:*'
    BEGIN UPDATE wishes SET answered_at = NEW.at WHERE account = NEW.account AND answered_at IS NULL; END`,
]

/**
 * Stored balances that only ever grew (revenue, and what allowances were issued, used and expired) become sums, because a
 * number of fixed size overflows one day, and then a whole batch fails. A spend cap becomes a counter in one row that its
 * periods share, without transfers. A transfer's reference is unique in its account and kind.
 *
 * Transfers and entries are rebuilt, because SQLite cannot change a UNIQUE. Older receipts name the buckets of their
 * caps, which stay as closed rows.
 */
const spendCountersMigration: readonly string[] = [
  // What it has counted is carried_nano, from before there were counters, and every receipt from first_receipt on.
  `CREATE TABLE spend_counters (
    row INTEGER PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (row),
    subject TEXT NOT NULL,
    period_start INTEGER NOT NULL,
    period_end INTEGER NOT NULL,
    first_receipt INTEGER NOT NULL,
    carried_nano INTEGER NOT NULL CHECK (carried_nano >= 0),
    bound_nano INTEGER NOT NULL,
    spent_nano INTEGER NOT NULL CHECK (spent_nano >= carried_nano),
    held_nano INTEGER NOT NULL CHECK (held_nano >= 0),
    UNIQUE (account, subject),
    CHECK (spent_nano <= bound_nano - held_nano)
  ) STRICT`,
  `CREATE INDEX spend_counters_by_end ON spend_counters (period_end)`,
  // The newest bucket of a cap that is in use is what its counter goes on from.
  `INSERT INTO spend_counters (account, subject, period_start, period_end, first_receipt, carried_nano, bound_nano,
      spent_nano, held_nano)
    SELECT account, subject, period_start, period_end, 1, granted - posted_nano, granted, granted - posted_nano, held_nano
      FROM (SELECT *, (SELECT COALESCE(SUM(delta_nano), 0) FROM entries WHERE entries.bucket = buckets.row) AS granted
        FROM buckets WHERE row IN (SELECT MAX(row) FROM buckets WHERE kind = 'cap' AND closed_at IS NULL GROUP BY account, subject))`,
  `ALTER TABLE receipts ADD COLUMN caps TEXT`,
  `UPDATE receipts SET
      caps = (SELECT group_concat(substr(subject, 5 + instr(substr(subject, 5), ':')), ' ')
        FROM json_each(receipts.buckets) AS held_on JOIN buckets ON buckets.row = held_on.value AND buckets.kind = 'cap'
          AND buckets.row = (SELECT MAX(newest.row) FROM buckets AS newest WHERE newest.account = buckets.account
            AND newest.subject = buckets.subject AND newest.closed_at IS NULL)),
      buckets = (SELECT json_group_array(held_on.value)
        FROM json_each(receipts.buckets) AS held_on JOIN buckets ON buckets.row = held_on.value AND buckets.kind <> 'cap')
    WHERE state = 'open'`,
  `UPDATE buckets SET posted_nano = 0, held_nano = 0, closed_at = period_end WHERE kind = 'cap' AND closed_at IS NULL`,
  `DROP VIEW usage_entries`,
  `CREATE TABLE new_transfers (
    row INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('credit', 'refund', 'adjustment', 'grant', 'expiry')),
    unit TEXT NOT NULL CHECK (unit IN ('usd', 'quota', 'cap')),
    account INTEGER NOT NULL REFERENCES accounts (row),
    ref TEXT NOT NULL,
    reason TEXT NOT NULL,
    amount_nano INTEGER NOT NULL,
    at INTEGER NOT NULL,
    movement INTEGER,
    balance_nano INTEGER,
    UNIQUE (account, kind, ref),
    CHECK ((unit = 'usd') = (kind IN ('credit', 'refund', 'adjustment')))
  ) STRICT`,
  `CREATE TABLE new_entries (
    transfer INTEGER NOT NULL REFERENCES new_transfers (row),
    seq INTEGER NOT NULL,
    bucket INTEGER NOT NULL REFERENCES buckets (row),
    delta_nano INTEGER NOT NULL,
    PRIMARY KEY (transfer, seq)
  ) STRICT, WITHOUT ROWID`,
  `INSERT INTO new_transfers (row, kind, unit, account, ref, reason, amount_nano, at, movement, balance_nano)
    SELECT row, kind, unit, account, ref, reason, amount_nano, at, movement, balance_nano FROM transfers`,
  // Transfers of caps stay, because they have their numbers among the movements of their accounts; their entries go.
  `INSERT INTO new_entries (transfer, seq, bucket, delta_nano)
    SELECT transfer, seq, bucket, delta_nano FROM entries
      WHERE transfer IN (SELECT row FROM transfers WHERE unit <> 'cap')`,
  `DROP TABLE entries`,
  `DROP TABLE transfers`,
  `ALTER TABLE new_transfers RENAME TO transfers`,
  `ALTER TABLE new_entries RENAME TO entries`,
  `DELETE FROM buckets WHERE row IN (-21, -22, -23)`,
  `UPDATE buckets SET posted_nano = 0 WHERE kind = 'system' AND row <> 1`,
  `CREATE INDEX transfers_of_account ON transfers (account, unit)`,
  `CREATE INDEX entries_of_bucket ON entries (bucket)`,
  `CREATE UNIQUE INDEX transfers_by_movement ON transfers (account, unit, movement) WHERE movement IS NOT NULL`,
  `CREATE TRIGGER entries_are_final BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never edited'); END`,
  `CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never deleted'); END`,
  `CREATE TRIGGER a_credit_answers_the_wish AFTER INSERT ON transfers
    WHEN NEW.unit = 'usd' AND NEW.kind = 'credit' AND NEW.ref NOT GLOB 'code:*'
    BEGIN UPDATE wishes SET answered_at = NEW.at WHERE account = NEW.account AND answered_at IS NULL; END`,
  // As in 0002, without spend caps, which are counters now.
  `CREATE VIEW usage_entries AS
    SELECT receipts.row AS receipt, held_on.value AS bucket, -receipts.charge_nano AS delta_nano
      FROM receipts, json_each(receipts.buckets) AS held_on JOIN buckets ON buckets.row = held_on.value
      WHERE receipts.state = 'settled' AND buckets.unit <> 'cap'
    UNION ALL
    SELECT receipts.row AS receipt, CASE buckets.unit WHEN 'usd' THEN 2 ELSE -12 END AS bucket,
        receipts.charge_nano AS delta_nano
      FROM receipts, json_each(receipts.buckets) AS held_on JOIN buckets ON buckets.row = held_on.value
      WHERE receipts.state = 'settled' AND buckets.unit <> 'cap'`,
  `DELETE FROM proved_balances WHERE bucket < 0 OR bucket IN (SELECT row FROM buckets WHERE kind = 'cap')`,
  // Ends of turns whose account does not balance wait here, so that the journal can be cleared.
  `CREATE TABLE waiting_ends (
    request_id TEXT PRIMARY KEY,
    ending TEXT NOT NULL
  ) STRICT`,
]

/** Files beside the ledger name it, and are not used with another. */
const ledgerIdentityMigration: readonly string[] = [
  `INSERT INTO meta (name, value) VALUES ('ledger_id', lower(hex(randomblob(16))))`,
]

/** Says which rows were recorded before an operator set ledger time back; they count as no later than `set_back_to`. */
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
  `CREATE INDEX audit_by_target ON audit (target, seq) WHERE target IS NOT NULL`,
  // For lists of accounts, which count the keys that are not revoked.
  `CREATE INDEX live_keys_of_account ON keys (account) WHERE revoked_at IS NULL`,
]

/**
 * Verification reads balances in slices by account, and keeps only the balance of the outside and the sums of periods with
 * many receipts. Open requests are found by account, and windows that ended long ago by their end.
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

/** Keys of the management API, which belong to no account. */
const adminKeysMigration: readonly string[] = [
  `CREATE TABLE admin_keys (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    shown TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
  ) STRICT`,
]

/** Idempotency keys of the management API. */
const adminCallsMigration: readonly string[] = [
  `CREATE TABLE admin_calls (
    scope TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    request_id TEXT NOT NULL,
    acted INTEGER NOT NULL,
    at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX admin_calls_by_expiry ON admin_calls (expires_at)`,
]

/**
 * Members and teams of an account, and the caps of people, teams and new keys. A key belongs to one person and one team for life, so
 * that its receipts do. The tables of people are rebuilt, because SQLite cannot change a CHECK.
 */
const organisationsMigration: readonly string[] = [
  `CREATE TABLE new_people (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    email TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer', 'operator')),
    account INTEGER REFERENCES accounts (row),
    password TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    password_changed_at INTEGER NOT NULL,
    disabled_at INTEGER,
    CHECK (role = 'operator' OR account IS NOT NULL)
  ) STRICT`,
  `INSERT INTO new_people (row, id, email, role, account, password, created_at, password_changed_at, disabled_at)
    SELECT row, id, email, role, account, password, created_at, password_changed_at, disabled_at FROM people`,
  `CREATE TABLE new_sessions (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    digest BLOB NOT NULL UNIQUE,
    person INTEGER NOT NULL REFERENCES new_people (row),
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    confirmed_at INTEGER NOT NULL,
    agent TEXT NOT NULL,
    address TEXT NOT NULL
  ) STRICT`,
  `INSERT INTO new_sessions (row, id, digest, person, created_at, seen_at, expires_at, confirmed_at, agent, address)
    SELECT row, id, digest, person, created_at, seen_at, expires_at, confirmed_at, agent, address FROM sessions`,
  `CREATE TABLE new_invites (
    row INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer', 'operator')),
    account INTEGER REFERENCES accounts (row),
    person INTEGER REFERENCES new_people (row),
    email TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    created_by TEXT NOT NULL
  ) STRICT`,
  `INSERT INTO new_invites (row, digest, role, account, person, email, created_at, expires_at, used_at, created_by)
    SELECT row, digest, role, account, person, email, created_at, expires_at, used_at, created_by FROM invites`,
  `DROP TABLE invites`,
  `DROP TABLE sessions`,
  `DROP TABLE people`,
  `ALTER TABLE new_people RENAME TO people`,
  `ALTER TABLE new_sessions RENAME TO sessions`,
  `ALTER TABLE new_invites RENAME TO invites`,
  `CREATE INDEX people_of_account ON people (account, row)`,
  `CREATE INDEX active_people_by_role ON people (role) WHERE disabled_at IS NULL`,
  `CREATE INDEX sessions_of_person ON sessions (person, row)`,
  `CREATE INDEX sessions_by_expiry ON sessions (expires_at)`,
  `CREATE INDEX sessions_by_use ON sessions (seen_at)`,
  `CREATE INDEX invites_by_email ON invites (email)`,
  `CREATE INDEX invites_by_expiry ON invites (expires_at)`,
  `CREATE TABLE teams (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account INTEGER NOT NULL REFERENCES accounts (row),
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    archived_at INTEGER
  ) STRICT`,
  `CREATE INDEX teams_of_account ON teams (account, row)`,
  `CREATE UNIQUE INDEX live_team_names ON teams (account, name) WHERE archived_at IS NULL`,
  `ALTER TABLE keys ADD COLUMN person INTEGER REFERENCES people (row)`,
  `ALTER TABLE keys ADD COLUMN team INTEGER REFERENCES teams (row)`,
  `CREATE INDEX keys_of_person ON keys (person, row) WHERE person IS NOT NULL`,
  `CREATE INDEX keys_of_team ON keys (team, row) WHERE team IS NOT NULL`,
  `CREATE TABLE spend_caps (
    account INTEGER NOT NULL REFERENCES accounts (row),
    holder TEXT NOT NULL,
    name TEXT NOT NULL,
    amount_nano INTEGER NOT NULL CHECK (amount_nano > 0),
    PRIMARY KEY (account, holder, name)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE cap_raises (
    account INTEGER NOT NULL REFERENCES accounts (row),
    subject TEXT NOT NULL,
    amount_nano INTEGER NOT NULL CHECK (amount_nano > 0),
    until INTEGER NOT NULL,
    PRIMARY KEY (account, subject)
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX cap_raises_by_end ON cap_raises (until)`,
]

/** Members of an account do not share a playground key, whose receipts are theirs. 0 stands for the account. */
const playgroundsMigration: readonly string[] = [
  `DROP INDEX one_playground_key`,
  `CREATE UNIQUE INDEX one_playground_key ON keys (account, kind, coalesce(person, 0))
    WHERE playground = 1 AND revoked_at IS NULL`,
]

export const ledgerMigrations: readonly Migration[] = [
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
  { name: '0011-admin-keys', statements: adminKeysMigration },
  { name: '0012-admin-calls', statements: adminCallsMigration },
  { name: '0013-organisations', statements: organisationsMigration },
  { name: '0014-playgrounds', statements: playgroundsMigration },
  { name: '0015-second-factors', statements: secondFactorsMigration },
  { name: '0016-sign-on', statements: signOnMigration },
  { name: '0017-notices', statements: noticesMigration },
  { name: '0018-managed-entries', statements: managedMigration },
  { name: '0019-payments', statements: paymentsMigration },
  { name: '0020-tags', statements: tagsMigration },
  { name: '0021-required-factors', statements: requiredFactorsMigration },
  { name: '0022-runs', statements: runsMigration },
  { name: '0023-asked-values', statements: [`ALTER TABLE receipts ADD COLUMN asked TEXT`] },
  { name: '0024-paid-periods', statements: paidPeriodsMigration },
  { name: '0025-directories-and-mail', statements: [...directoriesMigration, ...mailLanesMigration] },
  { name: '0026-whose-runs', statements: whoseRunsMigration },
  { name: '0027-jobs', statements: jobsMigration },
]
