/**
 * What owners do with keys by themselves, and what brings money in besides the operator's own hand. A rotated key keeps
 * its row, so that all that hangs on it follows.
 */
export const keysAndCodesMigration: readonly string[] = [
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
  // Whose a code is does not change any more, whoever opens the file by hand.
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
