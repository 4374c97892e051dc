import { sql } from 'kysely'
import { STRENGTHS } from './people.ts'
import { type AtomicStatement, changeOne, changeRows, type SqlStore, statement } from './sql-store.ts'
import type { LedgerDb, Row } from './tables.ts'

type SealedTotp = Pick<StoredTotp, 'ring_key' | 'sealed'>

export type StoredTotp = Row<'totp_secrets'>
export type StoredPasskey = Row<'passkeys'>

export const findTotp = (db: LedgerDb, person: number) =>
  db.selectFrom('totp_secrets').selectAll().where('person', '=', person).executeTakeFirst()

/** Replaces one that was never confirmed. */
export const totpBeginning = (person: number, { ring_key, sealed }: SealedTotp, now: number) =>
  changeOne(
    `INSERT INTO totp_secrets (person, ring_key, sealed, created_at, last_step, tries_until) VALUES (?, ?, ?, ?, 0, 0)
      ON CONFLICT (person) DO UPDATE SET ring_key = excluded.ring_key, sealed = excluded.sealed,
        created_at = excluded.created_at
      WHERE totp_secrets.confirmed_at IS NULL`,
    ...[person, ring_key, sealed, now],
  )

/** Only while the secret is the one whose code was checked. */
export const totpConfirmation = ({ person, sealed }: StoredTotp, step: number, now: number) =>
  changeOne(
    `UPDATE totp_secrets SET confirmed_at = ?, last_step = ?, tries_until = 0
      WHERE person = ? AND sealed = ? AND confirmed_at IS NULL`,
    ...[now, step, person, sealed],
  )

/** Of two uses of one code one succeeds. */
export const totpUse = ({ person }: Pick<StoredTotp, 'person'>, step: number) =>
  changeOne(
    'UPDATE totp_secrets SET last_step = ?, tries_until = 0 WHERE person = ? AND last_step < ?',
    ...[step, person, step],
  )

/** A try of a code: each takes `costMs`, and it fails while more than `burstMs` are taken. */
export const totpTry = (person: number, { now, costMs, burstMs }: { now: number; costMs: number; burstMs: number }) =>
  changeOne(
    `UPDATE totp_secrets SET tries_until = CASE WHEN tries_until > ? THEN tries_until ELSE ? END + ?
      WHERE person = ? AND tries_until <= ?`,
    ...[now, now, costMs, person, now + burstMs - costMs],
  )

export const totpRemoval = (person: number) =>
  changeOne('DELETE FROM totp_secrets WHERE person = ? AND confirmed_at IS NOT NULL', person)

/** The codes from before end. */
export const recoveryCodesReplacement = (person: number, digests: readonly string[]): AtomicStatement[] => [
  statement('DELETE FROM recovery_codes WHERE person = ?', person),
  { sql: 'INSERT INTO recovery_codes (person, digest) VALUES (?, ?)', rows: digests.map((digest) => [person, digest]) },
]

export const recoveryCodeUse = (person: number, digest: string, now: number) =>
  changeOne(
    'UPDATE recovery_codes SET used_at = ? WHERE person = ? AND digest = ? AND used_at IS NULL',
    ...[now, person, digest],
  )

export const isUnusedRecoveryCode = async (db: LedgerDb, person: number, digest: string): Promise<boolean> =>
  (await db
    .selectFrom('recovery_codes')
    .select('person')
    .where(({ and }) => and({ person, digest }))
    .where('used_at', 'is', null)
    .executeTakeFirst()) !== undefined

/** There are ten at most. */
export const listRecoveryCodes = (db: LedgerDb, person: number) =>
  db.selectFrom('recovery_codes').select('used_at').where('person', '=', person).execute()

/** Codes stand for a factor, and end with the last one. */
export const recoveryCodesEnd = (person: number) =>
  statement(
    `DELETE FROM recovery_codes WHERE person = ?
      AND NOT EXISTS (SELECT 1 FROM totp_secrets WHERE person = ? AND confirmed_at IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM passkeys WHERE person = ?)`,
    ...[person, person, person],
  )

/** Oldest first; `passkeyInsert` bounds their number. */
export const listPasskeys = (db: LedgerDb, person: number) =>
  db.selectFrom('passkeys').selectAll().where('person', '=', person).orderBy('row').execute()

export const findPasskey = (db: LedgerDb, credential: Uint8Array) =>
  db.selectFrom('passkeys').selectAll().where('credential', '=', credential).executeTakeFirst()

type NewPasskey = Omit<StoredPasskey, 'row' | 'last_used_at'>

export const passkeyInsert = (key: NewPasskey, passkeysMax: number) =>
  changeOne(
    `INSERT INTO passkeys (id, person, name, credential, public_key, counter, transports, created_at)
      SELECT ?, ?, ?, ?, ?, ?, ?, ? WHERE (SELECT COUNT(*) FROM passkeys WHERE person = ?) < ?`,
    ...[key.id, key.person, key.name, key.credential, key.public_key, key.counter, key.transports, key.created_at],
    ...[key.person, passkeysMax],
  )

/** Only while the counter is the known one: of two uses at once one succeeds. */
export const passkeyUse = ({ row, counter: known }: StoredPasskey, counter: number, now: number) =>
  changeOne(
    'UPDATE passkeys SET counter = ?, last_used_at = ? WHERE row = ? AND counter = ?',
    ...[counter, now, row, known],
  )

export const passkeyRenaming = ({ row }: Pick<StoredPasskey, 'row'>, name: string) =>
  changeOne('UPDATE passkeys SET name = ? WHERE row = ?', name, row)

export const passkeyRemoval = ({ row }: Pick<StoredPasskey, 'row'>) =>
  changeOne('DELETE FROM passkeys WHERE row = ?', row)

const HAS_FACTOR = `(EXISTS (SELECT 1 FROM totp_secrets WHERE totp_secrets.person = people.row AND confirmed_at IS NOT NULL)
  OR EXISTS (SELECT 1 FROM passkeys WHERE passkeys.person = people.row))`

/** Fails if a person has no second factor and needs one. Two removals at once come one after the other. */
export const factorRemains = (person: number, isNeededByServer: boolean) =>
  changeOne(
    `UPDATE people SET disabled_at = disabled_at WHERE row = ? AND (${HAS_FACTOR} OR (? = 0
      AND NOT EXISTS (SELECT 1 FROM accounts WHERE accounts.row = people.account AND second_factor = 1)))`,
    ...[person, isNeededByServer ? 1 : 0],
  )

/** What a provider has asked for stays. */
export const sessionsWeakened = (person: number) =>
  statement(
    `UPDATE sessions SET strong = 0 WHERE person = ? AND strong = ${STRENGTHS.here}
      AND NOT EXISTS (SELECT 1 FROM people WHERE people.row = ? AND ${HAS_FACTOR})`,
    ...[person, person],
  )

/** Of those of an account who may sign in. */
export const countPeopleWithoutFactor = async (db: LedgerDb, account: number): Promise<number> => {
  const { count } = await db
    .selectFrom('people')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account', '=', account)
    .where('disabled_at', 'is', null)
    .where(sql<boolean>`NOT ${sql.raw(HAS_FACTOR)}`)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Fails if another manager has just done the same. */
export const accountFactorRule = (account: number, isRequired: boolean) =>
  changeOne(
    'UPDATE accounts SET second_factor = ? WHERE row = ? AND second_factor = ?',
    ...[isRequired ? 1 : 0, account, isRequired ? 0 : 1],
  )

/** All that a person has beside the password. */
export const factorsRemoval = (person: number): AtomicStatement[] => [
  statement('DELETE FROM totp_secrets WHERE person = ?', person),
  statement('DELETE FROM passkeys WHERE person = ?', person),
  statement('DELETE FROM recovery_codes WHERE person = ?', person),
]

/** A challenge is answered once: of two answers one fails. */
export const challengeUse = (digest: string, expiresAt: number) =>
  changeOne(
    'INSERT INTO used_challenges (digest, expires_at) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING',
    ...[digest, expiresAt],
  )

export const sweepChallenges = (file: SqlStore, expiredBefore: number) =>
  changeRows(file, 'DELETE FROM used_challenges WHERE expires_at <= ?', [expiredBefore])
