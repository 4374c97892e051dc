/**
 * Whoever signs in to the console, and what was done. Passwords stand here as salted slow hashes, the secrets of sessions
 * and invitations as digests under the key ring: who steals the file can use neither.
 */
export const peopleMigration: readonly string[] = [
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
  // Without an email and a person it is the one for whoever comes first.
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
