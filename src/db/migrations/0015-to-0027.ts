/**
 * Payments by card. A step of a payment is one movement on the wallet: the first one credits it, later ones take back what was
 * refunded or disputed.
 */
export const paymentsMigration: readonly string[] = [
  `CREATE TABLE payments (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account INTEGER NOT NULL REFERENCES accounts (row),
    kind TEXT NOT NULL CHECK (kind IN ('top_up', 'automatic', 'plan')),
    state TEXT NOT NULL CHECK (state IN ('open', 'failed', 'expired', 'paid')),
    amount_nano INTEGER NOT NULL CHECK (amount_nano >= 0),
    received_nano INTEGER,
    refunded_nano INTEGER NOT NULL DEFAULT 0,
    disputed_nano INTEGER NOT NULL DEFAULT 0,
    dispute TEXT,
    dispute_at INTEGER NOT NULL DEFAULT 0,
    owed_nano INTEGER NOT NULL DEFAULT 0,
    plan TEXT,
    session TEXT,
    intent TEXT,
    invoice TEXT UNIQUE,
    receipt_url TEXT,
    failure TEXT,
    created_at INTEGER NOT NULL,
    paid_at INTEGER,
    saves_card INTEGER NOT NULL DEFAULT 0,
    settled INTEGER NOT NULL DEFAULT 1,
    version INTEGER NOT NULL DEFAULT 1
  ) STRICT`,
  `CREATE INDEX payments_of_account ON payments (account, row)`,
  `CREATE INDEX payments_by_intent ON payments (intent) WHERE intent IS NOT NULL`,
  `CREATE INDEX open_payments ON payments (row) WHERE state = 'open'`,
  `CREATE INDEX unsettled_payments ON payments (row) WHERE settled = 0`,
  `CREATE INDEX owed_payments ON payments (row) WHERE owed_nano > 0`,
  `CREATE INDEX automatic_payments ON payments (account, created_at) WHERE kind = 'automatic'`,
  `CREATE UNIQUE INDEX one_automatic_payment ON payments (account) WHERE kind = 'automatic' AND state = 'open'`,
  `CREATE TABLE payment_steps (
    payment INTEGER NOT NULL REFERENCES payments (row),
    step INTEGER NOT NULL,
    delta_nano INTEGER NOT NULL,
    at INTEGER NOT NULL,
    done_at INTEGER,
    PRIMARY KEY (payment, step)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE payment_events (
    id TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX payment_events_by_time ON payment_events (at)`,
  `CREATE TABLE payers (
    account INTEGER PRIMARY KEY REFERENCES accounts (row),
    customer TEXT,
    method TEXT,
    card TEXT,
    automatic INTEGER NOT NULL DEFAULT 0,
    below_nano INTEGER NOT NULL DEFAULT 0,
    add_nano INTEGER NOT NULL DEFAULT 0,
    month_nano INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    failure TEXT,
    failed_at INTEGER,
    next_at INTEGER NOT NULL DEFAULT 0,
    version INTEGER NOT NULL DEFAULT 1
  ) STRICT`,
  `CREATE INDEX automatic_payers ON payers (account) WHERE automatic = 1`,
  `CREATE TABLE plan_purchases (
    row INTEGER PRIMARY KEY,
    subscription TEXT NOT NULL UNIQUE,
    account INTEGER NOT NULL REFERENCES accounts (row),
    plan TEXT NOT NULL,
    status TEXT,
    cancels INTEGER NOT NULL DEFAULT 0,
    status_at INTEGER NOT NULL DEFAULT 0,
    paid_until INTEGER NOT NULL DEFAULT 0,
    assigned_until INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    version INTEGER NOT NULL DEFAULT 1
  ) STRICT`,
  `CREATE INDEX plan_purchases_of_account ON plan_purchases (account, row)`,
]

/** Notices, where they are sent, and what is still to be sent. The last indexes find what is worth one. */
export const noticesMigration: readonly string[] = [
  `CREATE TABLE notices (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    once TEXT NOT NULL UNIQUE,
    event TEXT NOT NULL,
    account INTEGER REFERENCES accounts (row),
    person INTEGER REFERENCES people (row),
    facts TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT`,
  `CREATE INDEX notices_of_account ON notices (account, row) WHERE account IS NOT NULL`,
  `CREATE INDEX notices_of_person ON notices (person, row) WHERE person IS NOT NULL`,
  `CREATE INDEX notices_of_operators ON notices (row) WHERE account IS NULL`,
  `CREATE INDEX notices_by_age ON notices (at)`,
  `CREATE TABLE notice_reads (
    person INTEGER NOT NULL REFERENCES people (row),
    notice INTEGER NOT NULL REFERENCES notices (row),
    PRIMARY KEY (person, notice)
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX reads_of_notice ON notice_reads (notice)`,
  `CREATE TABLE notice_settings (
    account INTEGER PRIMARY KEY REFERENCES accounts (row),
    low_balance_nano INTEGER CHECK (low_balance_nano > 0)
  ) STRICT`,
  `CREATE TABLE notice_preferences (
    person INTEGER PRIMARY KEY REFERENCES people (row),
    mail INTEGER NOT NULL CHECK (mail IN (0, 1)),
    language TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE webhooks (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account INTEGER REFERENCES accounts (row),
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    ring_key TEXT NOT NULL,
    secret BLOB NOT NULL,
    former_ring_key TEXT,
    former_secret BLOB,
    former_until INTEGER,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    failing_since INTEGER,
    state TEXT NOT NULL CHECK (state IN ('on', 'off', 'failed'))
  ) STRICT`,
  `CREATE INDEX webhooks_of_account ON webhooks (account, row)`,
  `CREATE TABLE notice_deliveries (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    event TEXT NOT NULL,
    notice INTEGER REFERENCES notices (row),
    webhook INTEGER REFERENCES webhooks (row),
    recipient TEXT,
    language TEXT,
    ring_key TEXT,
    sealed BLOB,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'failed')),
    attempts INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    status INTEGER,
    error TEXT,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    CHECK ((webhook IS NULL) <> (recipient IS NULL))
  ) STRICT`,
  `CREATE INDEX deliveries_to_send ON notice_deliveries (next_at) WHERE state = 'waiting'`,
  `CREATE INDEX deliveries_of_webhook ON notice_deliveries (webhook, row) WHERE webhook IS NOT NULL`,
  `CREATE INDEX deliveries_to_recipient ON notice_deliveries (recipient, created_at) WHERE recipient IS NOT NULL`,
  `CREATE INDEX deliveries_of_notice ON notice_deliveries (notice) WHERE notice IS NOT NULL`,
  `CREATE INDEX deliveries_by_age ON notice_deliveries (created_at)`,
  `CREATE INDEX live_keys_by_expiry ON keys (expires_at) WHERE expires_at IS NOT NULL AND revoked_at IS NULL`,
  `CREATE INDEX subscriptions_by_end ON subscriptions (ends_at) WHERE ends_at IS NOT NULL`,
  `CREATE INDEX receipts_with_shortfall ON receipts (row) WHERE shortfall_nano > 0`,
]

/** Second factors of people, passkeys, how each session signed in, and the addresses from which a key may be used. */
export const secondFactorsMigration: readonly string[] = [
  `ALTER TABLE keys ADD COLUMN addresses TEXT`,
  `ALTER TABLE sessions ADD COLUMN means TEXT NOT NULL DEFAULT 'password'`,
  `CREATE TABLE totp_secrets (
    person INTEGER PRIMARY KEY REFERENCES people (row),
    sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    confirmed_at INTEGER,
    last_step INTEGER NOT NULL,
    tries_until INTEGER NOT NULL
  ) STRICT`,
  `CREATE TABLE recovery_codes (
    person INTEGER NOT NULL REFERENCES people (row),
    digest TEXT NOT NULL,
    used_at INTEGER,
    PRIMARY KEY (person, digest)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE passkeys (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    person INTEGER NOT NULL REFERENCES people (row),
    name TEXT NOT NULL,
    credential BLOB NOT NULL UNIQUE,
    public_key BLOB NOT NULL,
    counter INTEGER NOT NULL,
    transports TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER
  ) STRICT`,
  `CREATE INDEX passkeys_of_person ON passkeys (person, row)`,
  `CREATE TABLE used_challenges (
    digest TEXT PRIMARY KEY,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX used_challenges_by_expiry ON used_challenges (expires_at)`,
]

/** Identities of single sign-on, and the users and groups of SCIM. An admin key of SCIM is for one account. */
export const signOnMigration: readonly string[] = [
  `ALTER TABLE admin_keys ADD COLUMN account INTEGER REFERENCES accounts (row)`,
  `CREATE TABLE identities (
    row INTEGER PRIMARY KEY,
    person INTEGER NOT NULL REFERENCES people (row),
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (issuer, subject),
    UNIQUE (person, issuer)
  ) STRICT`,
  `CREATE TABLE sign_on_uses (
    digest BLOB PRIMARY KEY,
    expires_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX sign_on_uses_by_expiry ON sign_on_uses (expires_at)`,
  `CREATE TABLE scim_users (
    person INTEGER PRIMARY KEY REFERENCES people (row),
    account INTEGER NOT NULL REFERENCES accounts (row),
    external_id TEXT,
    given_name TEXT,
    family_name TEXT,
    display_name TEXT,
    deleted_at INTEGER
  ) STRICT`,
  `CREATE INDEX scim_users_by_external_id ON scim_users (account, external_id) WHERE external_id IS NOT NULL`,
  `CREATE TABLE scim_groups (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account INTEGER NOT NULL REFERENCES accounts (row),
    name TEXT NOT NULL,
    external_id TEXT,
    team INTEGER REFERENCES teams (row),
    created_at INTEGER NOT NULL,
    UNIQUE (account, name)
  ) STRICT`,
  `CREATE INDEX scim_groups_of_account ON scim_groups (account, row)`,
  `CREATE TABLE scim_members (
    of_group INTEGER NOT NULL REFERENCES scim_groups (row),
    person INTEGER NOT NULL REFERENCES people (row),
    PRIMARY KEY (of_group, person)
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX scim_members_by_person ON scim_members (person, of_group)`,
]

/**
 * What operators manage beside the configuration file. Rows are only added: the newest of a name is the entry, without one it was
 * retired. `effective_from` is later than `created_at` for announced prices.
 */
export const managedMigration: readonly string[] = [
  `CREATE TABLE managed_entries (
    row INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('upstream', 'model', 'plan', 'price')),
    name TEXT NOT NULL,
    entry TEXT,
    ring_key TEXT,
    sealed BLOB,
    effective_from INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    CHECK ((ring_key IS NULL) = (sealed IS NULL))
  ) STRICT`,
  `CREATE INDEX managed_entries_by_name ON managed_entries (kind, name, row)`,
]

/** A closed request is found by each of its tags, in the order in which requests closed. */
export const tagsMigration: readonly string[] = [
  `ALTER TABLE receipts ADD COLUMN tags TEXT`,
  `CREATE TABLE receipt_tags (
    account INTEGER NOT NULL,
    tag TEXT NOT NULL,
    movement INTEGER NOT NULL,
    PRIMARY KEY (account, tag, movement)
  ) STRICT, WITHOUT ROWID`,
  // A move between databases brings the rows before the receipts.
  ...['INSERT', 'UPDATE'].map(
    (change) => `CREATE TRIGGER tags_of_${change.toLowerCase()}d_receipt AFTER ${change} ON receipts
      WHEN NEW.tags IS NOT NULL AND NEW.movement IS NOT NULL
      BEGIN INSERT OR IGNORE INTO receipt_tags (account, tag, movement)
        SELECT NEW.account, value, NEW.movement FROM json_each(NEW.tags); END`,
  ),
]

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

/**
 * Each change by a directory counts up `scim_version`, so that of two at once the later one reads again. `deactivated_at`: when the
 * directory has disabled the person, whom only then it may enable.
 */
export const directoriesMigration: readonly string[] = [
  'ALTER TABLE accounts ADD COLUMN scim_version INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE scim_users ADD COLUMN deactivated_at INTEGER',
]

/** The account that a mail is about, whose mails are bounded together. */
export const mailLanesMigration: readonly string[] = [
  'ALTER TABLE notice_deliveries ADD COLUMN mail_account INTEGER',
  `CREATE INDEX invitations_of_account ON notice_deliveries (mail_account, created_at) WHERE event = 'invitation'`,
]

/**
 * `run` of a key: whether its requests need a run, or which budget each conversation gets; `step_down`: its cheaper model near a cap. `person` of a run: whose key began it, because
 * a member sees only those.
 */
export const whoseRunsMigration: readonly string[] = [
  'ALTER TABLE keys ADD COLUMN run TEXT',
  'ALTER TABLE keys ADD COLUMN step_down TEXT',
  'ALTER TABLE runs ADD COLUMN person INTEGER',
  'CREATE INDEX runs_of_account ON runs (account)',
  'CREATE INDEX runs_of_person ON runs (person) WHERE person IS NOT NULL',
]

/** The runs of CI jobs, whose keys are not stored. */
export const jobsMigration: readonly string[] = [
  'ALTER TABLE runs ADD COLUMN key INTEGER',
  'ALTER TABLE runs ADD COLUMN tags TEXT',
]
