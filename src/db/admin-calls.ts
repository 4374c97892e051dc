import { changeOne, changeRows, type SqlStore } from './sql-store.ts'
import type { LedgerDb, Row } from './tables.ts'

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
