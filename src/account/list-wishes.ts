import type { LedgerDb } from '../store/tables.ts'
import { listOpenWishes } from '../store/wishes.ts'
import { type WishView, wishView } from './open-wish.ts'
import { done, type Outcome } from './outcome.ts'
import { cutPage, type Page, type PageArgs } from './page-args.ts'
import { readCursor, writeCursor } from './page-cursor.ts'

export interface AccountWish extends WishView {
  readonly account: string
  readonly email: string
}

/**
 * Who has asked for funds and not got any, those who have waited longest first. A page is named by a number, because the
 * wish at its end may be answered before somebody turns it.
 */
export async function listWishes(
  deps: { readonly db: LedgerDb },
  { after, limit }: PageArgs,
): Promise<Outcome<Page<AccountWish>>> {
  const shown = readCursor(after) ?? 0
  if (typeof shown !== 'number') return shown
  const read = await listOpenWishes(deps.db, { after: shown, limit: limit + 1 })
  const { rows, next } = cutPage(read, limit, ({ row }) => row)
  const items = rows.map((row) => ({ account: row.account_id, email: row.email, ...wishView(row) }))
  return done({ items, next: writeCursor(next) })
}
