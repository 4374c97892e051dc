import { NO_PASSWORD } from '../auth/hash-password.ts'
import type { ScimRule } from '../auth/oidc.ts'
import { findAccountByEmail } from '../db/accounts.ts'
import { keysRevocation } from '../db/keys.ts'
import {
  findPersonByEmail,
  invitesOfMakerWithdrawal,
  inviteWithdrawal,
  listOpenInvitesOf,
  memberRemoval,
  personInsert,
  sessionsDelete,
} from '../db/people.ts'
import {
  countScimUsers,
  disableNew,
  enableDeactivated,
  findScimUser,
  listGroupsOfPerson,
  listIdsByExternalId,
  listScimUsers,
  membershipsDelete,
  readScimVersion,
  roleOfDisabled,
  type ScimUserRow,
  scimUserUpsert,
  scimVersionUse,
} from '../db/scim.ts'
import { type AtomicStatement, isAlreadyThere } from '../db/sql-store.ts'
import { type AccountRow, mintPersonId } from '../model/ids.ts'
import type { ActorLog, AuditEntry } from './audit.ts'
import { type Done, done } from './outcome.ts'
import { forgetPerson } from './people.ts'
import {
  readFilter,
  readPageOf,
  readUser,
  readUserPatch,
  refuseScim,
  type ScimRefused,
  type UserTerms,
} from './scim-values.ts'
import type { AdminServices } from './services.ts'
import { isoTime } from './values.ts'

/** The services of a request of a directory, whose audit log has its key as the actor. */
export interface ScimServices
  extends Pick<AdminServices, 'db' | 'clock' | 'random' | 'auditLog' | 'people' | 'forgetAccount'> {
  readonly account: AccountRow
  readonly roles: readonly ScimRule[]
  /** The address of `/scim/v2` as the directory sees it. */
  readonly base: string
}

export type ScimOutcome = Done<object> | ScimRefused

/** The last change of each directory. There are at most as many as requests under way. */
const lastChanges = new Map<AccountRow, Promise<unknown>>()

/** After the changes of the same directory that this process makes already, so that few have to be made again. */
function inTurn<Result>(account: AccountRow, work: () => Promise<Result>): Promise<Result> {
  const result = (lastChanges.get(account) ?? Promise.resolve()).then(work)
  const end: Promise<unknown> = result
    .catch(() => undefined)
    .then(() => lastChanges.get(account) === end && lastChanges.delete(account))
  lastChanges.set(account, end)
  return result
}

/** With each attempt another change of the same directory was faster. */
const ATTEMPTS_MAX = 10

/**
 * Makes a change from what the directory has come to: if another request, also on another node, changes it meanwhile, nothing is
 * written and the change is made again from what is there then.
 */
export const changeDirectory = (
  services: ScimServices,
  change: (services: ScimServices) => Promise<ScimOutcome>,
): Promise<ScimOutcome> =>
  inTurn(services.account, async () => {
    const { db, account, auditLog } = services
    for (let attempt = 1; ; attempt++) {
      const version = await readScimVersion(db, account)
      const act: ActorLog['act'] = (acts, statements) =>
        auditLog.act(acts, [scimVersionUse(account, version), ...statements])
      const outcome = await change({ ...services, auditLog: { ...auditLog, act } })
      const isRefused = outcome.kind === 'refused' && outcome.status === 409
      if (!isRefused || attempt === ATTEMPTS_MAX || (await readScimVersion(db, account)) === version) return outcome
    }
  })

export type QueryReader = (name: string) => string | undefined

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User'
const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'

const USER_FILTERS = ['userName', 'externalId', 'id'] as const

export async function listUsers(services: ScimServices, query: QueryReader): Promise<ScimOutcome> {
  const { db, account } = services
  const filter = readFilter(query('filter'), USER_FILTERS)
  if (filter !== undefined && 'kind' in filter) return filter
  const page = readPageOf(query)
  if (filter === undefined) {
    const [rows, total] = [await listScimUsers(db, account, page), await countScimUsers(db, account)]
    return done(listOf(await viewsOf(services, rows), { total, startIndex: page.startIndex }))
  }
  const rows = (await findFiltered(services, filter)).filter(isShown)
  const shown = rows.slice(page.skip, page.skip + page.limit)
  return done(listOf(await viewsOf(services, shown), { total: rows.length, startIndex: page.startIndex }))
}

async function findFiltered(
  { db, account }: ScimServices,
  { attribute, value }: { readonly attribute: string; readonly value: string },
): Promise<ScimUserRow[]> {
  if (attribute !== 'externalId') {
    const named = attribute === 'id' ? { id: value } : { email: value.toLowerCase() }
    return [await findScimUser(db, account, named)].filter((row) => row !== undefined)
  }
  const ids = await listIdsByExternalId(db, account, value)
  const rows = await Promise.all(ids.map(({ id }) => findScimUser(db, account, { id })))
  return rows.filter((row) => row !== undefined)
}

const isShown = ({ deleted_at }: ScimUserRow): boolean => deleted_at === null

export const listOf = (
  resources: readonly object[],
  { total, startIndex }: { readonly total: number; readonly startIndex: number },
) => ({
  schemas: [LIST_SCHEMA],
  ...{ totalResults: total, startIndex, itemsPerPage: resources.length, Resources: resources },
})

async function viewsOf(services: ScimServices, rows: readonly ScimUserRow[]): Promise<object[]> {
  const views: object[] = []
  for (const row of rows) views.push(await viewOf(services, row))
  return views
}

async function viewOf({ db, base }: ScimServices, row: ScimUserRow): Promise<object> {
  const { given_name: givenName, family_name: familyName, display_name: displayName } = row
  const groups = await listGroupsOfPerson(db, row.row)
  const hasName = givenName !== null || familyName !== null
  return {
    schemas: [USER_SCHEMA],
    ...{ id: row.id, ...(row.external_id !== null && { externalId: row.external_id }), userName: row.email },
    ...(hasName && { name: { ...(givenName !== null && { givenName }), ...(familyName !== null && { familyName }) } }),
    ...(displayName !== null && { displayName }),
    active: row.disabled_at === null,
    emails: [{ value: row.email, type: 'work', primary: true }],
    groups: groups.map(({ id, name }) => ({ value: id, display: name, $ref: `${base}/Groups/${id}` })),
    roles: [{ value: row.role, primary: true }],
    meta: { resourceType: 'User', created: isoTime(row.created_at), location: `${base}/Users/${row.id}` },
  }
}

export async function showUser(services: ScimServices, id: string): Promise<ScimOutcome> {
  const row = await findScimUser(services.db, services.account, { id })
  return row === undefined || !isShown(row) ? notFound('user', id) : done(await viewOf(services, row))
}

export const notFound = (what: 'user' | 'group', id: string): ScimRefused =>
  refuseScim(404, `This account has no ${what} ${JSON.stringify(id.slice(0, 80))}.`)

/** A user whom the directory has deleted is created again as the same person. */
export async function createUser(services: ScimServices, body: unknown): Promise<ScimOutcome> {
  const { db, account, clock, random, auditLog } = services
  const terms = readUser(body)
  if ('kind' in terms) return terms
  const { userName: email } = terms
  if (email === undefined) return refuseScim(400, 'userName is missing: the email of the user.', 'invalidValue')
  const former = await findScimUser(db, account, { email })
  if (former !== undefined && !isShown(former)) return write(services, former, { active: true, ...terms })
  if (await isTaken(services, email)) return taken(email)
  const [id, now] = [mintPersonId(random), clock.now()]
  const isDisabled = terms.active === false
  const entry = { action: 'person_provisioned', target: id, account, detail: `${email} as member` } as const
  try {
    const accountId = await idOfAccount(services)
    const isWritten = await auditLog.act(entry, [
      personInsert({ id, email, role: 'member', password: NO_PASSWORD, now }, accountId),
      scimUserUpsert(id, account, { ...profileOf(EMPTY, terms), deactivated_at: isDisabled ? now : null }),
      ...(isDisabled ? [disableNew(id, now)] : []),
    ])
    if (!isWritten) return refuseScim(409, `The users of this account were changed at the same time as ${email}.`)
  } catch (error) {
    if (isAlreadyThere(error)) return taken(email)
    throw error
  }
  return showUser(services, id)
}

async function idOfAccount({ db, account }: ScimServices): Promise<string> {
  const { id } = await db.selectFrom('accounts').select('id').where('row', '=', account).executeTakeFirstOrThrow()
  return id
}

/** A person has the email, or it belongs to another account: as its owner's, or by an invitation that works. */
async function isTaken({ db, account, clock }: ScimServices, email: string): Promise<boolean> {
  if ((await findPersonByEmail(db, email)) !== undefined) return true
  const owned = await findAccountByEmail(db, email)
  if (owned !== undefined && owned.row !== account) return true
  return (await listOpenInvitesOf(db, email, clock.now())).some((invite) => invite.account !== account)
}

/** The same words in all cases, so that a directory learns nothing about other accounts. */
const taken = (email: string) =>
  refuseScim(409, `${email} exists in this account, or is not free on this server.`, 'uniqueness')

const EMPTY = { external_id: null, given_name: null, family_name: null, display_name: null }

/** Absent terms stay. */
const profileOf = (
  before: Pick<ScimUserRow, 'external_id' | 'given_name' | 'family_name' | 'display_name'>,
  { externalId, givenName, familyName, displayName }: UserTerms,
) => ({
  external_id: externalId === undefined ? before.external_id : externalId,
  given_name: givenName === undefined ? before.given_name : givenName,
  family_name: familyName === undefined ? before.family_name : familyName,
  display_name: displayName === undefined ? before.display_name : displayName,
  deleted_at: null,
})

/** Attributes that the body leaves out are taken away, but leaving out `active` enables and disables no one. */
export async function replaceUser(services: ScimServices, id: string, body: unknown): Promise<ScimOutcome> {
  const terms = readUser(body)
  if ('kind' in terms) return terms
  if (terms.userName === undefined) return refuseScim(400, 'userName is missing.', 'invalidValue')
  return change(services, id, { externalId: null, givenName: null, familyName: null, displayName: null, ...terms })
}

export async function patchUser(services: ScimServices, id: string, body: unknown): Promise<ScimOutcome> {
  const terms = readUserPatch(body)
  return 'kind' in terms ? terms : change(services, id, terms)
}

async function change(services: ScimServices, id: string, terms: UserTerms): Promise<ScimOutcome> {
  const row = await findScimUser(services.db, services.account, { id })
  if (row === undefined || !isShown(row)) return notFound('user', id)
  if (terms.userName !== undefined && terms.userName !== row.email) {
    const detail = `userName is final: ${row.email} is the name of this person in the audit log.`
    return refuseScim(400, detail, 'mutability')
  }
  return write(services, row, terms)
}

/** Nothing is written if nothing changes, so that a directory may repeat what it says. */
async function write(services: ScimServices, row: ScimUserRow, terms: UserTerms): Promise<ScimOutcome> {
  const isActive = row.disabled_at === null
  const active = terms.active ?? isActive
  if (active && row.disabled_at !== null && row.disabled_at !== row.deactivated_at) return disabledHere(row)
  const now = services.clock.now()
  const deactivated_at = active === isActive ? row.deactivated_at : active ? null : now
  const profile = { ...profileOf(row, terms), deactivated_at }
  const names = ['external_id', 'given_name', 'family_name', 'display_name', 'deleted_at', 'deactivated_at'] as const
  const changed = names.filter((name) => profile[name] !== row[name])
  if (changed.length === 0 && active === isActive) return showUser(services, row.id)
  const profileStatements = changed.length === 0 ? [] : [scimUserUpsert(row.id, services.account, profile)]
  const [action, statements] =
    active === isActive
      ? (['person_provisioned', profileStatements] as const)
      : active
        ? (['person_enabled', [enableDeactivated(row.row, row.disabled_at ?? 0), ...profileStatements]] as const)
        : (['person_removed', [...removalOf(row, now), ...profileStatements]] as const)
  const refused = await act(services, row, { action, statements })
  return refused ?? showUser(services, row.id)
}

/** As when an owner removes a member. */
const removalOf = (row: ScimUserRow, now: number): AtomicStatement[] => [
  memberRemoval(row, now),
  sessionsDelete(row.row),
  inviteWithdrawal(row.email),
  invitesOfMakerWithdrawal(row.email, now),
  keysRevocation(row.row, now),
]

const disabledHere = ({ email }: ScimUserRow): ScimRefused =>
  refuseScim(
    409,
    `${email} was disabled by an operator or an admin of Millrace, not by the directory. Ask an operator to enable them.`,
  )

/** Disables the person for good, until the directory creates them again. */
export async function deleteUser(services: ScimServices, id: string): Promise<ScimOutcome> {
  const { db, account, clock } = services
  const row = await findScimUser(db, account, { id })
  if (row === undefined || !isShown(row)) return notFound('user', id)
  const now = clock.now()
  const deactivated_at = row.disabled_at === null ? now : row.deactivated_at
  const statements = [
    ...(row.disabled_at === null ? removalOf(row, now) : []),
    membershipsDelete(row.row),
    // Created again, they do not get back a role that a group gave.
    ...((await listGroupsOfPerson(db, row.row)).some(({ team }) => team === null)
      ? [roleOfDisabled(row.row, 'member')]
      : []),
    scimUserUpsert(id, account, { ...profileOf(row, {}), deleted_at: now, deactivated_at }),
  ]
  const refused = await act(services, row, { action: 'person_removed', statements })
  return refused ?? done({})
}

interface UserChange {
  readonly action: AuditEntry['action']
  readonly statements: readonly AtomicStatement[]
}

/** In one transaction with its audit entry. */
async function act(services: ScimServices, row: ScimUserRow, { action, statements }: UserChange) {
  const { auditLog, account, people, forgetAccount } = services
  const detail = `${row.email} by the directory`
  const isWritten = await auditLog
    .act({ action, target: row.id, account, detail }, statements)
    .finally(() => forgetPerson({ sessions: people.sessions, forgetAccount }, row))
  return isWritten ? undefined : refusedChange(row.email)
}

export const refusedChange = (email: string): ScimRefused =>
  refuseScim(409, `${email} is the last owner of this account, or was changed at the same time. Nothing was changed.`)
