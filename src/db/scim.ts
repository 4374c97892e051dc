import type { Role } from './people-tables.ts'
import { type AtomicStatement, changeOne, statement } from './sql-store.ts'
import type { LedgerDb, Row } from './tables.ts'

export type ScimUserRow = Awaited<ReturnType<typeof listScimUsers>>[number]
export type StoredGroup = Row<'scim_groups'>

/** The people of an account that its directory sees: no operators, and none that it has deleted. */
const users = (db: LedgerDb, account: number) =>
  db
    .selectFrom('people')
    .leftJoin('scim_users', 'scim_users.person', 'people.row')
    .selectAll('people')
    .select(['external_id', 'given_name', 'family_name', 'display_name', 'deleted_at', 'deactivated_at'])
    .where('people.account', '=', account)
    .where('people.role', '<>', 'operator')

export async function readScimVersion(db: LedgerDb, account: number): Promise<number> {
  const row = await db.selectFrom('accounts').select('scim_version').where('row', '=', account).executeTakeFirst()
  return row?.scim_version ?? 0
}

/** Fails if the directory has changed anything since this version was read. */
export const scimVersionUse = (account: number, version: number): AtomicStatement =>
  changeOne(
    'UPDATE accounts SET scim_version = scim_version + 1 WHERE row = ? AND scim_version = ?',
    ...[account, version],
  )

export interface Slice {
  readonly skip: number
  readonly limit: number
}

/** Oldest first. */
export const listScimUsers = (db: LedgerDb, account: number, { skip, limit }: Slice) =>
  users(db, account).where('deleted_at', 'is', null).orderBy('people.row').offset(skip).limit(limit).execute()

export async function countScimUsers(db: LedgerDb, account: number): Promise<number> {
  const { count } = await db
    .selectFrom('people')
    .leftJoin('scim_users', 'scim_users.person', 'people.row')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('people.account', '=', account)
    .where('people.role', '<>', 'operator')
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

type Named = { readonly id: string } | { readonly email: string }

/** Also one that the directory has deleted. */
export const findScimUser = (db: LedgerDb, account: number, named: Named) =>
  ('id' in named
    ? users(db, account).where('people.id', '=', named.id)
    : users(db, account).where('people.email', '=', named.email)
  ).executeTakeFirst()

/** The ids of the people with this external id. */
export const listIdsByExternalId = (db: LedgerDb, account: number, externalId: string) =>
  db
    .selectFrom('scim_users')
    .innerJoin('people', 'people.row', 'scim_users.person')
    .select('people.id')
    .where('scim_users.account', '=', account)
    .where('external_id', '=', externalId)
    .where('deleted_at', 'is', null)
    .limit(100)
    .execute()

type Profile = Omit<Row<'scim_users'>, 'person' | 'account'>

/** The person is named by id, because they may be inserted in the same list. */
export const scimUserUpsert = (personId: string, account: number, profile: Profile): AtomicStatement =>
  changeOne(
    `INSERT INTO scim_users (person, account, external_id, given_name, family_name, display_name, deleted_at,
        deactivated_at)
      SELECT row, ?, ?, ?, ?, ?, ?, ? FROM people WHERE id = ?
      ON CONFLICT (person) DO UPDATE SET external_id = excluded.external_id, given_name = excluded.given_name,
        family_name = excluded.family_name, display_name = excluded.display_name, deleted_at = excluded.deleted_at,
        deactivated_at = excluded.deactivated_at`,
    ...[account, profile.external_id, profile.given_name, profile.family_name, profile.display_name],
    ...[profile.deleted_at, profile.deactivated_at, personId],
  )

/** For a person who is disabled, who counts as no owner. Fails for an operator. */
export const roleOfDisabled = (person: number, role: Role): AtomicStatement =>
  changeOne(
    `UPDATE people SET role = ? WHERE row = ? AND disabled_at IS NOT NULL AND role <> 'operator'`,
    ...[role, person],
  )

/** Fails unless they are disabled since this time, which is when the directory has done it. */
export const enableDeactivated = (person: number, since: number): AtomicStatement =>
  changeOne('UPDATE people SET disabled_at = NULL WHERE row = ? AND disabled_at = ?', person, since)

/** For a person who is inserted in the same list. */
export const disableNew = (personId: string, now: number): AtomicStatement =>
  changeOne('UPDATE people SET disabled_at = ? WHERE id = ?', now, personId)

export const listGroups = (db: LedgerDb, account: number, { skip, limit }: Slice) =>
  db
    .selectFrom('scim_groups')
    .selectAll()
    .where('account', '=', account)
    .orderBy('row')
    .offset(skip)
    .limit(limit)
    .execute()

export async function countGroups(db: LedgerDb, account: number): Promise<number> {
  const { count } = await db
    .selectFrom('scim_groups')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('account', '=', account)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Also of another account. */
export const findGroupById = (db: LedgerDb, id: string) =>
  db.selectFrom('scim_groups').selectAll().where('id', '=', id).executeTakeFirst()

export const findGroupByName = (db: LedgerDb, account: number, name: string) =>
  db.selectFrom('scim_groups').selectAll().where('account', '=', account).where('name', '=', name).executeTakeFirst()

/** Without operators, whom a directory does not see and whom its groups do not change. */
export const listMembersOfGroup = (db: LedgerDb, group: number) =>
  db
    .selectFrom('scim_members')
    .innerJoin('people', 'people.row', 'scim_members.person')
    .selectAll('people')
    .where('scim_members.of_group', '=', group)
    .where('people.role', '<>', 'operator')
    .orderBy('scim_members.person')
    .execute()

/** The groups of a person, the oldest first. */
export const listGroupsOfPerson = (db: LedgerDb, person: number) =>
  db
    .selectFrom('scim_members')
    .innerJoin('scim_groups', 'scim_groups.row', 'scim_members.of_group')
    .selectAll('scim_groups')
    .where('scim_members.person', '=', person)
    .orderBy('scim_groups.row')
    .execute()

export const findLiveTeam = (db: LedgerDb, account: number, name: string) =>
  db
    .selectFrom('teams')
    .selectAll()
    .where('account', '=', account)
    .where('name', '=', name)
    .where('archived_at', 'is', null)
    .executeTakeFirst()

export const findTeamByRow = (db: LedgerDb, row: number) =>
  db.selectFrom('teams').selectAll().where('row', '=', row).executeTakeFirst()

type NewGroup = Pick<StoredGroup, 'id' | 'account' | 'name' | 'external_id' | 'created_at'>

/** `teamId` is an id, because the team may be inserted in the same list. */
export const groupInsert = (group: NewGroup, teamId: string | null): AtomicStatement =>
  changeOne(
    `INSERT INTO scim_groups (id, account, name, external_id, team, created_at)
      VALUES (?, ?, ?, ?, (SELECT row FROM teams WHERE id = ?), ?)`,
    ...[group.id, group.account, group.name, group.external_id, teamId, group.created_at],
  )

export const groupUpdate = ({ row, name, external_id }: Pick<StoredGroup, 'row' | 'name' | 'external_id'>) =>
  changeOne('UPDATE scim_groups SET name = ?, external_id = ? WHERE row = ?', name, external_id, row)

export const groupMembersDelete = (row: number): AtomicStatement =>
  statement('DELETE FROM scim_members WHERE of_group = ?', row)

export const groupDelete = (row: number): AtomicStatement => changeOne('DELETE FROM scim_groups WHERE row = ?', row)

/** The group is named by id, because it may be inserted in the same list. */
export const membershipInsert = (groupId: string, person: number): AtomicStatement =>
  statement(
    `INSERT INTO scim_members (of_group, person) SELECT row, ? FROM scim_groups WHERE id = ?
      ON CONFLICT (of_group, person) DO NOTHING`,
    ...[person, groupId],
  )

export const membershipDelete = (groupId: string, person: number): AtomicStatement =>
  statement(
    'DELETE FROM scim_members WHERE of_group = (SELECT row FROM scim_groups WHERE id = ?) AND person = ?',
    ...[groupId, person],
  )

export const membershipsDelete = (person: number): AtomicStatement =>
  statement('DELETE FROM scim_members WHERE person = ?', person)
