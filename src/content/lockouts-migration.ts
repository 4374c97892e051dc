import type { Migration } from '../sqlite/migrate.ts'

/**
 * Who has used up their tries to sign in, and until when all of them are back: what a restart would forgive otherwise. A
 * name is a keyed digest, because what was typed as an e-mail may be a password.
 */
export const lockoutsMigration: Migration = {
  name: '0004-lockouts',
  statements: [
    `CREATE TABLE lockouts (
      name TEXT PRIMARY KEY,
      until INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID`,
    `CREATE INDEX lockouts_by_end ON lockouts (until)`,
  ],
}
