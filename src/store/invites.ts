import type { Selectable } from 'kysely'
import type { AtomicStatement, SqliteFile } from '../sqlite/sqlite-file.ts'
import type { InvitesTable, Role } from './people-tables.ts'
import type { LedgerDb } from './tables.ts'

export type StoredInvite = Selectable<InvitesTable>

export const findInviteByDigest = (db: LedgerDb, digest: Uint8Array): Promise<StoredInvite | undefined> =>
  db.selectFrom('invites').selectAll().where('digest', '=', digest).executeTakeFirst()

export interface NewInvite {
  readonly digest: Uint8Array
  readonly role: Role
  readonly account: number | null
  readonly person: number | null
  readonly email: string | null
  readonly createdAt: number
  readonly expiresAt: number
  readonly createdBy: string
}

/** A new one takes the place of those that the same e-mail has not used: of several links only the last one opens. */
export const inviteInsert = (invite: NewInvite): AtomicStatement[] => {
  const { digest, role, account, person, email, createdAt, expiresAt, createdBy } = invite
  return [
    inviteWithdrawal(email),
    {
      sql: `INSERT INTO invites (digest, role, account, person, email, created_at, expires_at, created_by)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      rows: [[digest, role, account, person, email, createdAt, expiresAt, createdBy]],
      expectChanges: 1,
    },
  ]
}

export const inviteWithdrawal = (email: string | null): AtomicStatement => ({
  sql: 'DELETE FROM invites WHERE email IS ? AND used_at IS NULL',
  rows: [[email]],
})

/** Every link that somebody has made for others and that still opens: whoever made it knows it. */
export const invitesOfMakerWithdrawal = (createdBy: string, now: number): AtomicStatement => ({
  sql: 'DELETE FROM invites WHERE expires_at > ? AND created_by = ? AND used_at IS NULL',
  rows: [[now, createdBy]],
})

/** Whoever comes first chooses the e-mail; from then on nobody is the first any more, whatever codes are about. */
const IS_OPEN = `used_at IS NULL AND expires_at > ?
  AND (email IS NOT NULL OR NOT EXISTS (SELECT 1 FROM people WHERE people.row > 0))`

/** Once, however many try at the same moment. */
export const inviteUse = (invite: StoredInvite, now: number): AtomicStatement => ({
  sql: `UPDATE invites SET used_at = ? WHERE row = ? AND ${IS_OPEN}`,
  rows: [[now, invite.row, now]],
  expectChanges: 1,
})

/** What has been over for so long that nobody asks about it any more. */
export async function sweepInvites(file: SqliteFile, expiredBefore: number): Promise<void> {
  await file.atomic([{ sql: 'DELETE FROM invites WHERE expires_at <= ?', rows: [[expiredBefore]] }])
}
