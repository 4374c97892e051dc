import type { Selectable } from 'kysely'
import {
  type AccountBooks,
  createAccountBooks,
  type PeriodBucket,
  type SpendCounter,
  type Subscription,
} from '../books/books.ts'
import type { AccountRow, BucketRow } from '../model/ids.ts'
import { isFrozen } from '../store/accounts.ts'
import { type LiveBucket, listLiveBuckets, listSpendCounters } from '../store/buckets.ts'
import { findLastMovement } from '../store/movements.ts'
import { findSubscription, type StoredSubscription } from '../store/subscriptions.ts'
import type { LedgerDb, SpendCountersTable } from '../store/tables.ts'

/** Everything that decisions about an account look at, as the file has it. */
export async function loadAccountBooks(db: LedgerDb, account: AccountRow): Promise<AccountBooks> {
  const [buckets, counters, subscription, frozen, movements] = await Promise.all([
    listLiveBuckets(db, account),
    listSpendCounters(db, account),
    findSubscription(db, account),
    isFrozen(db, account),
    findLastMovement(db, account),
  ])
  const wallet = buckets.find(({ kind }) => kind === 'wallet')
  if (!wallet) throw new Error(`Account ${account} has no wallet`)
  const { row, posted_nano: posted, held_nano: held } = wallet
  const books = createAccountBooks(account, { row: row as BucketRow, posted, held })
  // Oldest first: an older period of the same window has been outlived by the next one.
  for (const bucket of buckets) {
    if (bucket.kind !== 'window') continue
    const before = books.periods.get(bucket.subject)
    if (before) books.outlived.add(before)
    books.periods.set(bucket.subject, periodOf(bucket))
  }
  for (const counter of counters) books.counters.set(counter.subject, counterOf(counter))
  books.subscription = subscription && subscriptionOf(subscription)
  books.frozen = frozen
  books.movements = movements
  return books
}

const periodOf = (bucket: LiveBucket): PeriodBucket => ({
  row: bucket.row as BucketRow,
  unit: 'quota',
  subject: bucket.subject,
  start: bucket.period_start ?? 0,
  end: bucket.period_end ?? 0,
  granted: bucket.granted_nano,
  posted: bucket.posted_nano,
  held: bucket.held_nano,
})

const counterOf = (stored: Selectable<SpendCountersTable>): SpendCounter => ({
  subject: stored.subject,
  start: stored.period_start,
  end: stored.period_end,
  firstReceipt: stored.first_receipt,
  carried: stored.carried_nano,
  bound: stored.bound_nano,
  spent: stored.spent_nano,
  held: stored.held_nano,
})

const subscriptionOf = (stored: StoredSubscription): Subscription => ({
  row: stored.row,
  plan: stored.plan,
  billingDay: stored.billing_day,
  startedAt: stored.started_at,
  endsAt: stored.ends_at ?? undefined,
})
