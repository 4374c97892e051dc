import { teamInsert, teamUpdate } from '../db/caps.ts'
import { groupRoleChange, invitesOfMakerWithdrawal, type StoredPerson } from '../db/people.ts'
import {
  countGroups,
  findGroupById,
  findGroupByName,
  findLiveTeam,
  findScimUser,
  findTeamByRow,
  groupDelete,
  groupInsert,
  groupMembersDelete,
  groupUpdate,
  listGroupsOfPerson,
  listMembersOfGroup,
  listGroups as listStored,
  membershipDelete,
  membershipInsert,
  roleOfDisabled,
  type StoredGroup,
} from '../db/scim.ts'
import { type AtomicStatement, isAlreadyThere } from '../db/sql-store.ts'
import { mintScimGroupId, mintTeamId } from '../model/ids.ts'
import type { AuditedAction } from './audit.ts'
import { done } from './outcome.ts'
import { forgetPerson } from './people.ts'
import { listOf, notFound, type QueryReader, refusedChange, type ScimOutcome, type ScimServices } from './scim-users.ts'
import {
  type GroupChange,
  membersAfter,
  readFilter,
  readGroup,
  readGroupPatch,
  readPageOf,
  refuseScim,
  type ScimRefused,
} from './scim-values.ts'
import { isoTime, quoted } from './values.ts'

export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group'

const GROUP_FILTERS = ['displayName', 'externalId', 'id'] as const

/** An account has at most this many groups, as the list of them is searched for an external id. */
const GROUPS_MAX = 1000

export async function listGroups(services: ScimServices, query: QueryReader): Promise<ScimOutcome> {
  const { db, account } = services
  const filter = readFilter(query('filter'), GROUP_FILTERS)
  if (filter !== undefined && 'kind' in filter) return filter
  const page = readPageOf(query)
  const withMembers = !hidesMembers(query)
  const all = filter === undefined ? undefined : await findFiltered(services, filter)
  const rows = all?.slice(page.skip, page.skip + page.limit) ?? (await listStored(db, account, page))
  const total = all?.length ?? (await countGroups(db, account))
  const views: object[] = []
  for (const row of rows) views.push(await viewOf(services, row, withMembers))
  return done(listOf(views, { total, startIndex: page.startIndex }))
}

const hidesMembers = (query: QueryReader): boolean => /(^|,)\s*members\s*(,|$)/i.test(query('excludedAttributes') ?? '')

async function findFiltered(
  { db, account }: ScimServices,
  { attribute, value }: { readonly attribute: string; readonly value: string },
): Promise<StoredGroup[]> {
  if (attribute === 'externalId') {
    const groups = await listStored(db, account, { skip: 0, limit: GROUPS_MAX })
    return groups.filter(({ external_id }) => external_id === value)
  }
  const row = await (attribute === 'id' ? findGroupById(db, value) : findGroupByName(db, account, value))
  return row === undefined || row.account !== account ? [] : [row]
}

async function viewOf({ db, base }: ScimServices, row: StoredGroup, withMembers: boolean): Promise<object> {
  const members = withMembers ? await listMembersOfGroup(db, row.row) : []
  return {
    schemas: [GROUP_SCHEMA],
    ...{ id: row.id, ...(row.external_id !== null && { externalId: row.external_id }), displayName: row.name },
    ...(withMembers && {
      members: members.map(({ id, email }) => ({ value: id, display: email, $ref: `${base}/Users/${id}` })),
    }),
    meta: { resourceType: 'Group', created: isoTime(row.created_at), location: `${base}/Groups/${row.id}` },
  }
}

async function findOwn({ db, account }: ScimServices, id: string): Promise<StoredGroup | ScimRefused> {
  const row = await findGroupById(db, id)
  return row === undefined || row.account !== account ? notFound('group', id) : row
}

export async function showGroup(services: ScimServices, id: string, query: QueryReader): Promise<ScimOutcome> {
  const row = await findOwn(services, id)
  return 'kind' in row ? row : done(await viewOf(services, row, !hidesMembers(query)))
}

const ALL: QueryReader = () => undefined

const givesRole = ({ roles }: ScimServices, name: string): boolean => roles.some(({ group }) => group === name)

/** With the team of its name, unless it gives a role. A team that is there is taken. */
export async function createGroup(services: ScimServices, body: unknown): Promise<ScimOutcome> {
  const { db, account, clock, random } = services
  const change = readGroup(body)
  if ('kind' in change) return change
  const { displayName: name, externalId = null } = change.terms
  if (name === undefined) return refuseScim(400, 'displayName is missing.', 'invalidValue')
  if ((await findGroupByName(db, account, name)) !== undefined) return taken(name)
  if ((await countGroups(db, account)) >= GROUPS_MAX)
    return refuseScim(409, `An account has at most ${GROUPS_MAX} groups.`)
  const missing = await findMissing(services, change)
  if (missing !== undefined) return missing
  const isRole = givesRole(services, name)
  const known = isRole ? undefined : await findLiveTeam(db, account, name)
  const [id, now] = [mintScimGroupId(random), clock.now()]
  const team = isRole ? undefined : (known ?? { id: mintTeamId(random), account, name, created_at: now })
  const detail = `${quoted(name)}, ${isRole ? 'which gives a role' : known === undefined ? 'with a team' : 'of a team'}`
  const group = { id, name, isRole, wasCalled: name }
  const refused = await write(services, group, await planMembers(services, group, [], change), {
    entry: { action: 'group_created', target: id, account, detail },
    before: [
      ...(team === undefined || known !== undefined ? [] : [teamInsert(team)]),
      groupInsert({ id, account, name, external_id: externalId, created_at: now }, team?.id ?? null),
    ],
  })
  return refused ?? showGroup(services, id, ALL)
}

const taken = (name: string) => refuseScim(409, `This account has a group or a team ${quoted(name)}.`, 'uniqueness')

export async function replaceGroup(services: ScimServices, id: string, body: unknown): Promise<ScimOutcome> {
  const change = readGroup(body)
  if ('kind' in change) return change
  const { displayName } = change.terms
  if (displayName === undefined) return refuseScim(400, 'displayName is missing.', 'invalidValue')
  return changeGroup(services, id, { ...change, terms: { externalId: null, ...change.terms } })
}

export async function patchGroup(services: ScimServices, id: string, body: unknown): Promise<ScimOutcome> {
  const change = readGroupPatch(body)
  return 'kind' in change ? change : changeGroup(services, id, change)
}

/** The whole change is one transaction. The team is renamed with the group. */
async function changeGroup(services: ScimServices, id: string, change: GroupChange): Promise<ScimOutcome> {
  const { db, account } = services
  const row = await findOwn(services, id)
  if ('kind' in row) return row
  const missing = await findMissing(services, change)
  if (missing !== undefined) return missing
  const { displayName: name = row.name, externalId: external_id = row.external_id } = change.terms
  const isRole = row.team === null
  if (name !== row.name && givesRole(services, name) !== isRole) {
    const detail =
      'A group that gives a role and a group that is a team do not become each other. Create another group.'
    return refuseScim(400, detail, 'mutability')
  }
  const group = { id, name, isRole, wasCalled: row.name }
  const plan = await planMembers(services, group, await listMembersOfGroup(db, row.row), change)
  const isRenamed = name !== row.name || external_id !== row.external_id
  if (!isRenamed && plan.told.length === 0) return showGroup(services, id, ALL)
  const team = row.team === null || name === row.name ? undefined : await findTeamByRow(db, row.team)
  const detail = `${quoted(row.name)} is ${quoted(name)}`
  const refused = await write(services, group, plan, {
    entry: isRenamed ? { action: 'group_changed', target: id, account, detail } : undefined,
    // Fails if the group is deleted at the same time.
    before: [
      groupUpdate({ row: row.row, name, external_id }),
      ...(team === undefined ? [] : [teamUpdate({ ...team, name })]),
    ],
  })
  return refused ?? showGroup(services, id, ALL)
}

/** Every member that is added has to be a user of the account. */
async function findMissing({ db, account }: ScimServices, { members }: GroupChange): Promise<ScimRefused | undefined> {
  for (const id of new Set(members.flatMap(({ kind, ids }) => (kind === 'remove' ? [] : ids)))) {
    const user = await findScimUser(db, account, { id })
    if (user === undefined || user.deleted_at !== null)
      return refuseScim(400, `This account has no user ${quoted(id.slice(0, 80))}.`, 'invalidValue')
  }
  return undefined
}

interface PlannedGroup extends Pick<StoredGroup, 'id' | 'name'> {
  readonly isRole: boolean
  /** Its name before the change. */
  readonly wasCalled: string
}

interface MemberPlan {
  readonly statements: readonly AtomicStatement[]
  /** What becomes of each person, for the audit log. */
  readonly told: readonly string[]
  readonly emails: readonly string[]
}

/** People are added before others are removed, so that one owner can take the place of the last one. */
async function planMembers(
  { db, account, roles, clock }: ScimServices,
  group: PlannedGroup,
  before: readonly StoredPerson[],
  { members }: Pick<GroupChange, 'members'>,
): Promise<MemberPlan> {
  const known = new Map(before.map((person) => [person.id, person]))
  const after = membersAfter([...known.keys()], members)
  const [statements, told, emails]: [AtomicStatement[], string[], string[]] = [[], [], []]
  /** They get the role of the first rule for one of their groups. Without such a group they are members. */
  const roleAfter = async ({ row, role }: StoredPerson, isMember: boolean) => {
    if (!group.isRole || role === 'operator') return role
    const others = (await listGroupsOfPerson(db, row)).filter(({ id }) => id !== group.id)
    const names = new Set([...others.map(({ name }) => name), ...(isMember ? [group.name] : [])])
    return roles.find((rule) => names.has(rule.group))?.role ?? 'member'
  }
  const step = async (person: StoredPerson, sign: '+' | '-' | '') => {
    const { row, role, email } = person
    const next = await roleAfter(person, sign !== '-')
    if (sign === '' && next === role) return
    if (sign !== '') statements.push((sign === '+' ? membershipInsert : membershipDelete)(group.id, row))
    told.push(`${sign}${email}${next === role ? '' : ` (${role} to ${next})`}`)
    emails.push(email)
    if (next === role) return
    if (person.disabled_at !== null) statements.push(roleOfDisabled(row, next))
    else statements.push(groupRoleChange(person, next, null), invitesOfMakerWithdrawal(email, clock.now()))
  }
  for (const id of after) {
    const person = known.get(id) ?? (await findScimUser(db, account, { id }))
    const isKept = known.has(id)
    // A group that is renamed may give another role.
    if (person !== undefined && (!isKept || group.name !== group.wasCalled)) await step(person, isKept ? '' : '+')
  }
  for (const person of before) if (!after.has(person.id)) await step(person, '-')
  return { statements, told, emails }
}

/** One audit entry names at most so many people, because its text has a bound. */
const PEOPLE_PER_ENTRY = 5

interface GroupWrite {
  readonly entry: AuditedAction | undefined
  readonly before: readonly AtomicStatement[]
  readonly after?: readonly AtomicStatement[]
}

/** All of a request in one transaction with its audit entries. */
async function write(
  { auditLog, account, people, forgetAccount }: ScimServices,
  { id, name }: PlannedGroup,
  { statements, told, emails }: MemberPlan,
  { entry, before, after = [] }: GroupWrite,
): Promise<ScimRefused | undefined> {
  const entries: AuditedAction[] = entry === undefined ? [] : [entry]
  for (let start = 0; start < told.length; start += PEOPLE_PER_ENTRY) {
    const detail = `${quoted(name)}: ${told.slice(start, start + PEOPLE_PER_ENTRY).join(', ')}`
    entries.push({ action: 'group_changed', target: id, account, detail })
  }
  try {
    if (await auditLog.act(entries, [...before, ...statements, ...after])) return undefined
  } catch (error) {
    if (isAlreadyThere(error)) return taken(name)
    throw error
  } finally {
    forgetPerson({ sessions: people.sessions, forgetAccount }, { account })
  }
  const named = emails.slice(0, PEOPLE_PER_ENTRY).join(', ')
  const all = emails.length > PEOPLE_PER_ENTRY ? `${named} or another of ${emails.length} people` : named
  return emails.length > 0 ? refusedChange(all) : refuseScim(409, `${quoted(name)} was changed at the same time.`)
}

/** Its people lose the role that it gave; its team is archived. */
export async function deleteGroup(services: ScimServices, id: string): Promise<ScimOutcome> {
  const { db, account, clock } = services
  const row = await findOwn(services, id)
  if ('kind' in row) return row
  const group = { id, name: row.name, isRole: row.team === null, wasCalled: row.name }
  const members = [{ kind: 'set', ids: [] }] as const
  const plan = await planMembers(services, group, await listMembersOfGroup(db, row.row), { members })
  const team = row.team === null ? undefined : await findTeamByRow(db, row.team)
  const refused = await write(services, group, plan, {
    entry: { action: 'group_deleted', target: id, account, detail: quoted(row.name) },
    before: [],
    after: [
      // Also those of operators.
      groupMembersDelete(row.row),
      groupDelete(row.row),
      ...(team === undefined ? [] : [teamUpdate({ ...team, archived_at: team.archived_at ?? clock.now() })]),
    ],
  })
  return refused ?? done({})
}
