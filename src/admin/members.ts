import type { z } from 'zod'
import type { changeMemberBody, inviteMemberBody, member } from '../contract/people.ts'
import type { PageQuery } from '../contract/values.ts'
import { countKeysOfPeople, keysRevocation } from '../db/keys.ts'
import {
  findPersonByEmail,
  findPersonById,
  findPersonByRow,
  invitesOfMakerWithdrawal,
  inviteWithdrawal,
  listPeople,
  memberRemoval,
  roleChange,
  roleCheck,
  type StoredPerson,
  sessionsDelete,
} from '../db/people.ts'
import type { MemberRole, Role } from '../db/people-tables.ts'
import type { AtomicStatement } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { AccountRow } from '../model/ids.ts'
import { type ActorLog, actorLogOf } from './audit.ts'
import { capsOf } from './caps.ts'
import { HOUR_MS } from './date-ranges.ts'
import { draftInvitation } from './invitations.ts'
import { done, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'
import { forgetPerson, type PeopleServices } from './people.ts'
import type { AdminServices, DbService } from './services.ts'
import type { Session } from './sessions.ts'
import { isoTime, quoted, readPage } from './values.ts'

/** An admin or an owner who manages the people of their account. */
export interface Manager {
  readonly account: NonNullable<Session['account']>
  readonly person: Session['person']
  /** In the account: an operator is as its owner. */
  readonly role: MemberRole
}

type MemberView = z.output<typeof member>

/** The roles that a manager may give, and of the people they may change. Owners are the business of owners. */
const managedBy = ({ role }: Manager): readonly Role[] =>
  role === 'owner' ? ['viewer', 'member', 'admin', 'owner'] : ['viewer', 'member', 'admin']

const memberView = ({ id, email, role, disabled_at, created_at }: StoredPerson, keys: number): MemberView => ({
  ...{ id, email, role, keys, created_at: isoTime(created_at) },
  state: disabled_at === null ? 'active' : 'disabled',
})

/** The people of an account, the oldest first. */
export const listMembers = ({ db }: DbService, account: number, page: PageQuery): Promise<Outcome<Page>> =>
  readPage(page, {
    first: 0,
    async read(after, limit) {
      const people = await listPeople(db, { account, after, limit })
      const keys = await countKeysOfPeople(
        db,
        people.map(({ row }) => row),
      )
      return people.map((person) => ({ person, keys: keys.get(person.row) ?? 0 }))
    },
    numberOf: ({ person }) => person.row,
    view: ({ person, keys }) => memberView(person, keys),
  })

type Page = { readonly items: readonly MemberView[]; readonly next: string | null }

export async function inviteMember(
  { people }: PeopleServices,
  manager: Manager,
  { email, role }: z.output<typeof inviteMemberBody>,
) {
  const roles = managedBy(manager)
  if (!roles.includes(role)) return ownersOnly
  const known = await findPersonByEmail(people.db, email)
  if (known !== undefined) {
    if (known.account === manager.account.row && known.disabled_at !== null) return memberDisabled(known)
    return refuseOperation('person_exists', `${email} has already signed up on this server.`, { param: 'email' })
  }
  const { account, person: actor } = manager
  const draft = await draftInvitation(people, { role, account, person: undefined, email }, actor.email, roles)
  const { invitationMail } = people
  const statements = [roleCheck(actor), invitationMail.room(account.row), ...draft.statements]
  const isWritten = await logOf(people, manager).act(draft.entry, statements)
  if (isWritten) return done(await draft.finish())
  return (await invitationMail.hasRoom(account.row)) ? changedMeanwhile : tooManyInvitations
}

/** Gives a person another role. The links that they have made end, because a lower role may not have made them. */
export async function changeMember(
  services: PeopleServices,
  manager: Manager,
  { person: id, role }: z.output<typeof changeMemberBody> & OneMember,
): Promise<Outcome<MemberView>> {
  const { people } = services
  const person = await findManaged(people.db, manager, id)
  if ('kind' in person) return person
  if (!managedBy(manager).includes(role)) return ownersOnly
  if (person.disabled_at !== null) return memberDisabled(person)
  if (person.role === role) return viewOf(people.db, person)
  return change(services, manager, {
    person,
    entry: { action: 'role_changed', detail: `${person.email} from ${person.role} to ${role}` },
    statements: [roleChange(person, role), invitesOfMakerWithdrawal(person.email, people.clock.now())],
    isDone: (current) => current.role === role,
  })
}

interface OneMember {
  readonly person: string
}

/** Ends their sessions, links and keys for good. Their receipts stay. */
export async function removeMember(
  services: PeopleServices,
  manager: Manager,
  { person: id }: OneMember,
): Promise<Outcome<MemberView>> {
  const { people } = services
  const person = await findManaged(people.db, manager, id)
  if ('kind' in person) return person
  const { row, email } = person
  const now = people.clock.now()
  return change(services, manager, {
    person,
    entry: { action: 'person_removed', detail: `${email}, and their keys` },
    statements: [
      memberRemoval(person, now),
      sessionsDelete(row),
      inviteWithdrawal(email),
      invitesOfMakerWithdrawal(email, now),
      keysRevocation(row, now),
    ],
    isDone: (current) => current.disabled_at !== null,
  })
}

interface MemberChange {
  readonly person: StoredPerson
  readonly entry: { readonly action: 'role_changed' | 'person_removed'; readonly detail: string }
  readonly statements: readonly AtomicStatement[]
  readonly isDone: (current: StoredPerson) => boolean
}

/** In one transaction, and only while the manager and the person have the roles that were looked at. */
async function change(
  services: PeopleServices,
  manager: Manager,
  { person, entry, statements, isDone }: MemberChange,
): Promise<Outcome<MemberView>> {
  const { db, sessions } = services.people
  const { id, account } = person
  const isWritten = await logOf(services.people, manager)
    .act({ ...entry, target: id, account }, [roleCheck(manager.person), ...statements])
    .finally(() => forgetPerson({ sessions, forgetAccount: services.forgetAccount }, person))
  const current = await findPersonByRow(db, person.row)
  if (current === undefined) throw new Error(`Person ${id} is missing, although people are never deleted`)
  if (isWritten || isDone(current)) return viewOf(db, current)
  const actor = await findPersonByRow(db, manager.person.row)
  const isAllowed = actor?.role === manager.person.role && actor.disabled_at === null
  if (!isAllowed || current.role !== person.role || current.disabled_at !== person.disabled_at) return changedMeanwhile
  return refuseOperation('last_owner', `${current.email} is the last owner of this account. Make another owner first.`)
}

const logOf = ({ audit }: PeopleServices['people'], { person }: Manager): ActorLog => actorLogOf(audit, person.email)

/** A person of the account whom the manager may change. */
async function findManaged(db: LedgerDb, manager: Manager, id: string): Promise<StoredPerson | OperationRefused> {
  const person = await findPersonById(db, id)
  if (person === undefined || person.account !== manager.account.row) {
    return personNotFound(id)
  }
  if (person.role === 'operator') {
    return refuseOperation('role_too_low', `${person.email} is an operator, whom only operators can change.`)
  }
  return managedBy(manager).includes(person.role) ? person : ownersOnly
}

/** A person of the account, with what is left of their caps. */
export async function showCappedMember(
  services: Pick<AdminServices, 'db' | 'ledger'>,
  account: AccountRow,
  { person: id }: OneMember,
) {
  const person = await findPersonById(services.db, id)
  if (person === undefined || person.account !== account) return personNotFound(id)
  const view = await viewOf(services.db, person)
  return done({ ...view.value, ...(await capsOf(services, account, { holder: 'person', row: person.row })) })
}

/** Changes or raises caps of a person whom the manager may change. */
export async function withManaged<Value>(
  { db }: DbService,
  manager: Manager,
  id: string,
  act: () => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  // Only operators change operators, also an operator who is the manager.
  const person = id === manager.person.id ? undefined : await findManaged(db, manager, id)
  return person !== undefined && 'kind' in person ? person : act()
}

const personNotFound = (id: string) => refuseOperation('person_not_found', `This account has no person ${quoted(id)}.`)

async function viewOf(db: LedgerDb, person: StoredPerson) {
  const keys = await countKeysOfPeople(db, [person.row])
  return done(memberView(person, keys.get(person.row) ?? 0))
}

const ownersOnly = refuseOperation('role_too_low', 'Only an owner of the account can invite, change or remove owners.')

const tooManyInvitations = refuseOperation(
  'too_many_invitations',
  'This account has sent 100 invitations within an hour. Invite further people in an hour.',
  { retryAfterSeconds: HOUR_MS / 1000 },
)

const memberDisabled = ({ email }: StoredPerson) =>
  refuseOperation('person_disabled', `${email} was removed from this account. The operator can enable them again.`)

const changedMeanwhile = refuseOperation(
  'person_changed',
  'Roles in this account were changed at the same time. Nothing was done: load the page again.',
)
