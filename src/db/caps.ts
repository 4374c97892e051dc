import { sql } from 'kysely'
import { type Allowance, CAP_NAMES, type CapHolder, type CapName, capOf, isCapName } from '../model/allowance.ts'
import type { NanoUsd } from '../model/money.ts'
import type { PageAfter } from './sql.ts'
import { type AtomicStatement, changeOne, statement } from './sql-store.ts'
import type { LedgerDb, Row } from './tables.ts'

/** Amounts of caps by name, in billionths of a dollar, or in requests or tokens. Null removes a cap; absent ones stay. */
export type CapAmounts = Partial<Record<CapName, bigint | null>>

export interface CapOwner {
  readonly holder: CapHolder
  /** Of the key, the person or the team. */
  readonly row: number
}

/** The name of a holder in the table. */
const nameOf = ({ holder, row }: CapOwner): string => `${holder}:${row}`

/** The holder of the caps that new keys of an account get. */
export const NEW_KEYS = 'new-keys'

/** The columns of a key from which its caps are read. Two of its own caps have columns; the others are in `spend_caps`. */
export type CappedKey = Pick<Row<'keys'>, 'row' | 'account' | 'person' | 'team' | 'cap_day_nano' | 'cap_month_nano'>

/** The caps of a key itself, and those that it shares with the other keys of its person and its team. */
export interface CapsOfKey {
  readonly own: readonly Allowance[]
  readonly shared: readonly Allowance[]
}

/** In the order of the keys. */
export async function capsOfKeys(db: LedgerDb, keys: readonly CappedKey[]): Promise<CapsOfKey[]> {
  if (keys.length === 0) return []
  const accounts = [...new Set(keys.map(({ account }) => account))]
  const capsOf = await readCaps(db, accounts, keys.flatMap(ownersOf))
  return keys.map((key) => {
    const [self, ...others] = ownersOf(key)
    const columns = { day: key.cap_day_nano, month: key.cap_month_nano }
    return { own: capsOf(self!, columns), shared: others.flatMap((owner) => capsOf(owner)) }
  })
}

/** Of people or teams of one account, in their order. */
export async function capsOfOwners(
  db: LedgerDb,
  account: number,
  owners: readonly CapOwner[],
): Promise<(readonly Allowance[])[]> {
  const capsOf = await readCaps(db, [account], owners)
  return owners.map((owner) => capsOf(owner))
}

const ownersOf = ({ row, person, team }: CappedKey): CapOwner[] => [
  { holder: 'key', row },
  ...(person === null ? [] : [{ holder: 'person', row: person } as const]),
  ...(team === null ? [] : [{ holder: 'team', row: team } as const]),
]

async function readCaps(db: LedgerDb, accounts: readonly number[], owners: readonly CapOwner[]) {
  const names = [...new Set(owners.map(nameOf))]
  const [stored, raises] = await Promise.all([listCapsOf(db, accounts, names), listRaises(db, accounts)])
  const raiseOf = new Map(raises.map((raise) => [raise.subject, raise]))
  return (owner: CapOwner, columns: CapAmounts = {}): Allowance[] => {
    const amounts = { ...stored.get(nameOf(owner)), ...columns }
    return CAP_NAMES.flatMap((name) => {
      const amount = amounts[name]
      if (amount == null) return []
      const cap = capOf(owner.holder, owner.row, name, amount)
      const raise = raiseOf.get(cap.subject)
      return raise ? { ...cap, raised: { amount: raise.amount_nano as NanoUsd, until: raise.until } } : cap
    })
  }
}

const listRaises = (db: LedgerDb, accounts: readonly number[]) =>
  db.selectFrom('cap_raises').selectAll().where('account', 'in', accounts).execute()

/** By the name of the holder; of one account, where that is `new-keys`. */
export async function listCapsOf(
  db: LedgerDb,
  accounts: readonly number[],
  holders: readonly string[],
): Promise<ReadonlyMap<string, CapAmounts>> {
  const found = new Map<string, CapAmounts>()
  if (holders.length === 0) return found
  const query = db.selectFrom('spend_caps').selectAll().where('account', 'in', accounts).where('holder', 'in', holders)
  for (const { holder, name, amount_nano } of await query.execute())
    if (isCapName(name)) found.set(holder, { ...found.get(holder), [name]: amount_nano })
  return found
}

const SET = `INSERT INTO spend_caps (account, holder, name, amount_nano) VALUES (?, ?, ?, ?)
  ON CONFLICT (account, holder, name) DO UPDATE SET amount_nano = excluded.amount_nano`
const REMOVE = 'DELETE FROM spend_caps WHERE account = ? AND holder = ? AND name = ?'

export const capsChange = (
  account: number,
  holder: CapOwner | typeof NEW_KEYS,
  amounts: CapAmounts,
): AtomicStatement[] =>
  CAP_NAMES.flatMap((name) => {
    const amount = amounts[name]
    if (amount === undefined) return []
    const named = [account, holder === NEW_KEYS ? holder : nameOf(holder), name]
    return [
      amount === null ? statement(REMOVE, ...named) : statement(SET, ...named, amount),
      ...(holder === NEW_KEYS ? [] : [raiseEnd(account, holder, name)]),
    ]
  })

const TABLES = { key: 'keys', team: 'teams' } as const

/** The caps of a key or a team that an earlier statement of the same commit has inserted, by its id. */
export const capsOfNew = (holder: keyof typeof TABLES, id: string, amounts: CapAmounts): AtomicStatement[] =>
  CAP_NAMES.flatMap((name) => {
    const amount = amounts[name]
    if (amount == null) return []
    const insert = `INSERT INTO spend_caps (account, holder, name, amount_nano)
      SELECT account, ? || row, ?, ? FROM ${TABLES[holder]} WHERE id = ?`
    return changeOne(insert, `${holder}:`, name, amount, id)
  })

const RAISE = `INSERT INTO cap_raises (account, subject, amount_nano, until) VALUES (?, ?, ?, ?)
  ON CONFLICT (account, subject) DO UPDATE SET amount_nano = excluded.amount_nano, until = excluded.until`

/** A cap has one raise at a time. */
export const capRaise = (
  account: number,
  { subject }: Allowance,
  { amount, until }: { amount: bigint; until: number },
) => statement(RAISE, account, subject, amount, until)

const END_RAISE = 'DELETE FROM cap_raises WHERE account = ? AND subject = ?'

/** A changed cap counts as it is written: a cap that is lowered must not stay raised. */
export const raiseEnd = (account: number, { holder, row }: CapOwner, name: CapName): AtomicStatement =>
  statement(END_RAISE, account, capOf(holder, row, name, 0n).subject)

const END_RAISES = 'DELETE FROM cap_raises WHERE until < ?'

export const endedRaisesDelete = (before: number): AtomicStatement => statement(END_RAISES, before)

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
