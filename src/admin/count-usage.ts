import { listAccountIds, listAccountRows } from '../db/accounts.ts'
import { addRefusedTurns, forgetRefusedTurns, type RefusedTurns } from '../db/content/refused-turns.ts'
import {
  addUsage,
  type CountedUpTo,
  findCountedUpTo,
  forgetUsage,
  listCountedUpTo,
} from '../db/content/usage-totals.ts'
import { type ClosedUsageRow, listReceiptsThatAreThere, QUARTER_MS, sumClosedReceipts } from '../db/receipts.ts'
import type { SqlStore } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import type { Caller } from '../model/caller.ts'
import type { AccountId } from '../model/ids.ts'
import type { ProblemCode } from '../model/problem.ts'
import {
  ACCOUNTS_AT_ONCE,
  createAccountCounter,
  type InTurn,
  isCountedElsewhere,
  RECEIPTS_AT_ONCE,
} from './count-accounts.ts'

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
  /** Called when a turn of this account has ended, and is durable. */
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

/** The longest that a reader waits for the count. */
const WAIT_MAX_MICROS = 2_000_000
/** After this many interrupted reads, counting stops for the next one. */
const READS_MAX = 3

export function createUsageKeeper(options: UsageKeeperOptions): UsageKeeper {
  const { clock, onFailure } = options
  const foreign = createForeignUsageCheck(options)
  const counter = createAccountCounter({
    ...options,
    async countSlice(accounts) {
      await foreign.forget(accounts)
      return countUsage(options, accounts)
    },
  })
  const { inTurn } = counter
  let reading: Promise<unknown> = Promise.resolve()
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
    noteAccount: counter.noteAccount,
    readUpToDate(account, read) {
      const mine = countWithinLimit(account).then((asOf) => readConsistently(account, () => read(asOf)))
      // Without its result: otherwise each promise would retain all earlier results.
      reading = Promise.allSettled([reading, mine]).then(() => {})
      return mine
    },
    catchUp: () => counter.catchUp(() => foreign.forgetAll(inTurn)),
    async close() {
      await counter.close()
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
