import { NO_PASSWORD } from '../auth/hash-password.ts'
import type { Identity, OidcProvider, RoleRule } from '../auth/oidc.ts'
import type { SignOnProblem } from '../contract/people.ts'
import { findAccountByEmail, findAccountById } from '../db/accounts.ts'
import {
  findPersonByEmail,
  findPersonByIdentity,
  findPersonByRow,
  groupRoleChange,
  identityInsert,
  invitesOfMakerWithdrawal,
  listIdentities,
  personInsert,
  type StoredPerson,
} from '../db/people.ts'
import type { Role } from '../db/people-tables.ts'
import { type AtomicStatement, isAlreadyThere, UnexpectedChanges } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import { mintPersonId } from '../model/ids.ts'
import type { AuditEntry } from './audit.ts'
import { disablePerson, forgetPerson, type PeopleServices } from './people.ts'
import type { SignInServices } from './sessions.ts'
import { normalizeEmail } from './values.ts'

export interface SignOnRefused {
  readonly kind: 'refused'
  readonly problem: SignOnProblem
}

export const refuseSignOn = (problem: SignOnProblem): SignOnRefused => ({ kind: 'refused', problem })

type PersonOutcome = { readonly kind: 'person'; readonly person: StoredPerson } | SignOnRefused

/**
 * The person that an identity stands for: known by issuer and subject, or at their first sign-in by the verified email, or created.
 * Then groups decide their role.
 */
export async function personOf(
  services: PeopleServices,
  provider: OidcProvider,
  identity: Identity,
): Promise<PersonOutcome> {
  const { people } = services
  const { email, isEmailVerified } = identity
  if (email === undefined || !(isEmailVerified || provider.trustsEmail)) return refuseSignOn('email')
  const domain = email.slice(email.indexOf('@') + 1)
  if (provider.emailDomains.length > 0 && !provider.emailDomains.includes(domain)) return refuseSignOn('domain')
  const known = await findPersonByIdentity(people.db, identity)
  if (known !== undefined) return withRole(services, provider, identity, known)
  const named = await findPersonByEmail(people.db, email)
  if (named === undefined) return provider.createsPeople ? create(people, provider, identity, email) : UNKNOWN
  // The email has moved to another identity at the provider, who is not the person.
  const others = await listIdentities(people.db, named.row)
  if (others.some(({ issuer }) => issuer === identity.issuer)) return refuseSignOn('other_identity')
  if (!provider.linksByEmail) return UNKNOWN
  if (named.disabled_at !== null) return refuseSignOn('disabled')
  const found = await findRule(people.db, provider, identity, named.account)
  if (found.kind === 'refused') return found
  // An operator without an account is not linked by the provider of an account.
  const account = found.rule?.account
  if (account !== undefined && account.row !== named.account) return refuseSignOn('other_account')
  const isLinked = await write(people, entryOf(named, 'identity_linked', `to ${provider.name} by the email`), [
    identityInsert(named.id, identity, people.clock.now()),
  ])
  return isLinked ? withRole(services, provider, identity, named) : refuseSignOn('expired')
}

const UNKNOWN = refuseSignOn('unknown_person')

type RuleOutcome =
  /** Undefined: groups decide nothing at this provider. */
  | {
      readonly kind: 'rule'
      readonly rule: { readonly role: Role; readonly account: FoundAccount | undefined } | undefined
    }
  | SignOnRefused

type FoundAccount = { readonly id: string; readonly row: number }

/** The first rule whose group the person is in, and whose account is theirs if they have one. */
async function findRule(
  db: LedgerDb,
  { roles }: OidcProvider,
  { groups }: Identity,
  account: number | null,
): Promise<RuleOutcome> {
  if (roles.length === 0) return { kind: 'rule', rule: undefined }
  let refused: SignOnProblem = 'no_role'
  for (const { group, account: named, role } of roles) {
    if (groups?.includes(group) !== true) continue
    if (named === undefined) return { kind: 'rule', rule: { role, account: undefined } }
    const found = await findAccount(db, named)
    if (found === undefined) continue
    if (account === null || account === found.row) return { kind: 'rule', rule: { role, account: found } }
    refused = 'other_account'
  }
  return refuseSignOn(refused)
}

/** Undefined for a closed account, too: it takes no new people. */
async function findAccount(db: LedgerDb, named: NonNullable<RoleRule['account']>): Promise<FoundAccount | undefined> {
  const account = await (named.includes('@')
    ? findAccountByEmail(db, normalizeEmail(named))
    : findAccountById(db, named))
  return account === undefined || account.status === 'closed' ? undefined : account
}

/** The names of `roles` of a configuration that are no open account, for warnings. */
export async function listUnknownAccounts(db: LedgerDb, roles: readonly Pick<RoleRule, 'account'>[]) {
  const names = new Set(roles.flatMap(({ account }) => account ?? []))
  const unknown: string[] = []
  for (const name of names) if ((await findAccount(db, name)) === undefined) unknown.push(name)
  return unknown
}

/** Without a password. Their identity is inserted with them. */
async function create(
  people: SignInServices,
  provider: OidcProvider,
  identity: Identity,
  email: string,
): Promise<PersonOutcome> {
  const { db, random, clock } = people
  const found = await findRule(db, provider, identity, null)
  if (found.kind === 'refused') return found
  const { rule } = found
  if (rule === undefined) return UNKNOWN
  const [id, now] = [mintPersonId(random), clock.now()]
  const detail = `as ${rule.role} by ${provider.name}`
  const entry = { actor: email, action: 'signed_up', target: id, account: rule.account?.row, detail } as const
  const isCreated = await write(people, entry, [
    personInsert({ id, email, role: rule.role, password: NO_PASSWORD, now }, rule.account?.id ?? null),
    identityInsert(id, identity, now),
  ])
  const person = isCreated ? await findPersonByEmail(db, email) : undefined
  return person === undefined ? refuseSignOn('expired') : { kind: 'person', person }
}

/** Gives a known person the role of their groups, or refuses them without one. */
async function withRole(
  services: PeopleServices,
  provider: OidcProvider,
  identity: Identity,
  person: StoredPerson,
): Promise<PersonOutcome> {
  const { people } = services
  if (person.disabled_at !== null) return refuseSignOn('disabled')
  const found = await findRule(people.db, provider, identity, person.account)
  if (found.kind === 'refused') return refuseWithoutRole(services, provider, { identity, person, refusal: found })
  const { rule } = found
  if (rule === undefined || rule.role === person.role) return { kind: 'person', person }
  const detail = `${person.email} from ${person.role} to ${rule.role}, by their groups at ${provider.name}`
  const isChanged = await write(people, { ...entryOf(person, 'role_changed', detail), actor: 'system' }, [
    groupRoleChange(person, rule.role, rule.account?.row ?? null),
    invitesOfMakerWithdrawal(person.email, people.clock.now()),
  ]).finally(() => forgetPerson({ sessions: people.sessions, forgetAccount: services.forgetAccount }, person))
  const current = await findPersonByRow(people.db, person.row)
  if (current?.role === rule.role) return { kind: 'person', person: current }
  return refuseSignOn(isChanged ? 'expired' : 'last')
}

interface WithoutRole {
  readonly identity: Identity
  readonly person: StoredPerson
  readonly refusal: SignOnRefused
}

/** A provider that names no groups at all is misconfigured, or has too many for a token, so the person is not disabled for that. */
async function refuseWithoutRole(
  services: PeopleServices,
  provider: OidcProvider,
  { identity, person, refusal }: WithoutRole,
): Promise<SignOnRefused> {
  const detail = `by ${provider.name}: no group gives them a role`
  await services.people.audit.record(entryOf(person, 'sign_in_refused', detail))
  if (provider.disablesRemoved && identity.groups !== undefined && refusal.problem === 'no_role')
    await disablePerson(services, { person: person.id }, 'system')
  return refusal
}

const entryOf = ({ email, id, account }: StoredPerson, action: AuditEntry['action'], detail: string): AuditEntry => ({
  ...{ actor: email, action, target: id, account, detail },
})

/** False if another change came first. */
async function write(
  { audit }: SignInServices,
  entry: AuditEntry,
  statements: readonly AtomicStatement[],
): Promise<boolean> {
  try {
    await audit.record(entry, statements)
    return true
  } catch (error) {
    if (error instanceof UnexpectedChanges || isAlreadyThere(error)) return false
    throw error
  }
}
