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
import { UnexpectedChanges } from '../db/sqlite/sqlite-file.ts'
import type { LedgerDb, Role } from '../db/tables.ts'
import { type AnyAccount, resolveAccount } from './accounts.ts'
import { COMMAND_LINE } from './audit.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import type { PeopleDeps, Session } from './people-deps.ts'
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

/** By e-mail or id. */
interface OnePerson {
  readonly person: string
}

/**
 * Out at once, of every session, with no link left by which they could come in again as somebody else. In the console the
 * last operator stays, because nobody could let them in again; at the command line, which needs no sign-in, everybody can be
 * disabled.
 */
export async function disablePerson(
  deps: PeopleDeps,
  { person: named }: OnePerson,
  actor: string,
): Promise<Outcome<PersonView>> {
  const person = await findNamed(deps.db, named)
  if ('kind' in person) return person
  if (person.disabled_at !== null) return view(deps.db, person)
  const { id, account, row, email } = person
  const now = deps.clock.now()
  try {
    await deps.audit.record({ actor, action: 'person_disabled', target: id, account, detail: email }, [
      personDisable(row, now, actor === COMMAND_LINE ? 'any' : 'unless-last'),
      sessionsDelete(row),
      inviteWithdrawal(email),
      invitesOfMakerWithdrawal(email, now),
    ])
  } catch (error) {
    if (error instanceof UnexpectedChanges) return lastOperator(deps.db, person)
    throw error
  } finally {
    deps.sessions.forgetAll()
  }
  return view(deps.db, person)
}

/** They sign in with the password that they had. */
export async function enablePerson(
  deps: PeopleDeps,
  { person: named }: OnePerson,
  actor: string,
): Promise<Outcome<PersonView>> {
  const person = await findNamed(deps.db, named)
  if ('kind' in person) return person
  const { id, account, row, email } = person
  try {
    await deps.audit.record({ actor, action: 'person_enabled', target: id, account, detail: email }, [
      personEnable(row),
    ])
  } catch (error) {
    // They were not disabled: what was wished is so.
    if (!(error instanceof UnexpectedChanges)) throw error
  }
  return view(deps.db, person)
}

async function findNamed(db: LedgerDb, named: string): Promise<StoredPerson | Refused> {
  const person = named.includes('@')
    ? await findPersonByEmail(db, normalizeEmail(named))
    : await findPersonById(db, named.trim())
  return person ?? refused('person_not_found', `Nobody has signed up as ${quoted(named)}. See: millrace people list`)
}

async function view(db: LedgerDb, { id }: StoredPerson): Promise<Outcome<PersonView>> {
  const person = await findPersonById(db, id)
  if (person === undefined) throw new Error(`Person ${id} is not there any more, and nobody is ever deleted`)
  return done(await personView(db, person))
}

/** Unless somebody else has just done the same. */
async function lastOperator(db: LedgerDb, { id, email }: StoredPerson): Promise<Outcome<PersonView>> {
  const person = await findPersonById(db, id)
  if (person !== undefined && person.disabled_at !== null) return done(await personView(db, person))
  return refused('last_operator', `${email} is the last operator. Invite another one first.`)
}

/** Whoever is signed in, as the console is told. */
export const signedInView = ({ person: { id, email, role }, account }: Session): z.output<typeof person> => ({
  id,
  email,
  role,
  account: account === undefined ? null : { id: account.id, email: account.email, status: account.status },
})

/** Somebody who may sign in, as an operator sees them. */
interface PersonView {
  readonly id: string
  readonly email: string
  readonly role: Role
  readonly account: string | null
  readonly created_at: string
  readonly disabled_at: string | null
}

async function personView(db: LedgerDb, stored: StoredPerson): Promise<PersonView> {
  const account = stored.account === null ? undefined : await findAccountByRow(db, stored.account)
  return {
    id: stored.id,
    email: stored.email,
    role: stored.role,
    account: account?.id ?? null,
    created_at: isoTime(stored.created_at),
    disabled_at: isoTimeOrNull(stored.disabled_at),
  }
}

/** Whoever may sign in, the oldest first: all of them, or those of one account. */
export async function listPeople(
  { db }: { readonly db: LedgerDb },
  { account: named, after, limit }: PageQuery & AnyAccount,
): Promise<Outcome<Page<PersonView>>> {
  const resolved = named === undefined ? undefined : await resolveAccount({ db }, named)
  if (resolved?.kind === 'refused') return resolved
  const shown = readCursor(after) ?? 0
  if (typeof shown !== 'number') return shown
  const of = resolved && { account: resolved.account.row }
  const { rows, next } = cutPage(
    await listStored(db, { ...of, after: shown, limit: limit + 1 }),
    limit,
    ({ row }) => row,
  )
  return done({ items: await Promise.all(rows.map((row) => personView(db, row))), next: writeCursor(next) })
}
