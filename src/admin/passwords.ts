import type { z } from 'zod'
import { mintSessionSecret } from '../auth/secrets.ts'
import type { changePassword as changePasswordBody } from '../contract/people.ts'
import {
  confirmSession,
  findPersonByRow,
  inviteWithdrawal,
  passwordChange,
  type StoredPerson,
  sessionRenewal,
  sessionsDelete,
} from '../db/people.ts'
import { UnexpectedChanges } from '../db/sqlite/sqlite-file.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import type { PeopleDeps, Session } from './people-deps.ts'
import type { Client, SignedIn } from './sessions.ts'
import type { Lockout, Trier } from './sign-in-limits.ts'
import { isoTime } from './values.ts'

interface Question {
  /** By what its tries are counted. */
  readonly trier: Trier
  /** Undefined for an e-mail that nobody has: the same time goes by, and the same is said. */
  readonly person: StoredPerson | undefined
  readonly password: string
  readonly onLockout: (lockout: Lockout) => Promise<void>
}

type PasswordCheck = { readonly kind: 'right' } | { readonly kind: 'wrong' } | Refused

/** Within a second or two a queue of hashes is through. */
const BUSY_SECONDS = 2

/** Every password that somebody gives goes through here: counted before it is looked at, forgiven when it was right. */
export async function checkPassword(deps: PeopleDeps, question: Question): Promise<PasswordCheck> {
  const { trier, person, password } = question
  const taken = deps.tries.take(trier)
  if (taken.kind === 'locked') {
    if (taken.first) await question.onLockout(taken)
    return tooManyTries('session' in trier ? '' : ', or use a device or a network that has signed in before')
  }
  const checked = await deps.passwords.check(password, person?.password, taken.isKnown ? 'known' : 'stranger')
  if (checked === 'busy') {
    deps.tries.giveBack(trier)
    return tooBusy()
  }
  if (checked === 'wrong' || person?.disabled_at !== null) return { kind: 'wrong' }
  deps.tries.forgive(trier)
  return { kind: 'right' }
}

export const tooBusy = (): Refused =>
  refused('busy', 'The server is busy with sign-ins. Try again in a moment.', { retryAfterSeconds: BUSY_SECONDS })

/** The same words whatever is used up and since when: an exact time would tell an attacker when to guess next. */
const tooManyTries = (otherwise: string): Refused =>
  refused('too_many_tries', `Too many tries. Wait 15 minutes${otherwise}.`)

/** Before keys and money: that whoever sits there is still the one who signed in. */
export async function confirmPassword(
  deps: PeopleDeps,
  session: Session,
  password: string,
  client: Client,
): Promise<Outcome<{ confirmed_at: string }>> {
  const checked = await checkOwnPassword(deps, session, { param: 'password', password }, client)
  if (checked.kind === 'refused') return checked
  const now = deps.clock.now()
  await confirmSession(deps.db, session.row, now)
  deps.sessions.forgetAll()
  return done({ confirmed_at: isoTime(now) })
}

interface GivenPassword {
  /** The field that it was given in. */
  readonly param: 'password' | 'current'
  readonly password: string
}

/**
 * The password of somebody who is signed in. Tries count for the session alone, not for the e-mail or the network, so that
 * strangers at the sign-in cannot lock out a person who is signed in, nor a thief of a session its owner at the sign-in.
 */
async function checkOwnPassword(
  deps: PeopleDeps,
  session: Session,
  { param, password }: GivenPassword,
  client: Client,
) {
  const person = await findPersonByRow(deps.db, session.person.row)
  const { email } = session.person
  const onLockout = () =>
    deps.audit.record({
      actor: email,
      action: 'confirm_refused',
      target: session.id,
      account: session.account?.row,
      detail: `too many wrong passwords from ${client.address ?? 'an unknown address'}`,
    })
  const checked = await checkPassword(deps, { trier: { session: session.id }, person, password, onLockout })
  if (checked.kind === 'refused') return checked
  if (checked.kind === 'wrong' || person === undefined) {
    return refused('wrong_password', 'The password is not right.', { param })
  }
  return { kind: 'right', person } as const
}

/** Ends every other session and link to a new password, and gives this one a new secret: whoever had the old one is out. */
export async function changePassword(
  deps: PeopleDeps,
  session: Session,
  body: z.output<typeof changePasswordBody>,
  client: Client,
): Promise<Outcome<SignedIn>> {
  const checked = await checkOwnPassword(deps, session, { param: 'current', password: body.current }, client)
  if (checked.kind === 'refused') return checked
  const password = await deps.passwords.hash(body.next, 'known')
  if (password === 'busy') return tooBusy()
  const secret = mintSessionSecret(deps.random)
  const now = deps.clock.now()
  const { id, email } = session.person
  try {
    await deps.audit.record({ actor: email, action: 'password_changed', target: id, account: session.account?.row }, [
      passwordChange(checked.person, password, now),
      sessionsDelete(session.person.row, session.row),
      inviteWithdrawal(email),
      sessionRenewal(session.row, deps.digestSession(secret), now),
    ])
  } catch (error) {
    // Changed, disabled or ended at the same moment from elsewhere.
    if (error instanceof UnexpectedChanges) {
      return refused('wrong_password', 'The password was changed meanwhile.', { param: 'current' })
    }
    throw error
  } finally {
    deps.sessions.forgetAll()
  }
  const renewed = await deps.sessions.find(secret)
  if (renewed === undefined) return refused('session_not_found', 'This session has ended.')
  return done({ secret, session: renewed })
}
