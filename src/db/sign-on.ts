import { type AtomicStatement, changeOne, changeRows, type SqlStore } from './sql-store.ts'
import type { LedgerDb } from './tables.ts'

interface KnownAs {
  readonly issuer: string
  readonly subject: string
}

/** The person that an issuer knows by this subject. */
export const findPersonByIdentity = (db: LedgerDb, { issuer, subject }: KnownAs) =>
  db
    .selectFrom('identities')
    .innerJoin('people', 'people.row', 'identities.person')
    .selectAll('people')
    .where('identities.issuer', '=', issuer)
    .where('identities.subject', '=', subject)
    .executeTakeFirst()

/** One for each issuer, the oldest first. */
export const listIdentities = (db: LedgerDb, person: number) =>
  db.selectFrom('identities').selectAll().where('person', '=', person).orderBy('row').execute()

/** `personId` is an id, because the person may be inserted in the same list. Fails if either has another one. */
export const identityInsert = (personId: string, { issuer, subject }: KnownAs, now: number): AtomicStatement =>
  changeOne(
    `INSERT INTO identities (person, issuer, subject, created_at)
      SELECT row, ?, ?, ? FROM people WHERE id = ? AND disabled_at IS NULL`,
    ...[issuer, subject, now, personId],
  )

export const identityDelete = (row: number): AtomicStatement => changeOne('DELETE FROM identities WHERE row = ?', row)

/** False if the state has come back before, on any node. */
export const useSignOn = async (file: SqlStore, digest: Uint8Array, expiresAt: number): Promise<boolean> =>
  (await changeRows(
    file,
    'INSERT INTO sign_on_uses (digest, expires_at) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING',
    [digest, expiresAt],
  )) === 1

export const sweepSignOnUses = (file: SqlStore, expiredBefore: number) =>
  changeRows(file, 'DELETE FROM sign_on_uses WHERE expires_at <= ?', [expiredBefore])
