import { UnexpectedChanges } from '../../sqlite/sqlite-file.ts'
import { invitesOfMakerWithdrawal, inviteWithdrawal } from '../../store/invites.ts'
import {
  findPersonByEmail,
  findPersonById,
  personDisable,
  personEnable,
  type StoredPerson,
} from '../../store/people.ts'
import { sessionsDelete } from '../../store/sessions.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { normalizeEmail, quoted } from '../naming.ts'
import { done, type Outcome, type Refused, refused } from '../outcome.ts'
import { COMMAND_LINE } from '../trail/audit-trail.ts'
import { type PersonView, personView } from './list-people.ts'
import type { PeopleDeps } from './people-deps.ts'

/** By e-mail or id. */
export interface OnePerson {
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
