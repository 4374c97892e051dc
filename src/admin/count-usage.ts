import { listAccountIds, listAccountRows, listAccounts } from '../db/accounts.ts'
import { addRefusedTurns, forgetRefusedTurns, type RefusedTurns } from '../db/content/refused-turns.ts'
import {
  addUsage,
  type CountedUpTo,
  findCountedUpTo,
  forgetUsage,
  listCountedUpTo,
} from '../db/content/usage-totals.ts'
import { type ClosedUsageRow, listReceiptsThatAreThere, QUARTER_MS, sumClosedReceipts } from '../db/receipts.ts'
import { isAlreadyThere, type SqlStore, UnexpectedChanges } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Change } from '../ledger/state/state.ts'
import { pause, pauseIdly } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import type { Caller } from '../model/caller.ts'
import type { AccountId } from '../model/ids.ts'
import type { ProblemCode } from '../model/problem.ts'

interface UsageFiles {
  readonly db: LedgerDb
  readonly content: SqlStore
}

interface UsageKeeperOptions extends UsageFiles {
  readonly clock: Clock
  /** How long closed receipts wait to be counted together. */
  readonly intervalMs: number
  /** Nothing is lost: what was not counted is counted later. */
  readonly onFailure: (error: unknown) => void
}

/** Keeps the running totals of usage in content.db. They follow the ledger; nothing that is paid waits for them. */
export interface UsageKeeper {
  /** Called with each durable batch. */
  note(changes: readonly Change[]): void
  /** A turn of this account has ended. */
  noteAccount(account: number): void
  /**
   * Counts what has closed on the account until now, within a time limit, then calls `read` with the time up to which
   * everything is counted. The reads are consistent: `read` is repeated if more was counted meanwhile.
   */
  readUpToDate<Result>(account: number, read: (asOf: number) => Promise<Result>): Promise<Result>
  /** Counts what the last process left uncounted; if content.db was lost, everything. */
  catchUp(): Promise<void>
  /** Resolves when neither file is used any more. */
  close(): Promise<void>
}

const RETRY_MAX_MS = 30_000
/** Receipts read at a time: about five milliseconds, for which a concurrent batch waits. */
const RECEIPTS_AT_ONCE = 1000
/** Accounts that share one slice. */
const ACCOUNTS_AT_ONCE = 200
/** The longest that a reader waits for the count. */
const WAIT_MAX_MICROS = 2_000_000
/** After this many interrupted reads, counting stops for the next one. */
const READS_MAX = 3

/** With PostgreSQL several nodes count the same accounts. One of two that count at once is undone. */
const isCountedElsewhere = (error: unknown): boolean => error instanceof UnexpectedChanges || isAlreadyThere(error)

type InTurn = <Result>(part: () => Promise<Result>) => Promise<Result>

export function createUsageKeeper(options: UsageKeeperOptions): UsageKeeper {
  const { db, clock, onFailure } = options
  const noted = new Set<number>()
  let timer: NodeJS.Timeout | undefined
  let failures = 0
  let closed = false
  const foreign = createForeignUsageCheck(options)
  let last: Promise<unknown> = Promise.resolve()
  let reading: Promise<unknown> = Promise.resolve()

  /** One at a time, because each count continues where the last one stopped. */
  const inTurn: InTurn = (work) => {
    const mine = last.then(async () => {
      if (closed) throw new Error('The usage is not counted any more')
      return work()
    })
    last = mine.catch(() => {})
    return mine
  }
  /** After each slice the ledger gets a pause as long as the slice took. */
  const countAll = async (accounts: readonly number[]): Promise<void> => {
    for (let behind = accounts; behind.length > 0; ) {
      const begun = clock.nowMicros()
      behind = await inTurn(async () => {
        await foreign.forget(behind)
        return countUsage(options, behind)
      })
      if (behind.length > 0) await pause((clock.nowMicros() - begun) / 1000)
    }
  }
  /** Accounts noted meanwhile wait for the next pass; otherwise one pass would follow the other without end. */
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
      // Another node has counted meanwhile.
      if (isCountedElsewhere(error)) return
      failures += 1
      onFailure(error)
    }
  }
  const arm = (): void => {
    const waitMs = Math.min(options.intervalMs * 2 ** failures, RETRY_MAX_MS)
    timer = setTimeout(async () => {
      await countNoted()
      timer = undefined
      if (noted.size > 0 && !closed) arm()
    }, waitMs).unref()
  }
  const noteAccount = (account: number): void => {
    noted.add(account)
    if (timer === undefined && !closed) arm()
  }
  const countEveryAccount = async (): Promise<void> => {
    for (let after = 0; ; ) {
      const group = (await listAccounts(db, { after, limit: ACCOUNTS_AT_ONCE })).map(({ row }) => row)
      if (group.length > 0) await countAll(group)
      if (group.length < ACCOUNTS_AT_ONCE) return
      after = group.at(-1)!
    }
  }
  /** A failed write is retried later; what was counted before can be read. */
  const countOnce = async (account: number): Promise<number | undefined> => {
    const now = clock.now()
    try {
      return (await countUsage(options, [account])).length === 0 ? now : undefined
    } catch (error) {
      if (isCountedElsewhere(error)) return undefined
      onFailure(error)
      return countedUntil(account)
    }
  }
  const countedUntil = async (account: number): Promise<number> => (await findCounted(options, account))?.closedAt ?? 0
  const countWithinLimit = async (account: number): Promise<number> => {
    const giveUpAt = clock.nowMicros() + WAIT_MAX_MICROS
    for (;;) {
      const asOf = await inTurn(async () => {
        await foreign.forget([account])
        const counted = await countOnce(account)
        return counted ?? (clock.nowMicros() < giveUpAt ? undefined : await countedUntil(account))
      })
      if (asOf !== undefined) return asOf
    }
  }
  /** Every change of an account's totals changes its last counted receipt. */
  const readConsistently = async <Result>(account: number, read: () => Promise<Result>): Promise<Result> => {
    const lastCounted = async () => (await findCounted(options, account))?.movement
    for (let reads = 0; reads < READS_MAX; reads++) {
      const before = await lastCounted()
      const result = await read()
      if ((await lastCounted()) === before) return result
    }
    return inTurn(read)
  }

  return {
    note(changes) {
      for (const change of changes) if (change.kind === 'receipt-closed') noteAccount(change.account)
    },
    noteAccount,
    readUpToDate(account, read) {
      const mine = countWithinLimit(account).then((asOf) => readConsistently(account, () => read(asOf)))
      // Without its result: otherwise each promise would retain all earlier results.
      reading = Promise.allSettled([reading, mine]).then(() => {})
      return mine
    },
    async catchUp() {
      while (!closed) {
        try {
          await foreign.forgetAll(inTurn)
          return await countEveryAccount()
        } catch (error) {
          if (closed) return
          onFailure(error)
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

const NOTHING: CountedUpTo = { movement: 0, closedAt: 0 }

/**
 * Counts what has closed on these accounts since the last count, one slice at most. Returns the accounts that may have more.
 */
async function countUsage({ db, content }: UsageFiles, accounts: readonly number[]): Promise<number[]> {
  const each = Math.floor(RECEIPTS_AT_ONCE / accounts.length)
  const ids = await idsOf(db, accounts)
  const counted = await countedUpTo(content, ids)
  const slices = accounts.map((account) => ({ account, after: (counted.get(account) ?? NOTHING).movement }))
  const rows = await sumClosedReceipts(db, slices, each)
  if (rows.length === 0) return []
  const counts = new Map<number, number>()
  const lasts = new Map<number, ClosedUsageRow>()
  for (const row of rows) {
    counts.set(row.account, (counts.get(row.account) ?? 0) + row.requests)
    if (row.movement > (lasts.get(row.account)?.movement ?? 0)) lasts.set(row.account, row)
  }
  await addUsage(
    content,
    [...lasts.values()].map(({ account, movement, last_at: closedAt }) => ({
      account: ids.get(account)!,
      from: counted.get(account) ?? NOTHING,
      to: { movement, closedAt },
    })),
    rows.map((row) => ({ ...row, account: ids.get(row.account)! })),
  )
  return [...counts].filter(([, count]) => count === each).map(([account]) => account)
}

/** By row of the ledger. content.db uses the id, which is unique across ledgers. */
async function idsOf(db: LedgerDb, accounts: readonly number[]): Promise<ReadonlyMap<number, AccountId>> {
  const rows = await listAccountIds(db, accounts)
  return new Map(rows.map(({ row, id }) => [row, id as AccountId]))
}

async function countedUpTo(
  content: SqlStore,
  ids: ReadonlyMap<number, AccountId>,
): Promise<ReadonlyMap<number, CountedUpTo>> {
  const found = await findCountedUpTo(content, [...ids.values()])
  return new Map([...ids].flatMap(([row, id]) => (found.has(id) ? [[row, found.get(id)!] as const] : [])))
}

/** How far one account is counted. */
const findCounted = async ({ db, content }: UsageFiles, account: number): Promise<CountedUpTo | undefined> =>
  (await countedUpTo(content, await idsOf(db, [account]))).get(account)

/**
 * The accounts whose totals come from another ledger, because one of the two files was restored from a backup. The last
 * counted receipt proves all receipts before it, because none is ever edited.
 */
async function listForeignUsage({ db, content }: UsageFiles, accounts: readonly number[]): Promise<number[]> {
  const counted = await countedUpTo(content, await idsOf(db, accounts))
  const last = [...counted].map(([account, upTo]) => ({ account, ...upTo }))
  const there = new Set(await listReceiptsThatAreThere(db, last))
  return [...counted.keys()].filter((account) => !there.has(account))
}

/** Deletes totals that come from another ledger, and remembers which accounts were checked. */
function createForeignUsageCheck({ db, content }: UsageFiles) {
  const checked = new Set<number>()
  let areAllChecked = false

  const listForeign = async (accounts: readonly number[]): Promise<readonly number[]> => {
    const unchecked = accounts.filter((account) => !checked.has(account))
    if (areAllChecked || unchecked.length === 0) return []
    const foreign = await listForeignUsage({ db, content }, unchecked)
    for (const account of unchecked) if (!foreign.includes(account)) checked.add(account)
    return foreign
  }
  /** Checks accounts that were not checked yet. To be called before they are counted or read. */
  const forget = async (accounts: readonly number[]): Promise<void> => {
    for (const account of await listForeign(accounts)) {
      const [found] = await listAccountIds(db, [account])
      if (found !== undefined) await forgetUsage(content, found.id as AccountId)
      checked.add(account)
    }
  }
  return {
    forget,
    /** Checks all counted accounts, and deletes those that the ledger does not have. Others may run between the steps. */
    async forgetAll(inTurn: InTurn): Promise<void> {
      for (let after = 0; ; ) {
        const counted = await inTurn(() => listCountedUpTo(content, { after, limit: ACCOUNTS_AT_ONCE }))
        const ids = counted.map(({ account }) => account)
        const there = await listAccountRows(db, ids)
        const known = new Set(there.map(({ id }) => id))
        for (const id of ids) if (!known.has(id)) await inTurn(() => forgetUsage(content, id))
        const foreign = await inTurn(() => listForeign(there.map(({ row }) => row)))
        // Checked again in its turn: a reader may have had it deleted and counted again meanwhile.
        for (const account of foreign) await inTurn(() => forget([account]))
        if (counted.length < ACCOUNTS_AT_ONCE) break
        after = counted.at(-1)!.owner
      }
      areAllChecked = true
      checked.clear()
    },
  }
}

/**
 * Counts turns that were refused before they began, which leave no receipt. They are counted in memory and written to
 * content.db every few seconds; a crash loses no money.
 */
export interface RefusedTurnCounter {
  note(caller: Pick<Caller, 'accountId' | 'keyId' | 'kind'>, code: ProblemCode): void
  /** Writes the pending counts, so that a following read includes them. */
  flush(): Promise<void>
  /** The first quarter of an hour since 1970 that reports include. */
  firstReported(): number
  /** Deletes counts that no report includes any more. */
  sweep(): Promise<void>
  close(): Promise<void>
}

interface RefusedTurnOptions {
  readonly content: SqlStore
  readonly clock: Pick<Clock, 'now'>
  readonly intervalMs: number
  /** Counts that could not be written are kept for the next attempt. */
  readonly onFailure: (error: unknown) => void
}

/** Keys times reasons. Reached only if the disk fails for long; then the newest names are lost. */
const PENDING_MAX = 20_000
/** A year, and enough to compare a month with the same month a year ago. */
const REPORTED_MS = 400 * 86_400_000
/** Rows per write, so that readers do not wait long. */
const WRITTEN_AT_ONCE = 500

export function createRefusedTurnCounter(options: RefusedTurnOptions): RefusedTurnCounter {
  const pending = new Map<string, { turns: Omit<RefusedTurns, 'count'>; count: number }>()
  let timer: NodeJS.Timeout | undefined
  let writing: Promise<void> = Promise.resolve()
  let closed = false

  const add = (turns: Omit<RefusedTurns, 'count'>, count: number): void => {
    const name = `${turns.key} ${turns.code} ${turns.quarter}`
    const known = pending.get(name)
    if (known) known.count += count
    else if (pending.size < PENDING_MAX) pending.set(name, { turns, count })
  }
  const write = async (): Promise<void> => {
    while (pending.size > 0) {
      const some = [...pending].slice(0, WRITTEN_AT_ONCE)
      for (const [name] of some) pending.delete(name)
      try {
        await addRefusedTurns(
          options.content,
          some.map(([, { turns, count }]) => ({ ...turns, count })),
        )
      } catch (error) {
        for (const [, { turns, count }] of some) add(turns, count)
        options.onFailure(error)
        return arm()
      }
    }
  }
  const flush = (): Promise<void> => {
    writing = writing.then(write)
    return writing
  }
  const arm = (): void => {
    if (timer !== undefined || closed) return
    timer = setTimeout(() => {
      timer = undefined
      void flush()
    }, options.intervalMs).unref()
  }
  const firstReported = (): number => Math.floor((options.clock.now() - REPORTED_MS) / QUARTER_MS)
  return {
    note({ accountId, keyId, kind }, code) {
      const quarter = Math.floor(options.clock.now() / QUARTER_MS)
      add({ account: accountId, key: keyId, kind, code, quarter }, 1)
      arm()
    },
    flush,
    firstReported,
    sweep: () => forgetRefusedTurns(options.content, firstReported()),
    async close() {
      closed = true
      clearTimeout(timer)
      await flush()
    },
  }
}

/** A request whose provider counted more input than the model's `context_tokens` allows. */
export interface CountedBeyond {
  readonly model: string
  readonly counted: number
  readonly context_tokens: number
}

/** The largest inputs beyond `context_tokens` that providers have counted since the server started. */
export interface CountedInputs {
  note(model: { readonly id: string; readonly contextTokens: number }, inputTokens: number): void
  /** Undefined if none exceeds the context that is configured now. */
  largest(model: { readonly id: string; readonly contextTokens: number }): number | undefined
}

/** Bounded by the models of the catalogue. `onLarger` is called with each new maximum. */
export function createCountedInputs(onLarger: (found: CountedBeyond) => void): CountedInputs {
  const largest = new Map<string, number>()
  return {
    note({ id, contextTokens }, inputTokens) {
      if (inputTokens <= contextTokens || inputTokens <= (largest.get(id) ?? 0)) return
      largest.set(id, inputTokens)
      onLarger({ model: id, counted: inputTokens, context_tokens: contextTokens })
    },
    largest({ id, contextTokens }) {
      const counted = largest.get(id)
      return counted !== undefined && counted > contextTokens ? counted : undefined
    },
  }
}
