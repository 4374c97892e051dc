import type { Selectable } from 'kysely'
import type { LedgerDb, TransfersTable } from './tables.ts'

export type StoredTransfer = Selectable<TransfersTable>

export const findTransferByRef = (db: LedgerDb, account: number, ref: string): Promise<StoredTransfer | undefined> =>
  db.selectFrom('transfers').selectAll().where('account', '=', account).where('ref', '=', ref).executeTakeFirst()

/** Newest first. The next page ends before the row of this one's last transfer. */
export const listTransfersOfAccount = (
  db: LedgerDb,
  account: number,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<StoredTransfer[]> =>
  db
    .selectFrom('transfers')
    .selectAll()
    .where('account', '=', account)
    .where('row', '<', before)
    .orderBy('row', 'desc')
    .limit(limit)
    .execute()
