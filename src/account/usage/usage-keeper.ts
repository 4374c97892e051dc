import type { Change } from '../../books/changes.ts'
import type { Clock } from '../../lib/clock.ts'
import { pause, pauseIdly } from '../../lib/pause.ts'
import { listAccounts } from '../../store/accounts.ts'
import { ACCOUNTS_AT_ONCE, type CountUsageDeps, countUsage } from './count-usage.ts'
import { createOwnUsage } from './own-usage.ts'
import { readUpToDate } from './read-up-to-date.ts'

export interface UsageKeeperDeps extends CountUsageDeps {
  readonly clock: Clock
  /** How long what has closed waits, so that all of it is counted together. */
  readonly intervalMs: number
  /** Nothing is lost by it: what was not counted is counted later. */
  readonly onFailure: (error: unknown) => void
}

/** Keeps the running totals of usage with the ledger. They follow it; nothing that is paid waits for them. */
export interface UsageKeeper {
  /** Told of each batch that is durable. */
  note(changes: readonly Change[]): void
  /**
   * Counts what has closed on the account until now, as much as can be waited for, and has it read: whatever `read` asks
   * belongs together, because it is asked again if more was counted meanwhile. It is told until when everything is counted in.
   */
  readUpToDate<Result>(account: number, read: (asOf: number) => Promise<Result>): Promise<Result>
  /** Counts what was not counted when the last process ended: of a lost file, all there is. */
  catchUp(): Promise<void>
  /** Resolves when nothing is asked of the two files any more. */
  close(): Promise<void>
}

const RETRY_MAX_MS = 30_000

export function createUsageKeeper(deps: UsageKeeperDeps): UsageKeeper {
  const { db, clock } = deps
  const noted = new Set<number>()
  let timer: NodeJS.Timeout | undefined
  let failures = 0
  let closed = false
  const own = createOwnUsage(deps)
  let last: Promise<unknown> = Promise.resolve()
  let reading: Promise<unknown> = Promise.resolve()

  /** One at a time, because each goes on from where the other has stopped. */
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const mine = last.then(async () => {
      if (closed) throw new Error('The usage is not counted any more')
      return work()
    })
    last = mine.catch(() => {})
    return mine
  }
  /** For each slice the ledger is left alone for as long as that has taken. */
  const countAll = async (accounts: readonly number[]): Promise<void> => {
    for (let behind = accounts; behind.length > 0; ) {
      const begun = clock.ticks()
      behind = await inTurn(async () => {
        await own.make(behind)
        return countUsage(deps, behind)
      })
      if (behind.length > 0) await pause((clock.ticks() - begun) / 1000)
    }
  }
  /** What is noted meanwhile waits for the next time: else one pass would follow the other for as long as anybody asks. */
  const countNoted = async (): Promise<void> => {
    const accounts = [...noted]
    noted.clear()
    try {
      for (let from = 0; from < accounts.length; from += ACCOUNTS_AT_ONCE) {
        await countAll(accounts.slice(from, from + ACCOUNTS_AT_ONCE))
      }
      failures = 0
    } catch (error) {
      if (closed) return
      for (const account of accounts) noted.add(account)
      failures += 1
      deps.onFailure(error)
    }
  }
  const arm = (): void => {
    if (timer !== undefined || closed) return
    const waitMs = Math.min(deps.intervalMs * 2 ** failures, RETRY_MAX_MS)
    timer = setTimeout(async () => {
      await countNoted()
      timer = undefined
      if (noted.size > 0) arm()
    }, waitMs).unref()
  }

  return {
    note(changes) {
      for (const change of changes) if (change.kind === 'receipt-closed') noted.add(change.account)
      if (noted.size > 0) arm()
    },
    readUpToDate(account, read) {
      const mine = readUpToDate({ ...deps, own, inTurn }, account, read)
      // Without what was read: each would hold the one before it, and so all that was ever told.
      reading = Promise.allSettled([reading, mine]).then(() => {})
      return mine
    },
    async catchUp() {
      while (!closed) {
        try {
          await own.makeAll(inTurn)
          return await forEachGroup(db, countAll)
        } catch (error) {
          if (closed) return
          deps.onFailure(error)
          await pauseIdly(RETRY_MAX_MS)
        }
      }
    },
    async close() {
      closed = true
      clearTimeout(timer)
      await last
      await reading
    },
  }
}

async function forEachGroup(
  db: UsageKeeperDeps['db'],
  work: (accounts: readonly number[]) => Promise<unknown>,
): Promise<void> {
  for (let after = 0; ; ) {
    const group = (await listAccounts(db, { after, limit: ACCOUNTS_AT_ONCE })).map(({ row }) => row)
    if (group.length > 0) await work(group)
    if (group.length < ACCOUNTS_AT_ONCE) return
    after = group.at(-1)!
  }
}
