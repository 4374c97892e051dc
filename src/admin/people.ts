import type { z } from 'zod'
import type { person } from '../contract/people.ts'
import type { PageQuery } from '../contract/values.ts'
import { findAccountByRow } from '../db/accounts.ts'
import {
  findPersonByEmail,
  findPersonById,
  identityDelete,
  invitesOfMakerWithdrawal,
  inviteWithdrawal,
  listIdentities,
  listPeople as listStored,
  personDisable,
  personEnable,
  type StoredPerson,
  sessionsDelete,
} from '../db/people.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { AccountRow } from '../model/ids.ts'
import { type AnyAccount, resolveAccount } from './accounts.ts'
import { actorLogOf, COMMAND_LINE } from './audit.ts'
import { done, type OperationRefused, refuseOperation } from './outcome.ts'
import type { AdminServices, DbService } from './services.ts'
import type { Session, SignInServices } from './sessions.ts'
import { isoTime, isoTimeOrNull, normalizeEmail, quoted, readPage } from './values.ts'

/** The keys of a person belong to their account, whose callers the server keeps in memory. */
export type PeopleServices = Pick<AdminServices, 'people' | 'forgetAccount'>

/**
 * Ends all sessions and links of a person, and stops their keys until they are enabled again. The person is named by email or id. The console refuses to disable the last operator, because no
 * one could enable them again; the command line needs no sign-in and may disable everyone.
 */
export async function disablePerson(
  { people: { db, clock, audit, sessions }, forgetAccount }: PeopleServices,
  { person: named }: { readonly person: string },
  actor: string,
) {
  const person = await findNamed(db, named)
  if ('kind' in person) return person
  if (person.disabled_at !== null) return done(await personView(db, person))
  const { id, account, row, email } = person
  const now = clock.now()
  const changed = await actorLogOf(audit, actor)
    .act({ action: 'person_disabled', target: id, account, detail: email }, [
      personDisable(row, now, actor === COMMAND_LINE ? 'any' : 'unless-last'),
      sessionsDelete(row),
      inviteWithdrawal(email),
      invitesOfMakerWithdrawal(email, now),
    ])
    .finally(() => forgetPerson({ sessions, forgetAccount }, person))
  // Unless it was changed, a concurrent call has disabled them, or they are the last operator.
  const current = await currentPerson(db, id)
  if (changed || current.disabled_at !== null) return done(await personView(db, current))
  return refuseOperation('last_operator', `${email} is the last operator. Invite another one first.`)
}

/** What the server keeps in memory of a person: sessions, and the callers of their keys. */
export function forgetPerson(
  { sessions, forgetAccount }: Pick<SignInServices, 'sessions'> & Pick<PeopleServices, 'forgetAccount'>,
  { account }: Pick<StoredPerson, 'account'>,
): void {
  sessions.forgetAll()
  if (account !== null) forgetAccount(account as AccountRow)
}

/** Forgets how a person is known to the issuers of single sign-on. Their sessions end, because one of these may have begun them. */
export async function unlinkPerson(
  { people: { db, audit, sessions } }: PeopleServices,
  { person: named }: { readonly person: string },
  actor: string,
) {
  const person = await findNamed(db, named)
  if ('kind' in person) return person
  const identities = await listIdentities(db, person.row)
  const { id, account, row, email } = person
  const detail = `${email} from ${identities.map(({ issuer }) => issuer).join(', ')}`
  if (identities.length > 0)
    await actorLogOf(audit, actor)
      .act({ action: 'identity_unlinked', target: id, account, detail }, [
        ...identities.map((identity) => identityDelete(identity.row)),
        sessionsDelete(row),
      ])
      .finally(() => sessions.forgetAll())
  return done({ ...(await personView(db, person)), unlinked: identities.length })
}

/** The person keeps their password. Keys that were not revoked work again. */
export async function enablePerson(
  { people: { db, audit, sessions }, forgetAccount }: PeopleServices,
  { person: named }: { readonly person: string },
  actor: string,
) {
  const person = await findNamed(db, named)
  if ('kind' in person) return person
  const { id, account, row, email } = person
  // It fails if they were not disabled, which is what was asked for.
  await actorLogOf(audit, actor)
    .act({ action: 'person_enabled', target: id, account, detail: email }, [personEnable(row)])
    .finally(() => forgetPerson({ sessions, forgetAccount }, person))
  return done(await personView(db, await currentPerson(db, id)))
}

/** By email or id. */
export const findPerson = (db: LedgerDb, named: string): Promise<StoredPerson | undefined> =>
  named.includes('@') ? findPersonByEmail(db, normalizeEmail(named)) : findPersonById(db, named.trim())

export async function findNamed(db: LedgerDb, named: string): Promise<StoredPerson | OperationRefused> {
  const person = await findPerson(db, named)
  return person ?? refuseOperation('person_not_found', `There is no person ${quoted(named)}. See: millrace people list`)
}

async function currentPerson(db: LedgerDb, id: string): Promise<StoredPerson> {
  const person = await findPersonById(db, id)
  if (person === undefined) throw new Error(`Person ${id} is missing, although people are never deleted`)
  return person
}

export const signedInView = ({ person: { id, email, role }, account }: Session): z.output<typeof person> => ({
  ...{ id, email, role },
  account: account === undefined ? null : { id: account.id, email: account.email, status: account.status },
})

/** A person as operators see them. */
async function personView(db: LedgerDb, { id, email, role, account, created_at, disabled_at }: StoredPerson) {
  const owned = account === null ? undefined : await findAccountByRow(db, account)
  return {
    ...{ id, email, role, account: owned?.id ?? null },
    ...{ created_at: isoTime(created_at), disabled_at: isoTimeOrNull(disabled_at) },
  }
}

/** The people of one account or of all, the oldest first. */
export async function listPeople({ db }: DbService, { account: named, ...page }: PageQuery & AnyAccount) {
  const resolved = named === undefined ? undefined : await resolveAccount({ db }, named)
  if (resolved?.kind === 'refused') return resolved
  const of = resolved && { account: resolved.value.row }
  return readPage(page, {
    first: 0,
    read: (after, limit) => listStored(db, { ...of, after, limit }),
    numberOf: ({ row }) => row,
    view: (row) => personView(db, row),
  })
}
