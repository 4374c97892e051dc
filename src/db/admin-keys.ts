import type { PageBefore } from './sql.ts'
import { changeOne, changeRows, type SqlStore } from './sql-store.ts'
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

/** A request of the management API with an idempotency key. */
export type AdminCall = Row<'admin_calls'>

export const findAdminCall = (db: LedgerDb, scope: string, now: number): Promise<AdminCall | undefined> =>
  db.selectFrom('admin_calls').selectAll().where('scope', '=', scope).where('expires_at', '>', now).executeTakeFirst()

const CLAIM = `INSERT INTO admin_calls (scope, fingerprint, request_id, acted, at, expires_at) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (scope) DO UPDATE SET fingerprint = excluded.fingerprint, request_id = excluded.request_id,
    acted = excluded.acted, at = excluded.at, expires_at = excluded.expires_at
  WHERE admin_calls.expires_at <= excluded.at OR admin_calls.request_id IN (?, ?)`

/** Fails if another request has claimed the scope, unless that has expired or is the one named in `replaces`. */
export const adminCallClaim = (call: AdminCall, replaces: string | undefined) =>
  changeOne(
    CLAIM,
    ...[call.scope, call.fingerprint, call.request_id, call.acted, call.at, call.expires_at],
    ...[call.request_id, replaces ?? call.request_id],
  )

export const sweepAdminCalls = (file: SqlStore, expiredBefore: number) =>
  changeRows(file, 'DELETE FROM admin_calls WHERE expires_at <= ?', [expiredBefore])
