import type { Selectable } from 'kysely'
import { SIDES } from '../books/sides.ts'
import type { LedgerDb, SpendCountersTable } from './tables.ts'

/** What came in from outside in all, less what went back: the negative of what the outside's own bucket says. */
export async function findIssued(db: LedgerDb): Promise<bigint> {
  const outside = await db
    .selectFrom('buckets')
    .select('posted_nano')
    .where('row', '=', SIDES.usd.issued)
    .executeTakeFirstOrThrow()
  return -outside.posted_nano
}

/** What an account draws on: its wallet, and every window that is not closed. Oldest first. */
export interface LiveBucket {
  row: number
  kind: 'wallet' | 'window'
  subject: string
  period_start: number | null
  period_end: number | null
  posted_nano: bigint
  held_nano: bigint
  /** All that was ever put in by transfers: for a window, what was granted. */
  granted_nano: bigint
}

export const listLiveBuckets = (db: LedgerDb, account: number): Promise<LiveBucket[]> =>
  db
    .selectFrom('buckets')
    .select(['row', 'subject', 'period_start', 'period_end', 'posted_nano', 'held_nano'])
    .select(({ ref }) => ref('kind').$castTo<'wallet' | 'window'>().as('kind'))
    .select(({ selectFrom, fn, val }) =>
      fn
        .coalesce(
          selectFrom('entries')
            .select(({ fn: sums }) => sums.sum<bigint>('delta_nano').as('sum'))
            .whereRef('entries.bucket', '=', 'buckets.row')
            .where('buckets.kind', '!=', 'wallet'),
          val(0n),
        )
        .as('granted_nano'),
    )
    .where('account', '=', account)
    .where('closed_at', 'is', null)
    .orderBy('row')
    .execute()

export const listSpendCounters = (db: LedgerDb, account: number): Promise<Selectable<SpendCountersTable>[]> =>
  db.selectFrom('spend_counters').selectAll().where('account', '=', account).execute()

export interface StoredBucket {
  row: number
  kind: 'wallet' | 'window' | 'cap' | 'system'
  subject: string
  period_start: number | null
  period_end: number | null
}

/** Closed ones too, in the order in which they were made. */
export const listBuckets = (db: LedgerDb, rows: readonly number[]): Promise<StoredBucket[]> =>
  db
    .selectFrom('buckets')
    .select(['row', 'kind', 'subject', 'period_start', 'period_end'])
    .where('row', 'in', rows)
    .orderBy('row')
    .execute()
