import { sql } from 'kysely'
import type { PageAfter } from './sql.ts'
import { type AtomicStatement, changeOne } from './sql-store.ts'
import type { LedgerDb, Row } from './tables.ts'

export type StoredTeam = Row<'teams'>

const withKeys = (db: LedgerDb) =>
  db
    .selectFrom('teams')
    .selectAll('teams')
    .select(sql<number>`(SELECT COUNT(*) FROM keys WHERE keys.team = teams.row AND revoked_at IS NULL)`.as('keys'))

export type CountedTeam = NonNullable<Awaited<ReturnType<typeof findTeam>>>

export const findTeam = (db: LedgerDb, id: string) => withKeys(db).where('teams.id', '=', id).executeTakeFirst()

/** A team that is not archived. */
export const findTeamByName = (db: LedgerDb, account: number, name: string) =>
  withKeys(db)
    .where('teams.account', '=', account)
    .where('teams.name', '=', name)
    .where('teams.archived_at', 'is', null)
    .executeTakeFirst()

/** Oldest first, archived ones included. */
export const listTeams = (db: LedgerDb, account: number, { after, limit }: PageAfter) =>
  withKeys(db)
    .where('teams.account', '=', account)
    .where('teams.row', '>', after)
    .orderBy('teams.row')
    .limit(limit)
    .execute()

/** With the caps of the team, in one commit. */
export const teamInsert = (team: Pick<StoredTeam, 'id' | 'account' | 'name' | 'created_at'>): AtomicStatement =>
  changeOne(
    'INSERT INTO teams (id, account, name, created_at) VALUES (?, ?, ?, ?)',
    ...[team.id, team.account, team.name, team.created_at],
  )

export const teamUpdate = ({ row, name, archived_at }: StoredTeam): AtomicStatement =>
  changeOne('UPDATE teams SET name = ?, archived_at = ? WHERE row = ?', name, archived_at, row)
