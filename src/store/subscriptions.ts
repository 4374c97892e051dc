import type { Selectable } from 'kysely'
import type { LedgerDb, SubscriptionsTable } from './tables.ts'

export type StoredSubscription = Selectable<SubscriptionsTable>

/** How many accounts are on each plan at this moment. */
export const countRunningPlans = (db: LedgerDb, at: number): Promise<{ plan: string; accounts: number }[]> =>
  db
    .selectFrom('subscriptions')
    .select(({ fn }) => ['plan', fn.countAll<number>().as('accounts')])
    .where('row', 'in', ({ selectFrom }) =>
      selectFrom('subscriptions')
        .select(({ fn }) => fn.max('row').as('row'))
        .groupBy('account'),
    )
    .where(({ eb, or }) => or([eb('ends_at', 'is', null), eb('ends_at', '>', at)]))
    .groupBy('plan')
    .orderBy('plan')
    .execute()

/** The one that counted at a moment: of those that had begun by then, the newest. */
export const findSubscriptionAt = (
  db: LedgerDb,
  account: number,
  at: number,
): Promise<StoredSubscription | undefined> =>
  db
    .selectFrom('subscriptions')
    .selectAll()
    .where('account', '=', account)
    .where('started_at', '<=', at)
    .orderBy('row', 'desc')
    .limit(1)
    .executeTakeFirst()

/** The newest one, running or ended. */
export const findSubscription = (db: LedgerDb, account: number): Promise<StoredSubscription | undefined> =>
  db
    .selectFrom('subscriptions')
    .selectAll()
    .where('account', '=', account)
    .orderBy('row', 'desc')
    .limit(1)
    .executeTakeFirst()
