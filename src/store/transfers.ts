import type { Selectable } from 'kysely'
import type { LedgerDb, TransfersTable } from './tables.ts'

export type StoredTransfer = Selectable<TransfersTable>

export const findTransferByRef = (db: LedgerDb, account: number, ref: string): Promise<StoredTransfer | undefined> =>
  db.selectFrom('transfers').selectAll().where('account', '=', account).where('ref', '=', ref).executeTakeFirst()

/** Newest first. The next page ends before the row of this one's last transfer; without a page, all of them. */
export function listTransfersOfAccount(
  db: LedgerDb,
  account: number,
  page?: { readonly before: number; readonly limit: number },
): Promise<StoredTransfer[]> {
  const transfers = db.selectFrom('transfers').selectAll().where('account', '=', account).orderBy('row', 'desc')
  return (page ? transfers.where('row', '<', page.before).limit(page.limit) : transfers).execute()
}
