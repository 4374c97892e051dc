/**
 * Balances that were stored and only ever grew: those of revenue and of what allowances were issued, used and expired. They
 * are sums now, for a number of fixed size overflows one day, and then a whole batch fails. A spend cap becomes a counter
 * with a bound, in one row that its periods share, without transfers. A transfer's reference is unique in its account and kind.
 *
 * Transfers and entries are written anew (SQLite cannot change a UNIQUE). Receipts are not: those from before name the
 * buckets of their caps, which stay as closed rows.
 */
export const spendCountersMigration: readonly string[] = [
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
  // The charge of a request as entries that sum to zero in each unit: out of every bucket that its hold stood on, and into
  // what its unit counts as used: for the wallet that is revenue. A spend cap is a counter, and no side of an entry.
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
  // The end of a turn whose account does not add up waits here, so that the journal can be cleared for the others.
  `CREATE TABLE waiting_ends (
    request_id TEXT PRIMARY KEY,
    ending TEXT NOT NULL
  ) STRICT`,
]
