/**
 * An account may require a second factor. `strong`: the person has given one in this session, or their provider has asked for it.
 * Secrets of authenticator apps name the key that seals them, which was the first one of the database until now.
 */
export const requiredFactorsMigration: readonly string[] = [
  'ALTER TABLE accounts ADD COLUMN second_factor INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE sessions ADD COLUMN strong INTEGER NOT NULL DEFAULT 0',
  `UPDATE sessions SET strong = 1 WHERE means IN ('code', 'recovery_code', 'passkey')`,
  `ALTER TABLE totp_secrets ADD COLUMN ring_key TEXT NOT NULL DEFAULT ''`,
  `UPDATE totp_secrets SET ring_key = COALESCE((SELECT value FROM meta WHERE name = 'sealed_by'), '')`,
]

/** Budgets of runs. What they have used is in `spend_counters`. */
export const runsMigration: readonly string[] = [
  `CREATE TABLE runs (
    row INTEGER PRIMARY KEY,
    account INTEGER NOT NULL REFERENCES accounts (row),
    id TEXT NOT NULL,
    parent INTEGER REFERENCES runs (row),
    max_nano INTEGER CHECK (max_nano > 0),
    max_requests INTEGER CHECK (max_requests > 0),
    max_tokens INTEGER CHECK (max_tokens > 0),
    opened_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    UNIQUE (account, id)
  ) STRICT`,
  `CREATE INDEX runs_by_parent ON runs (parent) WHERE parent IS NOT NULL`,
  `CREATE INDEX runs_by_end ON runs (ends_at)`,
]

/** The period that an invoice has paid for. */
export const paidPeriodsMigration: readonly string[] = [
  `ALTER TABLE payments ADD COLUMN purchase INTEGER`,
  `ALTER TABLE payments ADD COLUMN period_end INTEGER`,
  `CREATE INDEX payments_of_purchase ON payments (purchase) WHERE purchase IS NOT NULL`,
]
