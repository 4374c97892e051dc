import { sql } from 'kysely'
import type { Role } from './people-tables.ts'
import type { PageAfter } from './sql.ts'
import { type AtomicStatement, changeOne, changeRows, type SqlStore, statement } from './sql-store.ts'
import type { LedgerDb, Row } from './tables.ts'

export type StoredPerson = Row<'people'>

export const findPersonById = (db: LedgerDb, id: string) =>
  db.selectFrom('people').selectAll().where('id', '=', id).executeTakeFirst()

/** In lower case. */
export const findPersonByEmail = (db: LedgerDb, email: string) =>
  db.selectFrom('people').selectAll().where('email', '=', email).executeTakeFirst()

export const findPersonByRow = (db: LedgerDb, row: number) =>
  db.selectFrom('people').selectAll().where('row', '=', row).executeTakeFirst()

export const hasPeople = async (db: LedgerDb): Promise<boolean> =>
  (await db.selectFrom('people').select('row').where('row', '>', 0).limit(1).executeTakeFirst()) !== undefined

/** Oldest first. */
export const listPeople = (db: LedgerDb, { account, after, limit }: PageAfter & { readonly account?: number }) => {
  const all = db.selectFrom('people').selectAll().where('row', '>', after).orderBy('row').limit(limit)
  return (account === undefined ? all : all.where('account', '=', account)).execute()
}

interface NewPerson extends Pick<StoredPerson, 'id' | 'email' | 'role' | 'password'> {
  readonly now: number
}

/** `accountId` is an id, not a row, because the account may be inserted in the same list. */
export const personInsert = ({ id, email, role, password, now }: NewPerson, accountId: string | null) =>
  changeOne(
    `INSERT INTO people (id, email, role, account, password, created_at, password_changed_at)
      VALUES (?, ?, ?, (SELECT row FROM accounts WHERE id = ?), ?, ?, ?)`,
    ...[id, email, role, accountId, password, now, now],
  )

const SET_PASSWORD = 'UPDATE people SET password = ?, password_changed_at = ? WHERE row = ? AND disabled_at IS NULL'

/** Only for a person who is not disabled. */
export const passwordReset = (row: number, password: string, now: number) => changeOne(SET_PASSWORD, password, now, row)

/** Only while the password is the one that was just checked: of two concurrent changes one counts. */
export const passwordChange = (person: StoredPerson, password: string, now: number) =>
  changeOne(`${SET_PASSWORD} AND password = ?`, password, now, person.row, person.password)

/** Stores the same password under newer parameters, unless it has changed meanwhile. */
export async function renewHash(db: LedgerDb, { row, password: known }: StoredPerson, password: string): Promise<void> {
  await db.updateTable('people').set({ password }).where('row', '=', row).where('password', '=', known).execute()
}

const DISABLE = 'UPDATE people SET disabled_at = ? WHERE row = ? AND disabled_at IS NULL'
const ANOTHER_OPERATOR = `EXISTS (SELECT 1 FROM people AS other
  WHERE other.role = 'operator' AND other.disabled_at IS NULL AND other.row <> people.row)`

/** `unless-last` keeps the last operator, also when two disable each other at once. */
export const personDisable = (row: number, now: number, which: 'any' | 'unless-last') =>
  changeOne(which === 'any' ? DISABLE : `${DISABLE} AND (role <> 'operator' OR ${ANOTHER_OPERATOR})`, now, row)

/** Fails if the person is disabled. A concurrent change of that waits for the transaction, or the transaction for it. */
export const personStillActive = (email: string) =>
  changeOne('UPDATE people SET disabled_at = NULL WHERE email = ? AND disabled_at IS NULL', email)
/** Fails unless a person still has the role with which they were allowed to do what stands beside it. */
export const roleCheck = ({ row, role }: Pick<StoredPerson, 'row' | 'role'>) =>
  changeOne('UPDATE people SET role = role WHERE row = ? AND role = ? AND disabled_at IS NULL', row, role)

/** An account that has an active owner keeps one. */
const ANOTHER_OWNER = `EXISTS (SELECT 1 FROM people AS other WHERE other.account = people.account
  AND other.role = 'owner' AND other.disabled_at IS NULL AND other.row <> people.row)`

/** Only while they have the known role. The last owner keeps it. */
export const roleChange = ({ row, role: known }: Pick<StoredPerson, 'row' | 'role'>, role: Role) =>
  changeOne(
    `UPDATE people SET role = ? WHERE row = ? AND role = ? AND disabled_at IS NULL AND (role <> 'owner' OR ${ANOTHER_OWNER})`,
    ...[role, row, known],
  )

/** Disables a person who still has the known role, and is not the last owner of their account. */
export const memberRemoval = ({ row, role: known }: Pick<StoredPerson, 'row' | 'role'>, now: number) =>
  changeOne(`${DISABLE} AND role = ? AND (role <> 'owner' OR ${ANOTHER_OWNER})`, now, row, known)

export const personEnable = (row: number) =>
  changeOne('UPDATE people SET disabled_at = NULL WHERE row = ? AND disabled_at IS NOT NULL', row)

const hasTotp = sql<number>`CASE WHEN EXISTS (SELECT 1 FROM totp_secrets
  WHERE totp_secrets.person = sessions.person AND totp_secrets.confirmed_at IS NOT NULL) THEN 1 ELSE 0 END`
const hasPasskey = sql<number>`CASE WHEN EXISTS (SELECT 1 FROM passkeys WHERE passkeys.person = sessions.person)
  THEN 1 ELSE 0 END`
/** The role that groups give. An account that has an active owner keeps one, and a server its last operator. */
export const groupRoleChange = (
  { row, role: known }: Pick<StoredPerson, 'row' | 'role'>,
  role: Role,
  account: number | null,
) =>
  changeOne(
    `UPDATE people SET role = ?, account = COALESCE(account, ?) WHERE row = ? AND role = ? AND disabled_at IS NULL
      AND (role <> 'owner' OR ? = 'operator' OR ${ANOTHER_OWNER}) AND (role <> 'operator' OR ${ANOTHER_OPERATOR})`,
    ...[role, account, row, known, role],
  )

/** A session with its person and their account. */
export type SessionWithPerson = NonNullable<Awaited<ReturnType<typeof findSessionByDigest>>>

export const findSessionByDigest = (db: LedgerDb, digest: Uint8Array) =>
  db
    .selectFrom('sessions')
    .innerJoin('people', 'people.row', 'sessions.person')
    .leftJoin('accounts', 'accounts.row', 'people.account')
    .selectAll('sessions')
    .select(['people.id as person_id', 'people.email', 'people.role', 'people.disabled_at', 'people.account'])
    .select(['accounts.id as account_id', 'accounts.email as account_email', 'accounts.status as account_status'])
    .select('accounts.second_factor as account_factor')
    .select([hasTotp.as('has_totp'), hasPasskey.as('has_passkey')])
    .where('sessions.digest', '=', digest)
    .executeTakeFirst()

/** Newest first; `sessionInsert` bounds their number. */
export const listSessionsOfPerson = (db: LedgerDb, person: number) =>
  db.selectFrom('sessions').selectAll().where('person', '=', person).orderBy('row', 'desc').execute()

interface NewSession extends Pick<Row<'sessions'>, 'id' | 'digest' | 'agent' | 'address' | 'means' | 'strong'> {
  readonly now: number
  readonly expiresAt: number
}

const INSERT = `INSERT INTO sessions (id, digest, person, created_at, seen_at, expires_at, confirmed_at, agent, address, means, strong)
  SELECT ?, ?, row, ?, ?, ?, ?, ?, ?, ?, ? FROM people WHERE email = ? AND password = ? AND disabled_at IS NULL`

const MAKE_ROOM = `DELETE FROM sessions WHERE person = (SELECT row FROM people WHERE email = ?) AND row NOT IN
  (SELECT row FROM sessions WHERE person = (SELECT row FROM people WHERE email = ?) ORDER BY row DESC LIMIT ?)`

/** Only for a person who is not disabled and still has the checked password. Beyond `sessionsMax` the oldest session ends. */
export const sessionInsert = (
  { id, digest, now, expiresAt, agent, address, means, strong }: NewSession,
  { email, password }: Pick<StoredPerson, 'email' | 'password'>,
  sessionsMax: number,
): AtomicStatement[] => [
  statement(MAKE_ROOM, email, email, sessionsMax - 1),
  changeOne(INSERT, id, digest, now, now, expiresAt, now, agent, address, means, strong, email, password),
]

export const sessionDelete = (row: number) => changeOne('DELETE FROM sessions WHERE row = ?', row)

/** Every session of a person except `but`; rows begin at 1. */
export const sessionsDelete = (person: number, but = 0) =>
  statement('DELETE FROM sessions WHERE person = ? AND row <> ?', person, but)

/** Replaces the secret of a session, after the password was confirmed. */
export const sessionRenewal = (row: number, digest: Uint8Array, now: number) =>
  changeOne('UPDATE sessions SET digest = ?, confirmed_at = ? WHERE row = ?', digest, now, row)

export const sessionConfirmation = (row: number, now: number) =>
  changeOne('UPDATE sessions SET confirmed_at = ? WHERE row = ?', now, row)

/** A second factor was given in it. */
/** What `sessions.strong` is, by who has asked for the second factor. */
export const STRENGTHS = { none: 0, here: 1, provider: 2 } as const

/** That a provider has asked for one counts for the whole session. */
export const sessionStrengthening = (row: number, by: 'here' | 'provider' = 'here') =>
  changeOne(
    'UPDATE sessions SET strong = CASE WHEN strong > ? THEN strong ELSE ? END WHERE row = ?',
    ...[STRENGTHS[by], STRENGTHS[by], row],
  )

export async function touchSession(db: LedgerDb, row: number, now: number): Promise<void> {
  await db.updateTable('sessions').set({ seen_at: now }).where('row', '=', row).execute()
}

/** Deletes expired and idle sessions. */
export async function sweepSessions(file: SqlStore, moments: { now: number; idleSince: number }): Promise<void> {
  await file.atomic([
    statement('DELETE FROM sessions WHERE expires_at <= ?', moments.now),
    statement('DELETE FROM sessions WHERE seen_at <= ?', moments.idleSince),
  ])
}

export type StoredInvite = Row<'invites'>

export const findInviteByDigest = (db: LedgerDb, digest: Uint8Array) =>
  db.selectFrom('invites').selectAll().where('digest', '=', digest).executeTakeFirst()

/** What the links that were sent to this email are for, while they work: one of operators, and one of each account. */
export const listOpenInvitesOf = (db: LedgerDb, email: string, now: number) =>
  db
    .selectFrom('invites')
    .select(['role', 'account'])
    .where('email', '=', email)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .execute()

interface NewInvite extends Pick<StoredInvite, 'digest' | 'role' | 'account' | 'person' | 'email'> {
  readonly createdAt: number
  readonly expiresAt: number
  readonly createdBy: string
}

/**
 * Replaces the unused invites of the same email, so that only the last link works. With roles, only those to the same account
 * for one of these: a person of an account does not void the links of others. Links for the first person work until they
 * expire, because each node prints one when it starts.
 */
export const inviteInsert = (invite: NewInvite, replaced: readonly Role[] | 'all' = 'all'): AtomicStatement[] => {
  const { digest, role, account, person, email, createdAt, expiresAt, createdBy } = invite
  const insert = `INSERT INTO invites (digest, role, account, person, email, created_at, expires_at, created_by)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
  const withdrawn =
    replaced === 'all'
      ? [inviteWithdrawal(email)]
      : replaced.map((each) => statement(WITHDRAW_ROLE, email, account, each))
  return [
    ...(email === null ? [] : withdrawn),
    changeOne(insert, digest, role, account, person, email, createdAt, expiresAt, createdBy),
  ]
}

const WITHDRAW_ROLE =
  'DELETE FROM invites WHERE email = ? AND account = ? AND role = ? AND person IS NULL AND used_at IS NULL'

export const inviteWithdrawal = (email: string | null) =>
  statement('DELETE FROM invites WHERE email = ? AND used_at IS NULL', email)

/** Withdraws the open links that a person has made, because that person knows them. */
export const invitesOfMakerWithdrawal = (createdBy: string, now: number) =>
  statement('DELETE FROM invites WHERE expires_at > ? AND created_by = ? AND used_at IS NULL', now, createdBy)

/** An invite without an email is for the first person of a server, and works only while there are no people. */
const IS_OPEN = `used_at IS NULL AND expires_at > ?
  AND (email IS NOT NULL OR NOT EXISTS (SELECT 1 FROM people WHERE people.row > 0))`

/** Of concurrent attempts one succeeds. */
export const inviteUse = ({ row }: StoredInvite, now: number) =>
  changeOne(`UPDATE invites SET used_at = ? WHERE row = ? AND ${IS_OPEN}`, now, row, now)

/** Two people with two links for the first person come one after the other: the second one finds that there are people. */
export const firstInvitesLock = () =>
  statement('UPDATE invites SET expires_at = expires_at WHERE email IS NULL AND used_at IS NULL')

export const sweepInvites = (file: SqlStore, expiredBefore: number) =>
  changeRows(file, 'DELETE FROM invites WHERE expires_at <= ?', [expiredBefore])

/** Those of these people who may sign in, and whose account is not closed, with its id. */
export const listPeopleThatStay = (db: LedgerDb, ids: readonly string[]) =>
  db
    .selectFrom('people')
    .innerJoin('accounts', 'accounts.row', 'people.account')
    .select(['people.id', 'accounts.id as account'])
    .where('people.id', 'in', ids)
    .where('people.disabled_at', 'is', null)
    .where('accounts.status', '<>', 'closed')
    .execute()

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
