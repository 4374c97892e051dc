import type { Insertable, Selectable } from 'kysely'
import type { AccountStatus, KeysTable, LedgerDb } from './tables.ts'

export type StoredKey = Selectable<KeysTable>

/** A new key is neither disabled nor revoked. */
export type NewKey = Omit<Insertable<KeysTable>, 'row' | 'disabled_at' | 'revoked_at'>

export async function insertKey(db: LedgerDb, key: NewKey): Promise<void> {
  await db.insertInto('keys').values(key).execute()
}

/** A key together with the account it speaks for: all that a caller is made of. */
export interface KeyWithAccount extends StoredKey {
  account_id: string
  account_status: AccountStatus
  /** Of the account's newest subscription, running or ended. */
  plan: string | null
  plan_ends_at: number | null
}

/** The index finds the digest, so nothing here takes longer because more of it was guessed right. */
export const findKeyByDigest = (db: LedgerDb, digest: Uint8Array): Promise<KeyWithAccount | undefined> =>
  db
    .selectFrom('keys')
    .innerJoin('accounts', 'accounts.row', 'keys.account')
    .selectAll('keys')
    .leftJoin('subscriptions', (join) =>
      join.on('subscriptions.row', '=', ({ selectFrom }) =>
        selectFrom('subscriptions as newest')
          .select(({ fn }) => fn.max('newest.row').as('row'))
          .whereRef('newest.account', '=', 'keys.account'),
      ),
    )
    .select(['accounts.id as account_id', 'accounts.status as account_status'])
    .select(['subscriptions.plan', 'subscriptions.ends_at as plan_ends_at'])
    .where('keys.digest', '=', digest)
    .executeTakeFirst()

export const findKeyById = (db: LedgerDb, id: string): Promise<StoredKey | undefined> =>
  db.selectFrom('keys').selectAll().where('id', '=', id).executeTakeFirst()

export const findKeyByRow = (db: LedgerDb, row: number): Promise<StoredKey | undefined> =>
  db.selectFrom('keys').selectAll().where('row', '=', row).executeTakeFirst()

/** Oldest first, revoked ones included: what a key has used stays explainable. */
export const listKeysOfAccount = (db: LedgerDb, account: number): Promise<StoredKey[]> =>
  db.selectFrom('keys').selectAll().where('account', '=', account).orderBy('row').execute()

/** What can change about a key. `disabled_at: null` enables it again; nothing undoes a revocation. */
export interface KeyChange {
  readonly name?: string
  readonly disabled_at?: number | null
  readonly revoked_at?: number
  readonly cap_day_nano?: bigint | null
  readonly cap_month_nano?: bigint | null
}

/** False when there is no such key, or it is revoked: that is final, and its time stays the first one. */
export async function updateKey(db: LedgerDb, row: number, change: KeyChange): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('keys')
    .set(change)
    .where('row', '=', row)
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}
