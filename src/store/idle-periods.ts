import { sql } from 'kysely'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { LedgerDb, SpendCountersTable } from './tables.ts'

interface EndedBefore {
  readonly endedBefore: number
  readonly limit: number
}

export interface IdleWindow {
  row: number
  account: number
  subject: string
}

/** Windows in force that ended before, with nothing held on them, of accounts that add up. The one that ended first comes first. */
export async function listIdleWindows(db: LedgerDb, { endedBefore, limit }: EndedBefore): Promise<IdleWindow[]> {
  const { rows } = await sql<IdleWindow>`SELECT buckets.row, buckets.account, subject
    FROM buckets INDEXED BY live_windows_by_end CROSS JOIN accounts ON accounts.row = buckets.account
    WHERE kind = 'window' AND closed_at IS NULL AND period_end < ${endedBefore} AND held_nano = 0 AND frozen_at IS NULL
    ORDER BY period_end LIMIT ${limit}`.execute(db)
  return rows
}

export type ForgottenCounter = Pick<SpendCountersTable, 'account' | 'subject' | 'period_start'>

const FORGET_COUNTERS = `DELETE FROM spend_counters WHERE (account, subject) IN
    (SELECT account, subject FROM spend_counters WHERE period_end < ? AND held_nano = 0 ORDER BY period_end LIMIT ?)
  RETURNING account, subject, period_start`

/** Counters of spend caps whose period ended before, and in which nothing is held. The next use of a cap writes its row again. */
export const forgetIdleCounters = (
  file: SqliteFile,
  { endedBefore, limit }: EndedBefore,
): Promise<readonly ForgottenCounter[]> => file.all<ForgottenCounter>(FORGET_COUNTERS, [endedBefore, limit])
