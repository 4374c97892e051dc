import { listAccountIds, listAccountRows, listAccounts } from '../db/accounts.ts'
import {
  addUsage,
  type CountedUpTo,
  findCountedUpTo,
  forgetUsage,
  listCountedUpTo,
} from '../db/content/usage-totals.ts'
import type { SqliteFile } from '../db/sqlite/sqlite-file.ts'
import type { LedgerDb } from '../db/tables.ts'
import { type ClosedUsageRow, listReceiptsThatAreThere, sumClosedReceipts } from '../db/usage-slices.ts'
import type { Change } from '../ledger/state/state.ts'
import { pause, pauseIdly } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountId } from '../model/ids.ts'

interface UsageKeeperDeps extends CountUsageDeps {
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
      const begun = clock.nowMicros()
      behind = await inTurn(async () => {
        await own.make(behind)
        return countUsage(deps, behind)
      })
      if (behind.length > 0) await pause((clock.nowMicros() - begun) / 1000)
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

interface CountUsageDeps {
  readonly db: LedgerDb
  /** The file of contents. */
  readonly content: SqliteFile
}

/** Read from the ledger at a time: some five milliseconds, which a batch that comes meanwhile waits for. */
const RECEIPTS_AT_ONCE = 1000
/** Of whom each gets its part of them. */
const ACCOUNTS_AT_ONCE = 200

const NOTHING: CountedUpTo = { movement: 0, closedAt: 0 }

/**
 * Counts what has closed on these accounts since they were last counted, a slice of it at most. Returns those of which
 * there may be more.
 */
async function countUsage({ db, content }: CountUsageDeps, accounts: readonly number[]): Promise<number[]> {
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

/** By row numbers of the ledger: content.db knows an account by its id, which belongs to nobody else in any other ledger. */
async function idsOf(db: LedgerDb, accounts: readonly number[]): Promise<ReadonlyMap<number, AccountId>> {
  const rows = await listAccountIds(db, accounts)
  return new Map(rows.map(({ row, id }) => [row, id as AccountId]))
}

async function countedUpTo(
  content: SqliteFile,
  ids: ReadonlyMap<number, AccountId>,
): Promise<ReadonlyMap<number, CountedUpTo>> {
  const found = await findCountedUpTo(content, [...ids.values()])
  return new Map([...ids].flatMap(([row, id]) => (found.has(id) ? [[row, found.get(id)!] as const] : [])))
}

/** How far one account is counted; undefined where nothing of it is. */
async function findCounted({ db, content }: CountUsageDeps, account: number): Promise<CountedUpTo | undefined> {
  return (await countedUpTo(content, await idsOf(db, [account]))).get(account)
}

/**
 * Those of these accounts of which something was counted in books that are not these: one of the two files was put back from
 * a copy. That the last receipt is the same says it of all before it, because none is ever edited.
 */
async function listForeignUsage({ db, content }: CountUsageDeps, accounts: readonly number[]): Promise<number[]> {
  const counted = await countedUpTo(content, await idsOf(db, accounts))
  const last = [...counted].map(([account, upTo]) => ({ account, ...upTo }))
  const there = new Set(await listReceiptsThatAreThere(db, last))
  return [...counted.keys()].filter((account) => !there.has(account))
}

type InTurn = <Result>(part: () => Promise<Result>) => Promise<Result>

/** Remembers of which accounts it is known that what was counted is of these books. */
interface OwnUsage {
  /** Looks at those that nobody has looked at yet, and forgets what is foreign. Before anything of them is counted or read. */
  make(accounts: readonly number[]): Promise<void>
  /**
   * Goes through the accounts that were counted, and forgets what is counted of accounts that the ledger has not. `inTurn` is asked for each part of it, so that nobody waits for the whole.
   */
  makeAll(inTurn: InTurn): Promise<void>
}

function createOwnUsage(deps: CountUsageDeps): OwnUsage {
  const known = new Set<number>()
  let allKnown = false

  /** Returns those that are foreign. */
  const look = async (accounts: readonly number[]): Promise<readonly number[]> => {
    const unknown = accounts.filter((account) => !known.has(account))
    if (allKnown || unknown.length === 0) return []
    const foreign = await listForeignUsage(deps, unknown)
    for (const account of unknown) if (!foreign.includes(account)) known.add(account)
    return foreign
  }
  const make = async (accounts: readonly number[]): Promise<void> => {
    for (const account of await look(accounts)) {
      const [found] = await listAccountIds(deps.db, [account])
      if (found !== undefined) await forgetUsage(deps.content, found.id as AccountId)
      known.add(account)
    }
  }
  return {
    make,
    async makeAll(inTurn) {
      for (let after = 0; ; ) {
        const counted = await inTurn(() => listCountedUpTo(deps.content, { after, limit: ACCOUNTS_AT_ONCE }))
        const ids = counted.map(({ account }) => account)
        const there = await listAccountRows(deps.db, ids)
        const known = new Set(there.map(({ id }) => id))
        for (const id of ids) if (!known.has(id)) await inTurn(() => forgetUsage(deps.content, id))
        const foreign = await inTurn(() => look(there.map(({ row }) => row)))
        // Looked at again in its turn: whoever asked for it meanwhile has had it forgotten, and counted anew.
        for (const account of foreign) await inTurn(() => make([account]))
        if (counted.length < ACCOUNTS_AT_ONCE) break
        after = counted.at(-1)!.owner
      }
      allKnown = true
      known.clear()
    },
  }
}

interface ReadUpToDateDeps extends CountUsageDeps {
  readonly clock: Clock
  readonly own: OwnUsage
  /** Does something while nobody else counts. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>
  readonly onFailure: (error: unknown) => void
}

/** Whoever asks waits no longer than that for what is not counted yet. */
const WAIT_MAX_MICROS = 2_000_000
/** Who is disturbed so often has nothing counted meanwhile. */
const READS_MAX = 3

/** Counts what has closed on the account until now, as much as can be waited for, and has it read. */
async function readUpToDate<Result>(
  deps: ReadUpToDateDeps,
  account: number,
  read: (asOf: number) => Promise<Result>,
): Promise<Result> {
  const asOf = await countPatiently(deps, account)
  return readOneMoment(deps, account, () => read(asOf))
}

async function countPatiently(deps: ReadUpToDateDeps, account: number): Promise<number> {
  const { clock, own, inTurn } = deps
  const patientUntil = clock.nowMicros() + WAIT_MAX_MICROS
  for (;;) {
    const asOf = await inTurn(async () => {
      await own.make([account])
      const counted = await countedNow(deps, account)
      return counted ?? (clock.nowMicros() < patientUntil ? undefined : await countedUntil(deps, account))
    })
    if (asOf !== undefined) return asOf
  }
}

/** Undefined when there is more to count. What cannot be written now is counted later, and what was counted can be read. */
async function countedNow(deps: ReadUpToDateDeps, account: number): Promise<number | undefined> {
  const now = deps.clock.now()
  try {
    return (await countUsage(deps, [account])).length === 0 ? now : undefined
  } catch (error) {
    deps.onFailure(error)
    return countedUntil(deps, account)
  }
}

const countedUntil = async (deps: ReadUpToDateDeps, account: number): Promise<number> =>
  (await findCounted(deps, account))?.closedAt ?? 0

/**
 * Has several questions about what an account has used answered from one moment, without keeping anybody from counting:
 * they are asked again if more was counted meanwhile. Nothing of an account changes without its last receipt.
 */
async function readOneMoment<Result>(
  deps: ReadUpToDateDeps,
  account: number,
  ask: () => Promise<Result>,
): Promise<Result> {
  const lastCounted = async () => (await findCounted(deps, account))?.movement
  for (let reads = 0; reads < READS_MAX; reads++) {
    const before = await lastCounted()
    const result = await ask()
    if ((await lastCounted()) === before) return result
  }
  return deps.inTurn(ask)
}
