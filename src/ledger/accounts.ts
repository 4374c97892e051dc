import type { Selectable } from 'kysely'
import { isFrozen } from '../db/accounts.ts'
import { type LiveBucket, listLiveBuckets, listSpendCounters } from '../db/allowances.ts'
import { findLastMovement } from '../db/statement.ts'
import { findSubscription, type StoredSubscription } from '../db/subscriptions.ts'
import type { LedgerDb, SpendCountersTable } from '../db/tables.ts'
import type { AccountRow, BucketRow } from '../model/ids.ts'
import {
  type AccountState,
  createAccountState,
  type LedgerState,
  type PeriodBucket,
  type SpendCounter,
  type Subscription,
} from './state/state.ts'

/** Brings accounts into memory when they are first needed, and puts away those that nobody has used for a while. */
export interface AccountCache {
  /**
   * Calls `work` with the account's books, in the same step in which they are found in memory: at once where they are
   * there. Nobody works on books that were replaced while they waited.
   */
  withState<Result>(account: AccountRow, work: (ledgerState: AccountState) => Result | Promise<Result>): Promise<Result>
  /** Reads an account again whose books are not what the file has. Whoever works on it waits until `adopt` has put it in. */
  readAgain(account: AccountRow, adopt: () => Promise<void>): Promise<void>
  /** Of an account that is being read again: resolves when that is over, whatever came of it. */
  reading(account: AccountRow): Promise<void> | undefined
  /** Puts idle accounts away while there are more than this many. */
  tidy(accountsMax: number): void
}

interface AccountShelfDeps {
  readonly db: LedgerDb
  readonly ledgerState: LedgerState
  nowMicros(): number
  /** Accounts on which something was decided that the file does not have yet: it would bring them back without it. */
  pendingAccounts(): ReadonlySet<AccountRow>
}

export function createAccountCache(deps: AccountShelfDeps): AccountCache {
  const { ledgerState } = deps
  const loading = new Map<AccountRow, Promise<void>>()
  const usedAt = new Map<AccountRow, number>()
  const rereading = new Map<AccountRow, Promise<void>>()

  const read = async (account: AccountRow): Promise<void> => {
    try {
      const shelved = await loadAccountState(deps.db, account)
      // Between the question and the answer nothing can have moved: money only moves on accounts that are here.
      if (!ledgerState.accounts.has(account)) ledgerState.accounts.set(account, shelved)
    } finally {
      loading.delete(account)
    }
  }

  return {
    async withState(account, work) {
      usedAt.set(account, deps.nowMicros())
      // Whoever waited asks again: the books may have been read anew meanwhile, without it.
      for (;;) {
        const again = rereading.get(account)
        if (again) {
          await again.catch(() => {})
          continue
        }
        const there = ledgerState.accounts.get(account)
        if (there) return work(there)
        const running = loading.get(account) ?? read(account)
        loading.set(account, running)
        await running
      }
    },
    async readAgain(account, adopt) {
      const reading = (rereading.get(account) ?? Promise.resolve()).then(adopt)
      rereading.set(account, reading)
      try {
        await reading
      } finally {
        if (rereading.get(account) === reading) rereading.delete(account)
      }
    },
    reading: (account) => rereading.get(account)?.catch(() => {}),
    tidy(accountsMax) {
      if (ledgerState.accounts.size <= accountsMax) return
      const holding = new Set([...ledgerState.turns.values()].map((turn) => turn.account))
      const unrecorded = deps.pendingAccounts()
      const idleBefore = deps.nowMicros() - IDLE_MICROS
      for (const account of ledgerState.accounts.keys()) {
        if (ledgerState.accounts.size <= accountsMax) break
        if (holding.has(account) || unrecorded.has(account) || (usedAt.get(account) ?? 0) > idleBefore) continue
        ledgerState.accounts.delete(account)
      }
      for (const account of usedAt.keys()) if (!ledgerState.accounts.has(account)) usedAt.delete(account)
    },
  }
}

const IDLE_MICROS = 600_000_000

/** Everything that decisions about an account look at, as the file has it. */
export async function loadAccountState(db: LedgerDb, account: AccountRow): Promise<AccountState> {
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
  const ledgerState = createAccountState(account, { row: row as BucketRow, posted, held })
  // Oldest first: an older period of the same window has been outlived by the next one.
  for (const bucket of buckets) {
    if (bucket.kind !== 'window') continue
    const before = ledgerState.periods.get(bucket.subject)
    if (before) ledgerState.outlived.add(before)
    ledgerState.periods.set(bucket.subject, periodOf(bucket))
  }
  for (const counter of counters) ledgerState.counters.set(counter.subject, counterOf(counter))
  ledgerState.subscription = subscription && subscriptionOf(subscription)
  ledgerState.frozen = frozen
  ledgerState.movements = movements
  return ledgerState
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
