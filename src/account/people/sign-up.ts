import type { z } from 'zod'
import type { signUp as signUpBody } from '../../contract/people.ts'
import { mintAccountId, mintPersonId } from '../../model/ids.ts'
import { isAlreadyThere } from '../../sqlite/sqlite-failure.ts'
import { type AtomicStatement, UnexpectedChanges } from '../../sqlite/sqlite-file.ts'
import {
  accountInserts,
  emailUpdate,
  findAccountByEmail,
  findAccountById,
  findAccountByRow,
} from '../../store/accounts.ts'
import { inviteUse, type StoredInvite } from '../../store/invites.ts'
import { findPersonByRow, hasPeople, passwordReset, personInsert } from '../../store/people.ts'
import { sessionsDelete } from '../../store/sessions.ts'
import { done, type Outcome, type Refused, refused } from '../outcome.ts'
import type { AuditEntry } from '../trail/audit-trail.ts'
import { tooBusy } from './check-password.ts'
import { findOpenInvite, inviteNotValid } from './invite-person.ts'
import { type Client, openSession, type SignedIn } from './open-session.ts'
import type { PeopleDeps } from './people-deps.ts'

interface Steps {
  readonly email: string
  readonly statements: readonly AtomicStatement[]
  readonly entry: AuditEntry
}

/**
 * A link becomes a person, or a new password of one, and a session. All of it is one step that begins with using the
 * link, so of two at the same moment one gets it, and what fails later leaves it as good as it was.
 */
export async function signUp(
  deps: PeopleDeps,
  body: z.output<typeof signUpBody>,
  client: Client,
): Promise<Outcome<SignedIn>> {
  const invite = await findOpenInvite(deps, body.code)
  if (invite === undefined) return inviteNotValid()
  const email = invite.email ?? body.email
  if (email === undefined)
    return refused('email_missing', 'Say which e-mail you will sign in with.', { param: 'email' })
  const password = await deps.passwords.hash(body.password, 'known')
  if (password === 'busy') return tooBusy()
  const steps = await stepsOf(deps, { invite, email, password })
  const session = openSession(deps, { email: steps.email, password }, client)
  try {
    const statements = [inviteUse(invite, deps.clock.now()), ...steps.statements, ...session.statements]
    await deps.audit.record(steps.entry, statements)
  } catch (error) {
    const refusal = refusalOf(error, steps.email)
    if (refusal === undefined) throw error
    return refusal
  } finally {
    deps.sessions.forgetAll()
  }
  // Guesses of the old password, by the person or by strangers, count no more.
  deps.tries.startAnew({ email: steps.email, address: client.address, device: undefined })
  if (invite.email === null) await deps.onFirstPerson()
  const opened = await session.opened()
  return opened === undefined ? inviteNotValid() : done(opened)
}

interface Wish {
  readonly invite: StoredInvite
  readonly email: string
  readonly password: string
}

async function stepsOf(deps: PeopleDeps, wish: Wish): Promise<Steps> {
  return wish.invite.person === null ? becomePerson(deps, wish) : resetPassword(deps, wish, wish.invite.person)
}

async function becomePerson(deps: PeopleDeps, { invite, email, password }: Wish): Promise<Steps> {
  const { role } = invite
  const needsAccount = invite.account === null && role === 'operator' && !(await hasPeople(deps.db))
  const first = needsAccount ? await firstAccount(deps, email) : undefined
  const account = invite.account === null ? undefined : await findAccountByRow(deps.db, invite.account)
  const id = mintPersonId(deps.random)
  const person = personInsert({ id, email, role, password, now: deps.clock.now() }, first?.id ?? account?.id ?? null)
  // An account that is made in this very step has no row that the trail could name yet.
  const row = first === undefined ? invite.account : (await findAccountById(deps.db, first.id))?.row
  return {
    email,
    statements: [...(first?.statements ?? []), person],
    entry: { actor: email, action: 'signed_up', target: id, account: row, detail: `as ${role}` },
  }
}

/** Whoever may have known the old password is out. */
async function resetPassword(deps: PeopleDeps, { password }: Wish, row: number): Promise<Steps> {
  const person = await findPersonByRow(deps.db, row)
  if (person === undefined) throw new Error(`Person ${row} of an invitation is not there`)
  const { email, id, account } = person
  return {
    email,
    statements: [passwordReset(row, password, deps.clock.now()), sessionsDelete(row)],
    entry: { actor: email, action: 'password_reset', target: id, account, detail: 'by a link' },
  }
}

function refusalOf(error: unknown, email: string): Refused | undefined {
  // Used by somebody else at the same moment, or its person was disabled.
  if (error instanceof UnexpectedChanges) return inviteNotValid()
  if (!isAlreadyThere(error) || !/(people|accounts)\.email/.test(error.message)) return undefined
  return refused('person_exists', `${email} has signed up already.`, { param: 'email' })
}

/** The e-mail of the account that a first run makes, until somebody signs up and it is theirs. */
export const PLACEHOLDER_EMAIL = 'you@localhost'

interface FirstAccount {
  readonly id: string
  /** What has to be done in the step in which its owner comes to be. */
  readonly statements: AtomicStatement[]
}

/** For the first person: the account of that e-mail where there is one, else the one of the first run, else a new one. */
async function firstAccount(deps: PeopleDeps, email: string): Promise<FirstAccount> {
  const known = await findAccountByEmail(deps.db, email)
  if (known !== undefined) return { id: known.id, statements: [] }
  const made = await findAccountByEmail(deps.db, PLACEHOLDER_EMAIL)
  if (made !== undefined) return { id: made.id, statements: [emailUpdate(made.row, email)] }
  const id = mintAccountId(deps.random)
  return { id, statements: accountInserts({ id, email, createdAt: deps.clock.now() }) }
}
