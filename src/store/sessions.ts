import type { Selectable } from 'kysely'
import type { AtomicStatement, SqliteFile } from '../sqlite/sqlite-file.ts'
import type { Role, SessionsTable } from './people-tables.ts'
import type { AccountStatus, LedgerDb } from './tables.ts'

export type StoredSession = Selectable<SessionsTable>

/** A session together with whose it is, and the account that they own. */
export interface SessionWithPerson extends StoredSession {
  person_id: string
  email: string
  role: Role
  disabled_at: number | null
  account: number | null
  account_id: string | null
  account_email: string | null
  account_status: AccountStatus | null
}

export const findSessionByDigest = (db: LedgerDb, digest: Uint8Array): Promise<SessionWithPerson | undefined> =>
  db
    .selectFrom('sessions')
    .innerJoin('people', 'people.row', 'sessions.person')
    .leftJoin('accounts', 'accounts.row', 'people.account')
    .selectAll('sessions')
    .select(['people.id as person_id', 'people.email', 'people.role', 'people.disabled_at', 'people.account'])
    .select(['accounts.id as account_id', 'accounts.email as account_email', 'accounts.status as account_status'])
    .where('sessions.digest', '=', digest)
    .executeTakeFirst()

/** Newest first. There are never more than `sessionInsert` leaves. */
export const listSessionsOfPerson = (db: LedgerDb, person: number): Promise<StoredSession[]> =>
  db.selectFrom('sessions').selectAll().where('person', '=', person).orderBy('row', 'desc').execute()

export interface NewSession {
  readonly id: string
  readonly digest: Uint8Array
  readonly now: number
  readonly expiresAt: number
  readonly agent: string
  readonly address: string
}

const INSERT = `INSERT INTO sessions (id, digest, person, created_at, seen_at, expires_at, confirmed_at, agent, address)
  SELECT ?, ?, row, ?, ?, ?, ?, ?, ? FROM people WHERE email = ? AND password = ? AND disabled_at IS NULL`

const MAKE_ROOM = `DELETE FROM sessions WHERE person = (SELECT row FROM people WHERE email = ?) AND row NOT IN
  (SELECT row FROM sessions WHERE person = (SELECT row FROM people WHERE email = ?) ORDER BY row DESC LIMIT ?)`

/**
 * Only for somebody who is not disabled and still has the password that was checked: between the two something may have
 * happened. Where they have as many sessions as they may, the oldest go.
 */
export const sessionInsert = (
  session: NewSession,
  whose: { readonly email: string; readonly password: string },
  sessionsMax: number,
): AtomicStatement[] => {
  const { id, digest, now, expiresAt, agent, address } = session
  const row = [id, digest, now, now, expiresAt, now, agent, address, whose.email, whose.password]
  return [
    { sql: MAKE_ROOM, rows: [[whose.email, whose.email, sessionsMax - 1]] },
    { sql: INSERT, rows: [row], expectChanges: 1 },
  ]
}

export const sessionDelete = (row: number): AtomicStatement => ({
  sql: 'DELETE FROM sessions WHERE row = ?',
  rows: [[row]],
  expectChanges: 1,
})

/** Every session of a person, but for the one whose row is named; rows begin at 1. */
export const sessionsDelete = (person: number, but = 0): AtomicStatement => ({
  sql: 'DELETE FROM sessions WHERE person = ? AND row <> ?',
  rows: [[person, but]],
})

/** From here on another secret opens it, and the password was just given. */
export const sessionRenewal = (row: number, digest: Uint8Array, now: number): AtomicStatement => ({
  sql: 'UPDATE sessions SET digest = ?, confirmed_at = ? WHERE row = ?',
  rows: [[digest, now, row]],
  expectChanges: 1,
})

export async function confirmSession(db: LedgerDb, row: number, now: number): Promise<void> {
  await db.updateTable('sessions').set({ confirmed_at: now }).where('row', '=', row).execute()
}

export async function touchSession(db: LedgerDb, row: number, now: number): Promise<void> {
  await db.updateTable('sessions').set({ seen_at: now }).where('row', '=', row).execute()
}

/** Sessions that open nothing any more. */
export async function sweepSessions(file: SqliteFile, moments: { now: number; idleSince: number }): Promise<void> {
  await file.atomic([
    { sql: 'DELETE FROM sessions WHERE expires_at <= ?', rows: [[moments.now]] },
    { sql: 'DELETE FROM sessions WHERE seen_at <= ?', rows: [[moments.idleSince]] },
  ])
}
