import type { LedgerDb } from './tables.ts'

export interface StoredWallet {
  row: number
  posted_nano: bigint
  held_nano: bigint
}

/** Undefined only for an account that does not exist. */
export const findWallet = (db: LedgerDb, account: number): Promise<StoredWallet | undefined> =>
  db
    .selectFrom('buckets')
    .select(['row', 'posted_nano', 'held_nano'])
    .where('account', '=', account)
    .where('kind', '=', 'wallet')
    .executeTakeFirst()
