import { BUCKET_EXTERNAL } from './migrations/0001-ledger.ts'
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

/** What came in from outside in all, less what went back: the negative of what the outside's own bucket says. */
export async function findIssued(db: LedgerDb): Promise<bigint> {
  const outside = await db
    .selectFrom('buckets')
    .select('posted_nano')
    .where('row', '=', BUCKET_EXTERNAL)
    .executeTakeFirstOrThrow()
  return -outside.posted_nano
}
