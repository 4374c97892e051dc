/**
 * The proof of the books reads balances in slices, account by account, and keeps no balance of each any more: only
 * that of the outside world, and for windows and spend caps with many receipts what those came to. Open
 * requests are found by account. Windows that ended long ago are found by their end, to be closed.
 */
export const proofsMigration: readonly string[] = [
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
