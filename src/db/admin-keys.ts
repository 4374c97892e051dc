import type { PageBefore } from './sql.ts'
import { changeOne } from './sql-store.ts'
import type { LedgerDb, Row } from './tables.ts'

/** With the id of its account. */
export type StoredAdminKey = NonNullable<Awaited<ReturnType<typeof findAdminKeyById>>>

type NewAdminKey = Omit<Row<'admin_keys'>, 'row' | 'revoked_at' | 'last_used_at'>

const INSERT = `INSERT INTO admin_keys (id, name, digest, shown, scopes, created_at, created_by, expires_at, account)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

export const adminKeyInsert = (key: NewAdminKey) =>
  changeOne(
    INSERT,
    ...[key.id, key.name, key.digest, key.shown, key.scopes],
    ...[key.created_at, key.created_by, key.expires_at, key.account],
  )

const STILL_VALID = `UPDATE admin_keys SET last_used_at = last_used_at
  WHERE id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`

/** Fails if the key is revoked or has expired. A concurrent revocation waits for the transaction, or the transaction for it. */
export const adminKeyStillValid = (id: string, now: number) => changeOne(STILL_VALID, id, now)

const adminKeys = (db: LedgerDb) =>
  db
    .selectFrom('admin_keys')
    .leftJoin('accounts', 'accounts.row', 'admin_keys.account')
    .selectAll('admin_keys')
    .select('accounts.id as account_id')

/** An index lookup takes the same time however much of a digest was guessed right. */
export const findAdminKeyByDigest = (db: LedgerDb, digest: Uint8Array) =>
  adminKeys(db).where('admin_keys.digest', '=', digest).executeTakeFirst()

export const findAdminKeyById = (db: LedgerDb, id: string) =>
  adminKeys(db).where('admin_keys.id', '=', id).executeTakeFirst()

/** Newest first, with the revoked ones. */
export const listAdminKeys = (db: LedgerDb, { before, limit }: PageBefore) =>
  adminKeys(db).where('admin_keys.row', '<', before).orderBy('admin_keys.row', 'desc').limit(limit).execute()

/** The keys that these actors have made. */
export const listAdminKeysMadeBy = (db: LedgerDb, actors: readonly string[]) =>
  adminKeys(db).where('admin_keys.created_by', 'in', actors).orderBy('admin_keys.row').execute()

/** Keeps the time of an earlier revocation: then no row changes. */
export const adminKeyRevocation = (row: number, now: number) =>
  changeOne('UPDATE admin_keys SET revoked_at = ? WHERE row = ? AND revoked_at IS NULL', now, row)

export async function touchAdminKey(db: LedgerDb, row: number, now: number): Promise<void> {
  await db.updateTable('admin_keys').set({ last_used_at: now }).where('row', '=', row).execute()
}
