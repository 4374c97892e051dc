import type { AccountRow } from '../model/ids.ts'
import { formatUsd } from '../model/money.ts'
import type { LedgerDb } from '../store/tables.ts'
import { findOpenWish, type StoredWish } from '../store/wishes.ts'
import { isoTime } from './iso-time.ts'

/** What an account has asked the operator for. */
export interface WishView {
  readonly amount: string
  readonly note: string
  readonly at: string
}

export const wishView = ({ amount_nano, note, at }: StoredWish): WishView => ({
  amount: formatUsd(amount_nano),
  note,
  at: isoTime(at),
})

/** Null when there is none, or the operator has answered it with a credit. */
export async function openWish(deps: { readonly db: LedgerDb }, account: AccountRow): Promise<WishView | null> {
  const wish = await findOpenWish(deps.db, account)
  return wish === undefined ? null : wishView(wish)
}
