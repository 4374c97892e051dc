import { listAccounts } from '../db/accounts.ts'
import { isAlreadyThere, UnexpectedChanges } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import { pause, pauseIdly } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'

interface AccountCounterOptions {
  readonly db: LedgerDb
  readonly clock: Clock
  /** How long closed receipts wait to be counted together. */
  readonly intervalMs: number
  /** Nothing is lost: what was not counted is counted later. */
  readonly onFailure: (error: unknown) => void
  /** Counts one slice of these accounts. Returns those that may have more. */
  readonly countSlice: (accounts: readonly number[]) => Promise<readonly number[]>
}

/** Receipts read at a time: about five milliseconds, for which a concurrent batch waits. */
export const RECEIPTS_AT_ONCE = 1000
/** Accounts that share one slice. */
export const ACCOUNTS_AT_ONCE = 200
const RETRY_MAX_MS = 30_000

/** With PostgreSQL several nodes count the same accounts. One of two that count at once is undone. */
export const isCountedElsewhere = (error: unknown): boolean =>
  error instanceof UnexpectedChanges || isAlreadyThere(error)

export type InTurn = <Result>(part: () => Promise<Result>) => Promise<Result>

/** Counts the receipts of accounts some time after they have closed, in slices between which the ledger gets its turn. */
export function createAccountCounter({ db, clock, intervalMs, onFailure, countSlice }: AccountCounterOptions) {
  const noted = new Set<number>()
  let timer: NodeJS.Timeout | undefined
  let failures = 0
  let closed = false
  let last: Promise<unknown> = Promise.resolve()

  /** One at a time, because each count continues where the last one stopped. */
  const inTurn: InTurn = (work) => {
    const mine = last.then(async () => {
      if (closed) throw new Error('The receipts are not counted any more')
      return work()
    })
    last = mine.catch(() => {})
    return mine
  }
  /** After each slice the ledger gets a pause as long as the slice took. False: the time was over before. */
  const countAll = async (accounts: readonly number[], giveUpAt: number): Promise<boolean> => {
    for (let behind = accounts; behind.length > 0; ) {
      if (clock.nowMicros() > giveUpAt) return false
      const begun = clock.nowMicros()
      const slice = behind
      behind = await inTurn(() => countSlice(slice))
      if (behind.length > 0 && giveUpAt === NEVER) await pause((clock.nowMicros() - begun) / 1000)
    }
    return true
  }
  /** Accounts noted meanwhile wait for the next pass; otherwise one pass would follow the other without end. */
  const countNoted = async (giveUpAt = NEVER): Promise<boolean> => {
    const accounts = [...noted]
    noted.clear()
    try {
      for (let from = 0; from < accounts.length; from += ACCOUNTS_AT_ONCE) {
        if (!(await countAll(accounts.slice(from, from + ACCOUNTS_AT_ONCE), giveUpAt))) {
          for (const account of accounts.slice(from)) noteAccount(account)
          return false
        }
      }
      return true
    } catch (error) {
      for (const account of accounts) noted.add(account)
      throw error
    }
  }
  const countEveryAccount = async (giveUpAt = NEVER): Promise<boolean> => {
    for (let after = 0; ; ) {
      const group = (await listAccounts(db, { after, limit: ACCOUNTS_AT_ONCE })).map(({ row }) => row)
      if (group.length > 0 && !(await countAll(group, giveUpAt))) return false
      if (group.length < ACCOUNTS_AT_ONCE) return true
      after = group.at(-1)!
    }
  }
  const countLater = async (): Promise<void> => {
    try {
      await countNoted()
      failures = 0
    } catch (error) {
      if (!closed && !isCountedElsewhere(error)) {
        failures += 1
        onFailure(error)
      }
    }
    timer = undefined
    if (noted.size > 0) arm()
  }
  const arm = (): void => {
    if (timer === undefined && !closed)
      timer = setTimeout(countLater, Math.min(intervalMs * 2 ** failures, RETRY_MAX_MS)).unref()
  }
  const noteAccount = (account: number): void => {
    noted.add(account)
    arm()
  }
  return {
    /** A turn of this account has ended, and is durable. */
    noteAccount,
    inTurn,
    countNoted,
    countEveryAccount,
    /** Counts what the last process left uncounted. */
    async catchUp(prepare: () => Promise<void> = async () => {}): Promise<void> {
      while (!closed) {
        try {
          await prepare()
          await countEveryAccount()
          return
        } catch (error) {
          if (closed) return
          if (isCountedElsewhere(error)) continue
          onFailure(error)
          await pauseIdly(RETRY_MAX_MS)
        }
      }
    },
    isClosed: (): boolean => closed,
    async close(): Promise<void> {
      closed = true
      clearTimeout(timer)
      await last
    },
  }
}

const NEVER = Number.POSITIVE_INFINITY
