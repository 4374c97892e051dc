import { forgetUsage } from '../content/forget-usage.ts'
import {
  addUsage,
  type CountedSlice,
  type CountedUpTo,
  findCountedUpTo,
  listCountedUpTo,
} from '../content/usage-totals.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { LedgerDb } from '../store/tables.ts'
import { type ClosedUsageRow, listReceiptsThatAreThere, sumClosedReceipts } from '../store/usage-slices.ts'

export interface CountUsageDeps {
  readonly db: LedgerDb
  /** The file of contents. */
  readonly content: SqliteFile
}

/** Read from the ledger at a time, so that a batch that comes meanwhile waits for milliseconds. */
const RECEIPTS_AT_ONCE = 2000
/** Of whom each gets its part of them. */
export const ACCOUNTS_AT_ONCE = 200

const NOTHING: CountedUpTo = { movement: 0, closedAt: 0 }

/**
 * Counts what has closed on these accounts since they were last counted, a slice of it at most. Returns those of which
 * there may be more.
 */
export async function countUsage({ db, content }: CountUsageDeps, accounts: readonly number[]): Promise<number[]> {
  const each = Math.floor(RECEIPTS_AT_ONCE / accounts.length)
  const counted = await findCountedUpTo(content, accounts)
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
    [...lasts.values()].map((last) => sliceTo(last, counted)),
    rows,
  )
  return [...counts].filter(([, count]) => count === each).map(([account]) => account)
}

const sliceTo = (
  { account, movement, last_at }: ClosedUsageRow,
  counted: ReadonlyMap<number, CountedUpTo>,
): CountedSlice => ({
  account,
  from: counted.get(account) ?? NOTHING,
  to: { movement, closedAt: last_at },
})

/**
 * Forgets what was counted of books that are not these: one of the two files was put back from a copy. That the last
 * receipt is the same says it of all before it, because none is ever edited. Whoever was counted is asked for, not whoever
 * is in the books: the number of an account that is no more is given to the next one.
 */
export async function forgetForeignUsage({ db, content }: CountUsageDeps): Promise<void> {
  for (let after = 0; ; ) {
    const counted = await listCountedUpTo(content, { after, limit: ACCOUNTS_AT_ONCE })
    const there = new Set(await listReceiptsThatAreThere(db, counted))
    for (const { account } of counted) if (!there.has(account)) await forgetUsage(content, account)
    if (counted.length < ACCOUNTS_AT_ONCE) return
    after = counted.at(-1)!.account
  }
}
