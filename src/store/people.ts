import type { Selectable } from 'kysely'
import type { AtomicStatement } from '../sqlite/sqlite-file.ts'
import type { PeopleTable, Role } from './people-tables.ts'
import type { LedgerDb } from './tables.ts'

export type StoredPerson = Selectable<PeopleTable>

export const findPersonById = (db: LedgerDb, id: string): Promise<StoredPerson | undefined> =>
  db.selectFrom('people').selectAll().where('id', '=', id).executeTakeFirst()

/** In lower case. */
export const findPersonByEmail = (db: LedgerDb, email: string): Promise<StoredPerson | undefined> =>
  db.selectFrom('people').selectAll().where('email', '=', email).executeTakeFirst()

export const findPersonByRow = (db: LedgerDb, row: number): Promise<StoredPerson | undefined> =>
  db.selectFrom('people').selectAll().where('row', '=', row).executeTakeFirst()

/** Whether anybody has ever signed up. */
export const hasPeople = async (db: LedgerDb): Promise<boolean> =>
  (await db.selectFrom('people').select('row').where('row', '>', 0).limit(1).executeTakeFirst()) !== undefined

/** Oldest first; the next page begins after this one's last row. */
export const listPeople = (
  db: LedgerDb,
  { account, after, limit }: { readonly account?: number; readonly after: number; readonly limit: number },
): Promise<StoredPerson[]> => {
  const all = db.selectFrom('people').selectAll().where('row', '>', after).orderBy('row').limit(limit)
  return (account === undefined ? all : all.where('account', '=', account)).execute()
}

export interface NewPerson {
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly password: string
  readonly now: number
}

/** The account is named by its id, because it may be made in the same list. */
export const personInsert = (person: NewPerson, accountId: string | null): AtomicStatement => ({
  sql: `INSERT INTO people (id, email, role, account, password, created_at, password_changed_at)
    VALUES (?, ?, ?, (SELECT row FROM accounts WHERE id = ?), ?, ?, ?)`,
  rows: [[person.id, person.email, person.role, accountId, person.password, person.now, person.now]],
  expectChanges: 1,
})

/** Whoever is disabled keeps the password that is there. */
export const passwordReset = (row: number, password: string, now: number): AtomicStatement => ({
  sql: 'UPDATE people SET password = ?, password_changed_at = ? WHERE row = ? AND disabled_at IS NULL',
  rows: [[password, now, row]],
  expectChanges: 1,
})

/** Only while the password is the one that was just given: two changes at once must not both count. */
export const passwordChange = (person: StoredPerson, password: string, now: number): AtomicStatement => ({
  sql: `UPDATE people SET password = ?, password_changed_at = ?
    WHERE row = ? AND password = ? AND disabled_at IS NULL`,
  rows: [[password, now, person.row, person.password]],
  expectChanges: 1,
})

/** The same password under newer parameters; nothing where it was changed meanwhile. */
export async function renewHash(db: LedgerDb, person: StoredPerson, password: string): Promise<void> {
  await db
    .updateTable('people')
    .set({ password })
    .where('row', '=', person.row)
    .where('password', '=', person.password)
    .execute()
}

const DISABLE = 'UPDATE people SET disabled_at = ? WHERE row = ? AND disabled_at IS NULL'
const ANOTHER_OPERATOR = `EXISTS (SELECT 1 FROM people AS other
  WHERE other.role = 'operator' AND other.disabled_at IS NULL AND other.row <> people.row)`

/** `unless-last`: an operator after whom nobody could operate the server stays, even when two disable each other at once. */
export const personDisable = (row: number, now: number, which: 'any' | 'unless-last'): AtomicStatement => ({
  sql: which === 'any' ? DISABLE : `${DISABLE} AND (role <> 'operator' OR ${ANOTHER_OPERATOR})`,
  rows: [[now, row]],
  expectChanges: 1,
})

export const personEnable = (row: number): AtomicStatement => ({
  sql: 'UPDATE people SET disabled_at = NULL WHERE row = ? AND disabled_at IS NOT NULL',
  rows: [[row]],
  expectChanges: 1,
})
