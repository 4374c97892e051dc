import type { Selectable } from 'kysely'
import type { LedgerDb, SubscriptionsTable } from './tables.ts'

export type StoredSubscription = Selectable<SubscriptionsTable>

/** So many accounts at a time: a few milliseconds of the thread of the books. */
const ACCOUNTS_AT_ONCE = 4000

/** How many accounts are on each plan at this moment: added up slice by slice, in the order of plans. */
export async function countRunningPlans(db: LedgerDb, at: number): Promise<{ plan: string; accounts: number }[]> {
  const counts = new Map<string, number>()
  const last = await db
    .selectFrom('subscriptions')
    .select(({ fn }) => fn.max('account').as('account'))
    .executeTakeFirst()
  for (let after = 0; after < (last?.account ?? 0); after += ACCOUNTS_AT_ONCE) {
    for (const { plan, accounts } of await countPlansAmong(db, { after, upTo: after + ACCOUNTS_AT_ONCE, at }))
      counts.set(plan, (counts.get(plan) ?? 0) + accounts)
  }
  return [...counts]
    .map(([plan, accounts]) => ({ plan, accounts }))
    .sort((one, other) => (one.plan < other.plan ? -1 : 1))
}

const countPlansAmong = (
  db: LedgerDb,
  { after, upTo, at }: { readonly after: number; readonly upTo: number; readonly at: number },
): Promise<{ plan: string; accounts: number }[]> =>
  db
    .selectFrom('subscriptions')
    .select(({ fn }) => ['plan', fn.countAll<number>().as('accounts')])
    .where('account', '>', after)
    .where('account', '<=', upTo)
    .where('row', '=', ({ selectFrom }) =>
      selectFrom('subscriptions as newer')
        .select(({ fn }) => fn.max('newer.row').as('row'))
        .whereRef('newer.account', '=', 'subscriptions.account'),
    )
    .where(({ eb, or }) => or([eb('ends_at', 'is', null), eb('ends_at', '>', at)]))
    .groupBy('plan')
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
