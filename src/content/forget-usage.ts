import type { SqliteFile } from '../sqlite/sqlite-file.ts'

const SERIES_OF = 'SELECT series FROM usage_series WHERE account = ? ORDER BY series'

/** So that it can be counted from the first receipt. Series by series, so that nobody waits behind all of them. */
export async function forgetUsage(file: SqliteFile, account: number): Promise<void> {
  // No receipt closed then: should this end in its middle, the rest is foreign to any books that are put back.
  await file.atomic([{ sql: 'UPDATE usage_upto SET closed_at = -1 WHERE account = ?', rows: [[account]] }])
  for (const { series } of await file.all(SERIES_OF, [account])) {
    await file.atomic([{ sql: 'DELETE FROM usage WHERE series = ?', rows: [[series as number]] }])
  }
  // Last, because one that is not whole has to be found again.
  await file.atomic([
    { sql: 'DELETE FROM usage_series WHERE account = ?', rows: [[account]] },
    { sql: 'DELETE FROM usage_upto WHERE account = ?', rows: [[account]] },
  ])
}
