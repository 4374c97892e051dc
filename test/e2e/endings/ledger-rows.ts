import { sql } from 'kysely'
import type { LedgerDb, ReceiptsTable } from '../../../src/db/tables.ts'
import type { Participant } from './participants.ts'

interface BucketRow {
  readonly row: number
  readonly unit: string
  readonly posted_nano: bigint
  readonly held_nano: bigint
  readonly moved_nano: bigint
}

/** Everything of an account that money can be on, and what transfers have moved there: the rest was charged. */
const bucketsOf = (db: LedgerDb, account: string): Promise<BucketRow[]> =>
  db
    .selectFrom('buckets')
    .innerJoin('accounts', 'accounts.row', 'buckets.account')
    .select(['buckets.row', 'buckets.unit', 'buckets.posted_nano', 'buckets.held_nano'])
    .select(
      sql<bigint>`(SELECT COALESCE(SUM(delta_nano), 0) FROM entries WHERE entries.bucket = buckets.row)`.as(
        'moved_nano',
      ),
    )
    .where('accounts.id', '=', account)
    .execute()

/**
 * What does not add up between the receipts of an account and its balances, in words: each wallet or window has paid
 * exactly the charges of the receipts that name it, nothing else has paid, nothing is held and nothing is overdrawn.
 */
export async function faultsInLedger(
  db: LedgerDb,
  { account, kind }: Pick<Participant, 'account' | 'kind'>,
): Promise<string[]> {
  const receipts = await account.receipts()
  const faults: string[] = []
  const unit = kind === 'wallet' ? 'usd' : 'quota'
  for (const bucket of await bucketsOf(db, account.id)) {
    const paid = BigInt(bucket.moved_nano) - bucket.posted_nano
    const charged = chargesOn(receipts, bucket)
    const name = `${bucket.unit} ${bucket.row}`
    if (paid !== charged) faults.push(`${name} has paid ${paid} for receipts of ${charged}`)
    if (bucket.unit !== unit && paid !== 0n) faults.push(`${name} has paid ${paid} for a ${kind} key`)
    if (bucket.held_nano !== 0n) faults.push(`${bucket.held_nano} are held on ${name}`)
    if (bucket.posted_nano < 0n) faults.push(`${name} is overdrawn: ${bucket.posted_nano}`)
  }
  for (const { row, buckets, charge_nano } of receipts)
    if ((charge_nano ?? 0n) > 0n && bucketRows(buckets).length === 0) faults.push(`no bucket has paid receipt ${row}`)
  return faults
}

const bucketRows = (buckets: string): readonly number[] => JSON.parse(buckets)

const chargesOn = (receipts: readonly ReceiptsTable[], bucket: BucketRow): bigint =>
  receipts
    .filter(({ buckets }) => bucketRows(buckets).includes(bucket.row))
    .reduce((sum, { charge_nano }) => sum + (charge_nano ?? 0n), 0n)

/** What the books remember of an account's idempotency keys: one of them at most is used in the matrix. */
export async function claimOf(db: LedgerDb, account: string): Promise<'kept' | 'not-kept' | 'running' | 'free'> {
  const claims = await db
    .selectFrom('claims')
    .innerJoin('receipts', 'receipts.row', 'claims.receipt')
    .innerJoin('accounts', 'accounts.row', 'receipts.account')
    .select('claims.state')
    .where('accounts.id', '=', account)
    .execute()
  if (claims.length > 1) throw new Error(`${claims.length} claims of one key`)
  return claims[0]?.state ?? 'free'
}
