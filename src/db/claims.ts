import type { SqliteFile } from './sqlite/sqlite-file.ts'
import type { LedgerDb } from './tables.ts'

export interface StoredClaim {
  receipt: number
  request_id: string
  scope: string
  fingerprint: string
  state: 'running' | 'kept' | 'not-kept'
  expires_at: number
}

const COLUMNS = ['claims.receipt', 'receipts.request_id', 'claims.scope', 'claims.fingerprint', 'claims.state'] as const

export const findClaim = (db: LedgerDb, scope: string): Promise<StoredClaim | undefined> =>
  db
    .selectFrom('claims')
    .innerJoin('receipts', 'receipts.row', 'claims.receipt')
    .select([...COLUMNS, 'claims.expires_at'])
    .where('claims.scope', '=', scope)
    .executeTakeFirst()

/** What is still known of the idempotency key that a request came with. */
export const findClaimOfReceipt = (
  db: LedgerDb,
  receipt: number,
): Promise<Pick<StoredClaim, 'state' | 'expires_at'> | undefined> =>
  db.selectFrom('claims').select(['state', 'expires_at']).where('receipt', '=', receipt).executeTakeFirst()

/** Keys whose time is over and whose request has ended: oldest first, a few at a time. */
export async function forgetExpiredClaims(file: SqliteFile, now: number, limit: number): Promise<number> {
  const [forgotten = 0] = await file.atomic([{ sql: FORGET_EXPIRED, rows: [[now, limit]] }])
  return forgotten
}

const FORGET_EXPIRED = `DELETE FROM claims WHERE receipt IN
  (SELECT receipt FROM claims WHERE expires_at <= ? AND state <> 'running' ORDER BY expires_at LIMIT ?)`
