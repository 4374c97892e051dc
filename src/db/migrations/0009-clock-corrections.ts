/**
 * When an operator has set ledger time back, rows that were recorded before keep the times they have. One row here says
 * which rows those are and what time they count as where rows are searched by time: at most `set_back_to`.
 */
export const clockCorrectionsMigration: readonly string[] = [
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
  // Operators ask what was done to something, whosever it is.
  `CREATE INDEX audit_by_target ON audit (target, seq) WHERE target IS NOT NULL`,
  // A list of accounts counts the keys of each that are not revoked: however many were, it reads these only.
  `CREATE INDEX live_keys_of_account ON keys (account) WHERE revoked_at IS NULL`,
]
