import { addUsage, type CountedUpTo, findCountedUpTo } from '../../content/usage-totals.ts'
import type { AccountId } from '../../model/ids.ts'
import type { SqliteFile } from '../../sqlite/sqlite-file.ts'
import { listAccountIds } from '../../store/accounts.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { type ClosedUsageRow, listReceiptsThatAreThere, sumClosedReceipts } from '../../store/usage-slices.ts'

export interface CountUsageDeps {
  readonly db: LedgerDb
  /** The file of contents. */
  readonly content: SqliteFile
}

/** Read from the ledger at a time: some five milliseconds, which a batch that comes meanwhile waits for. */
const RECEIPTS_AT_ONCE = 1000
/** Of whom each gets its part of them. */
export const ACCOUNTS_AT_ONCE = 200

const NOTHING: CountedUpTo = { movement: 0, closedAt: 0 }

/**
 * Counts what has closed on these accounts since they were last counted, a slice of it at most. Returns those of which
 * there may be more.
 */
export async function countUsage({ db, content }: CountUsageDeps, accounts: readonly number[]): Promise<number[]> {
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
export async function findCounted({ db, content }: CountUsageDeps, account: number): Promise<CountedUpTo | undefined> {
  return (await countedUpTo(content, await idsOf(db, [account]))).get(account)
}

/**
 * Those of these accounts of which something was counted in books that are not these: one of the two files was put back from
 * a copy. That the last receipt is the same says it of all before it, because none is ever edited.
 */
export async function listForeignUsage(
  { db, content }: CountUsageDeps,
  accounts: readonly number[],
): Promise<number[]> {
  const counted = await countedUpTo(content, await idsOf(db, accounts))
  const last = [...counted].map(([account, upTo]) => ({ account, ...upTo }))
  const there = new Set(await listReceiptsThatAreThere(db, last))
  return [...counted.keys()].filter((account) => !there.has(account))
}
