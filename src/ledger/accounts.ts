import type { Selectable } from 'kysely'
import { isFrozen } from '../db/accounts.ts'
import { findSubscription, type LiveBucket, listLiveBuckets, listSpendCounters } from '../db/allowances.ts'
import { findLastMovement } from '../db/statement.ts'
import type { LedgerDb, SpendCountersTable } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountRow, BucketRow } from '../model/ids.ts'
import type { Batcher } from './batcher.ts'
import {
  type AccountState,
  createAccountState,
  type LedgerState,
  type PeriodBucket,
  type SpendCounter,
} from './state/state.ts'

/** Loads accounts into memory on first use, and evicts idle ones. */
export interface AccountCache {
  /**
   * Calls `work` with the account's state in the same step in which the state is found, at once when it is in memory.
   * So `work` never gets a state that was replaced while its caller waited.
   */
  withState<Result>(
    account: AccountRow,
    work: (state: AccountState) => Result | Promise<Result>,
  ): Result | Promise<Result>
  /** Reads an account again whose state does not match the file. Its callers wait until `adopt` has replaced the state. */
  readAgain(account: AccountRow, adopt: () => Promise<void>): Promise<void>
  /** Accounts that are being read again, each until that is over or has failed. */
  readonly rereading: ReadonlyMap<AccountRow, Promise<void>>
  /** Evicts idle accounts while there are more than this many. */
  evict(accountsMax: number): void
}

const IDLE_MICROS = 600_000_000

export function createAccountCache(
  db: LedgerDb,
  ledgerState: LedgerState,
  clock: Pick<Clock, 'nowMicros'>,
  batcher: Pick<Batcher, 'pendingAccounts'>,
): AccountCache {
  const loading = new Map<AccountRow, Promise<void>>()
  const usedAt = new Map<AccountRow, number>()
  const rereading = new Map<AccountRow, Promise<void>>()

  const load = async (account: AccountRow): Promise<void> => {
    try {
      const loaded = await loadAccountState(db, account)
      // Nothing has moved since the query: money only moves on accounts in memory.
      if (!ledgerState.accounts.has(account)) ledgerState.accounts.set(account, loaded)
    } finally {
      loading.delete(account)
    }
  }

  /** Looks the account up again after each wait: the whole state may have been read back meanwhile, without this account. */
  const whenLoaded = async <Result>(
    account: AccountRow,
    work: (state: AccountState) => Result | Promise<Result>,
  ): Promise<Result> => {
    for (;;) {
      const again = rereading.get(account)
      if (again) {
        await again.catch(() => {})
        continue
      }
      const found = ledgerState.accounts.get(account)
      if (found) return work(found)
      const running = loading.get(account) ?? load(account)
      loading.set(account, running)
      await running
    }
  }

  return {
    withState(account, work) {
      usedAt.set(account, clock.nowMicros())
      const found = rereading.has(account) ? undefined : ledgerState.accounts.get(account)
      return found ? work(found) : whenLoaded(account, work)
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
    rereading,
    evict(accountsMax) {
      if (ledgerState.accounts.size <= accountsMax) return
      const holding = new Set([...ledgerState.turns.values()].map((turn) => turn.account))
      const unrecorded = batcher.pendingAccounts()
      const idleBefore = clock.nowMicros() - IDLE_MICROS
      for (const account of ledgerState.accounts.keys()) {
        if (ledgerState.accounts.size <= accountsMax) break
        // Loaded again, an unrecorded account would come back without what was decided on it.
        if (holding.has(account) || unrecorded.has(account) || (usedAt.get(account) ?? 0) > idleBefore) continue
        ledgerState.accounts.delete(account)
      }
      for (const account of usedAt.keys()) if (!ledgerState.accounts.has(account)) usedAt.delete(account)
    },
  }
}

/** Everything that decisions about an account depend on, as the file has it. */
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
  const state = createAccountState(account, { row: row as BucketRow, posted, held })
  // Oldest first: each period is outlived by the next one of the same window.
  for (const bucket of buckets) {
    if (bucket.kind !== 'window') continue
    const before = state.periods.get(bucket.subject)
    if (before) state.endedWithHolds.add(before)
    state.periods.set(bucket.subject, periodOf(bucket))
  }
  for (const counter of counters) state.counters.set(counter.subject, counterOf(counter))
  state.subscription = subscription && {
    row: subscription.row,
    plan: subscription.plan,
    billingDay: subscription.billing_day,
    startedAt: subscription.started_at,
    endsAt: subscription.ends_at ?? undefined,
  }
  state.frozen = frozen
  state.movements = movements
  return state
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
