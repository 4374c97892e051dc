/** What tells this ledger from every other one: the files beside it name it, and are not used with another. */
export const ledgerIdentityMigration: readonly string[] = [
  `INSERT INTO meta (name, value) VALUES ('ledger_id', lower(hex(randomblob(16))))`,
]
