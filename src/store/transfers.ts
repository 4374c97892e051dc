import type { Selectable } from 'kysely'
import type { LedgerDb, TransfersTable } from './tables.ts'

export type StoredTransfer = Selectable<TransfersTable>

/** An operator's transfer of dollars: a refund may have the reference of a credit. */
export const findTransferByRef = (
  db: LedgerDb,
  account: number,
  kind: 'credit' | 'refund' | 'adjustment',
  ref: string,
): Promise<StoredTransfer | undefined> =>
  db
    .selectFrom('transfers')
    .selectAll()
    .where('account', '=', account)
    .where('kind', '=', kind)
    .where('ref', '=', ref)
    .executeTakeFirst()

/** What moved on the wallet by the operator's word, newest first. The next page ends before the row of this one's last transfer. */
export const listTransfersOfAccount = (
  db: LedgerDb,
  account: number,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<StoredTransfer[]> =>
  db
    .selectFrom('transfers')
    .selectAll()
    .where('account', '=', account)
    .where('unit', '=', 'usd')
    .where('row', '<', before)
    .orderBy('row', 'desc')
    .limit(limit)
    .execute()
