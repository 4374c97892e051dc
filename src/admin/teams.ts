import type { z } from 'zod'
import type { changeTeamBody, createTeamBody, raiseBody } from '../contract/caps.ts'
import type { PageQuery } from '../contract/values.ts'
import { findAccountByRow } from '../db/accounts.ts'
import {
  type CountedTeam,
  capsChange,
  capsOfNew,
  capsOfOwners,
  findTeam,
  listTeams as listStored,
  teamInsert,
  teamUpdate,
} from '../db/caps.ts'
import { isAlreadyThere } from '../db/sql-store.ts'
import type { AccountRow } from '../model/ids.ts'
import { mintTeamId } from '../model/ids.ts'
import { type OneAccount, resolveAccount, resolveOpenAccount } from './accounts.ts'
import {
  ANY_CAPS,
  amountsOf,
  type CapRights,
  capsOf,
  confirmToSpendMore,
  describeCapTerms,
  raiseCap,
  readCaps,
  widensCaps,
} from './caps.ts'
import { done, type Outcome, refuseOperation } from './outcome.ts'
import type { AdminServices } from './services.ts'
import { isoTime, isoTimeOrNull, quoted, readPage } from './values.ts'

interface TeamRights extends CapRights {
  /** Undefined for an operator. */
  readonly of?: AccountRow
}

export interface OneTeam {
  readonly team: string
}

type ReadServices = Pick<AdminServices, 'db' | 'ledger'>

/** Creates a team, whose keys will share its budgets. */
export async function createTeam(
  services: AdminServices,
  { account: named, name, caps = {} }: z.output<typeof createTeamBody> & OneAccount,
) {
  const resolved = await resolveOpenAccount(services, named)
  if (resolved.kind === 'refused') return resolved
  const read = readCaps(caps)
  if (read.kind === 'refused') return read
  const { row: account } = resolved.value
  const team = { id: mintTeamId(services.random), account, name, created_at: services.clock.now() }
  const entry = { action: 'team_created', target: team.id, account, detail: quoted(name) } as const
  const statements = [teamInsert(team), ...capsOfNew('team', team.id, read.amounts)]
  const refused = await refusingTakenName(name, () => services.auditLog.act(entry, statements))
  return refused ?? showTeam(services, { team: team.id })
}

/** Renames, archives or opens a team again, or changes its budgets, all at once. */
export async function changeTeam(
  services: AdminServices,
  { team: named, name, caps = {}, archived }: z.output<typeof changeTeamBody> & OneTeam,
  { of, mayWiden }: TeamRights = ANY_CAPS,
) {
  const found = await findNamed(services, named, of)
  if (found.kind === 'refused') return found
  const { value: team } = found
  const read = readCaps(caps)
  if (read.kind === 'refused') return read
  if (!mayWiden && Object.keys(caps).length > 0) {
    const [before = []] = await capsOfOwners(services.db, team.account, [{ holder: 'team', row: team.row }])
    if (widensCaps(amountsOf(before), read.amounts)) return confirmToSpendMore
  }
  const archivedAt =
    archived === undefined ? team.archived_at : archived ? (team.archived_at ?? services.clock.now()) : null
  const statements = [
    teamUpdate({ ...team, name: name ?? team.name, archived_at: archivedAt }),
    ...capsChange(team.account, { holder: 'team', row: team.row }, read.amounts),
  ]
  const what = [
    ...(name === undefined ? [] : [`name ${quoted(name)}`]),
    ...(archived === undefined ? [] : [archived ? 'archived' : 'open again']),
    ...(Object.keys(caps).length > 0 ? [describeCapTerms(caps)] : []),
  ]
  const entry = { action: 'team_changed', target: team.id, account: team.account, detail: what.join('; ') } as const
  const act = () =>
    services.auditLog.act(entry, statements).finally(() => services.forgetAccount(team.account as AccountRow))
  const refused = what.length === 0 ? undefined : await refusingTakenName(name ?? team.name, act)
  return refused ?? showTeam(services, { team: team.id })
}

async function refusingTakenName(name: string, act: () => Promise<unknown>) {
  try {
    await act()
    return undefined
  } catch (error) {
    if (!isAlreadyThere(error)) throw error
    return refuseOperation('team_exists', `The account has a team ${quoted(name)} already.`, { param: 'name' })
  }
}

export async function showTeam(services: ReadServices, { team: named }: OneTeam, of?: AccountRow) {
  const found = await findNamed(services, named, of)
  return found.kind === 'refused' ? found : done(await teamView(services, found.value))
}

/** The oldest first, archived ones included. */
export async function listTeams(services: ReadServices, { account: named, ...page }: PageQuery & OneAccount) {
  const resolved = await resolveAccount(services, named)
  if (resolved.kind === 'refused') return resolved
  return readPage(page, {
    first: 0,
    read: (after, limit) => listStored(services.db, resolved.value.row, { after, limit }),
    numberOf: ({ row }) => row,
    view: (team) => teamView(services, team),
  })
}

/** A higher budget until an end. */
export async function raiseTeamCap(
  services: AdminServices,
  { team: named, ...raise }: OneTeam & z.output<typeof raiseBody>,
  of?: AccountRow,
) {
  const found = await findNamed(services, named, of)
  if (found.kind === 'refused') return found
  const { row, id, account, name } = found.value
  const [caps = []] = await capsOfOwners(services.db, account, [{ holder: 'team', row }])
  return raiseCap(services, { account, target: id, name, caps }, raise)
}

/** `of` limits it to the teams of an account: others do not exist for it. */
async function findNamed(
  { db }: Pick<AdminServices, 'db'>,
  id: string,
  of?: AccountRow,
): Promise<Outcome<CountedTeam>> {
  const team = await findTeam(db, id.trim())
  return team && (of === undefined || team.account === of)
    ? done(team)
    : refuseOperation('team_not_found', `There is no team ${quoted(id)}. See: millrace teams list`)
}

async function teamView(
  services: ReadServices,
  { row, id, account, name, keys, created_at, archived_at }: CountedTeam,
) {
  const owner = await findAccountByRow(services.db, account)
  return {
    ...{ id, account: owner!.id, name, keys, ...(await capsOf(services, account, { holder: 'team', row })) },
    ...{ created_at: isoTime(created_at), archived_at: isoTimeOrNull(archived_at) },
  }
}
