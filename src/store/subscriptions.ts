import type { Selectable } from 'kysely'
import type { LedgerDb, SubscriptionsTable } from './tables.ts'

export type StoredSubscription = Selectable<SubscriptionsTable>

/** The newest one, running or ended. */
export const findSubscription = (db: LedgerDb, account: number): Promise<StoredSubscription | undefined> =>
  db
    .selectFrom('subscriptions')
    .selectAll()
    .where('account', '=', account)
    .orderBy('row', 'desc')
    .limit(1)
    .executeTakeFirst()
