import { listAccountIds, listAccountRows } from '../db/accounts.ts'
import {
  addServed,
  findServedPosition,
  findServedUpTo,
  forgetLaneCalls,
  forgetServed,
  LANE_KEPT_MS,
  listServedUpTo,
} from '../db/content/served-totals.ts'
import type { CountedUpTo } from '../db/content/usage-totals.ts'
import { listReceiptsThatAreThere } from '../db/receipts.ts'
import {
  findSliceEnds,
  sumLaneCalls,
  sumModelMeasures,
  sumReceiptLatencies,
  sumServedReceipts,
} from '../db/served-receipts.ts'
import type { SqlStore } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountId } from '../model/ids.ts'
import { ACCOUNTS_AT_ONCE, createAccountCounter, isCountedElsewhere, RECEIPTS_AT_ONCE } from './count-accounts.ts'

interface ServedCounterOptions {
  readonly db: LedgerDb
  readonly content: SqlStore
  readonly clock: Clock
  /** How long closed receipts wait to be counted together. */
  readonly intervalMs: number
  /** Other nodes close receipts of the same accounts. */
  readonly isShared: boolean
  /** Nothing is lost: what was not counted is counted later. */
  readonly onFailure: (error: unknown) => void
}

/** What a report was read from. */
export interface ServedRead {
  /** Everything that closed until then is counted if it `isComplete`. */
  readonly asOf: number
  readonly isComplete: boolean
}

/** Keeps the totals of the operators' overview, the calls of lanes and the speed of models in content.db. They follow the ledger, as usage does. */
export interface ServedCounter {
  /** A turn of this account has ended. */
  noteAccount(account: number): void
  /** Counts what has closed until now, within a time limit, then calls `read`, which sees the totals of one moment. */
  readUpToDate<Result>(read: (read: ServedRead) => Promise<Result>): Promise<Result>
  /** Counts what the last process left uncounted. */
  catchUp(): Promise<void>
  /** Deletes calls of lanes that nothing shows any more. */
  sweep(): Promise<void>
  close(): Promise<void>
}

/** The longest that a reader waits for the count. */
const WAIT_MAX_MICROS = 2_000_000
const READS_MAX = 3
const NOTHING: CountedUpTo = { movement: 0, closedAt: 0 }

export function createServedCounter(options: ServedCounterOptions): ServedCounter {
  const { content, clock, isShared, onFailure } = options
  let isOfThisLedger = false
  let isCaughtUp = false
  const counter = createAccountCounter({
    ...options,
    async countSlice(accounts) {
      if (!isOfThisLedger) {
        if (!(await areOfLedger(options))) await forgetServed(content)
        isOfThisLedger = true
      }
      return countServed(options, accounts)
    },
  })
  const countEveryAccount = async (giveUpAt: number): Promise<boolean> => {
    const isDone = await counter.countEveryAccount(giveUpAt)
    isCaughtUp ||= isDone
    return isDone
  }
  /** Counts for a reader. A failed write is retried later; what was counted before can be read. */
  const countForReader = async (): Promise<boolean> => {
    const giveUpAt = clock.nowMicros() + WAIT_MAX_MICROS
    while (clock.nowMicros() < giveUpAt) {
      try {
        return await (isShared || !isCaughtUp ? countEveryAccount(giveUpAt) : counter.countNoted(giveUpAt))
      } catch (error) {
        if (counter.isClosed()) throw error
        if (isCountedElsewhere(error)) continue
        onFailure(error)
        return false
      }
    }
    return false
  }

  return {
    noteAccount: counter.noteAccount,
    async readUpToDate(read) {
      const asOf = clock.now()
      const isComplete = await countForReader()
      for (let reads = 1; reads < READS_MAX; reads++) {
        const before = await findServedPosition(content)
        const result = await read({ asOf, isComplete })
        if ((await findServedPosition(content)) === before) return result
      }
      // Nothing is counted in this process meanwhile.
      return counter.inTurn(() => read({ asOf, isComplete }))
    },
    async catchUp() {
      await counter.catchUp()
      isCaughtUp = !counter.isClosed()
    },
    sweep: () => forgetLaneCalls(content, clock.now() - LANE_KEPT_MS),
    close: counter.close,
  }
}

type Files = Pick<ServedCounterOptions, 'db' | 'content' | 'clock'>

/** Counts what has closed on these accounts, one slice at most. Returns the accounts that may have more. */
async function countServed({ db, content, clock }: Files, accounts: readonly number[]): Promise<readonly number[]> {
  const each = Math.floor(RECEIPTS_AT_ONCE / accounts.length)
  const ids = new Map((await listAccountIds(db, accounts)).map(({ row, id }) => [row, id as AccountId]))
  const counted = await findServedUpTo(content, [...ids.values()])
  const upToOf = (account: number): CountedUpTo => counted.get(ids.get(account)!) ?? NOTHING
  const begun = [...ids.keys()].map((account) => ({ account, after: upToOf(account).movement }))
  const ends = await findSliceEnds(db, begun, each)
  if (ends.length === 0) return []
  const slices = ends.map(({ account, movement }) => ({ account, after: upToOf(account).movement, upTo: movement }))
  const closed = await sumServedReceipts(db, slices)
  const latencies = await sumReceiptLatencies(db, slices)
  const since = clock.now() - LANE_KEPT_MS
  const { lanes, latencies: laneLatencies } = await sumLaneCalls(db, slices, since)
  const models = await sumModelMeasures(db, slices, since)
  await addServed(content, {
    slices: ends.map(({ account, movement, closed_at: closedAt }) => ({
      account: ids.get(account)!,
      from: upToOf(account),
      to: { movement, closedAt },
    })),
    closed: closed.map((row) => ({ ...row, account: ids.get(row.account)! })),
    ...{ latencies, lanes, laneLatencies, models },
  })
  return ends.filter(({ receipts }) => receipts === each).map(({ account }) => account)
}

/**
 * Whether the totals were counted from this ledger: false after one of the two files was restored from a backup. The last
 * counted receipt proves all receipts before it, because none is ever edited.
 */
async function areOfLedger({ db, content }: Files): Promise<boolean> {
  for (let after = 0; ; ) {
    const counted = await listServedUpTo(content, { after, limit: ACCOUNTS_AT_ONCE })
    const there = await listAccountRows(
      db,
      counted.map(({ account }) => account),
    )
    const rows = new Map(there.map(({ row, id }) => [id, row]))
    if (counted.some(({ account }) => !rows.has(account))) return false
    const last = counted.map(({ account, movement, closedAt }) => ({ account: rows.get(account)!, movement, closedAt }))
    if ((await listReceiptsThatAreThere(db, last)).length < last.length) return false
    if (counted.length < ACCOUNTS_AT_ONCE) return true
    after = counted.at(-1)!.owner
  }
}
