import type { z } from 'zod'
import type { person } from '../contract/people.ts'
import type { PageQuery } from '../contract/values.ts'
import { findAccountByRow } from '../db/accounts.ts'
import {
  findPersonByEmail,
  findPersonById,
  invitesOfMakerWithdrawal,
  inviteWithdrawal,
  listPeople as listStored,
  personDisable,
  personEnable,
  type StoredPerson,
  sessionsDelete,
} from '../db/people.ts'
import { UnexpectedChanges } from '../db/sqlite/failure.ts'
import type { LedgerDb } from '../db/tables.ts'
import { type AnyAccount, resolveAccount } from './accounts.ts'
import { COMMAND_LINE } from './audit.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import type { Session, SignInServices } from './sessions.ts'
import {
  cutPage,
  isoTime,
  isoTimeOrNull,
  normalizeEmail,
  type Page,
  quoted,
  readCursor,
  writeCursor,
} from './values.ts'

/** The email or id of a person. */
interface OnePerson {
  readonly person: string
}

/**
 * Ends all sessions and links of a person. The console refuses to disable the last operator, because no one could enable them
 * again; the command line needs no sign-in and may disable everyone.
 */
export async function disablePerson(
  { db, clock, audit, sessions }: SignInServices,
  { person: named }: OnePerson,
  actor: string,
): Promise<Outcome<PersonView>> {
  const person = await findNamed(db, named)
  if ('kind' in person) return person
  if (person.disabled_at !== null) return view(db, person)
  const { id, account, row, email } = person
  const now = clock.now()
  try {
    await audit.record({ actor, action: 'person_disabled', target: id, account, detail: email }, [
      personDisable(row, now, actor === COMMAND_LINE ? 'any' : 'unless-last'),
      sessionsDelete(row),
      inviteWithdrawal(email),
      invitesOfMakerWithdrawal(email, now),
    ])
  } catch (error) {
    if (!(error instanceof UnexpectedChanges)) throw error
    // Either a concurrent call has disabled them, or they are the last operator.
    const current = await findPersonById(db, id)
    if (current !== undefined && current.disabled_at !== null) return done(await personView(db, current))
    return refused('last_operator', `${email} is the last operator. Invite another one first.`)
  } finally {
    sessions.forgetAll()
  }
  return view(db, person)
}

/** The person keeps their password. */
export async function enablePerson(
  { db, audit }: SignInServices,
  { person: named }: OnePerson,
  actor: string,
): Promise<Outcome<PersonView>> {
  const person = await findNamed(db, named)
  if ('kind' in person) return person
  const { id, account, row, email } = person
  const entry = { actor, action: 'person_enabled', target: id, account, detail: email } as const
  try {
    await audit.record(entry, [personEnable(row)])
  } catch (error) {
    // They were not disabled, which is what was asked for.
    if (!(error instanceof UnexpectedChanges)) throw error
  }
  return view(db, person)
}

async function findNamed(db: LedgerDb, named: string): Promise<StoredPerson | Refused> {
  const person = named.includes('@')
    ? await findPersonByEmail(db, normalizeEmail(named))
    : await findPersonById(db, named.trim())
  return person ?? refused('person_not_found', `There is no person ${quoted(named)}. See: millrace people list`)
}

async function view(db: LedgerDb, { id }: StoredPerson): Promise<Outcome<PersonView>> {
  const person = await findPersonById(db, id)
  if (person === undefined) throw new Error(`Person ${id} is missing, although people are never deleted`)
  return done(await personView(db, person))
}

export const signedInView = ({ person: { id, email, role }, account }: Session): z.output<typeof person> => ({
  ...{ id, email, role },
  account: account === undefined ? null : { id: account.id, email: account.email, status: account.status },
})

type PersonView = Awaited<ReturnType<typeof personView>>

/** A person as operators see them. */
async function personView(db: LedgerDb, { id, email, role, account, created_at, disabled_at }: StoredPerson) {
  const owned = account === null ? undefined : await findAccountByRow(db, account)
  return {
    ...{ id, email, role, account: owned?.id ?? null },
    ...{ created_at: isoTime(created_at), disabled_at: isoTimeOrNull(disabled_at) },
  }
}

/** The people of one account or of all, the oldest first. */
export async function listPeople(
  { db }: { readonly db: LedgerDb },
  { account: named, after, limit }: PageQuery & AnyAccount,
): Promise<Outcome<Page<PersonView>>> {
  const resolved = named === undefined ? undefined : await resolveAccount({ db }, named)
  if (resolved?.kind === 'refused') return resolved
  const last = readCursor(after) ?? 0
  if (typeof last !== 'number') return last
  const of = resolved && { account: resolved.account.row }
  const read = await listStored(db, { ...of, after: last, limit: limit + 1 })
  const { rows, next } = cutPage(read, limit, ({ row }) => row)
  return done({ items: await Promise.all(rows.map((row) => personView(db, row))), next: writeCursor(next) })
}
