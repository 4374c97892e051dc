import { findPersonByRow, type StoredPerson } from '../../store/people.ts'
import { confirmSession } from '../../store/sessions.ts'
import { isoTime } from '../moments.ts'
import { done, type Outcome, type Refused, refused } from '../outcome.ts'
import type { Session } from './find-session.ts'
import type { Client } from './open-session.ts'
import type { PeopleDeps } from './people-deps.ts'
import type { Lockout } from './sign-in-tries.ts'

interface Question {
  /** Whose tries it counts as: an e-mail, or a session that is asked again. */
  readonly name: string
  readonly client: Client
  /** Undefined for an e-mail that nobody has: the same time goes by, and the same is said. */
  readonly person: StoredPerson | undefined
  readonly password: string
  readonly onLockout: (lockout: Lockout) => Promise<void>
}

export type PasswordCheck = { readonly kind: 'right' } | { readonly kind: 'wrong' } | Refused

/** Within a second or two a queue of hashes is through. */
const BUSY_SECONDS = 2

/** Every password that somebody gives goes through here: counted before it is looked at, forgiven when it was right. */
export async function checkPassword(deps: PeopleDeps, question: Question): Promise<PasswordCheck> {
  const { name, client, person, password } = question
  const trier = { name, address: client.address }
  const taken = deps.tries.take(trier)
  if (taken.kind === 'locked') {
    if (taken.first) await question.onLockout(taken)
    return tooManyTries(taken)
  }
  const checked = await deps.passwords.check(password, person?.password)
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

const tooManyTries = ({ retryAfterSeconds }: Lockout): Refused =>
  refused('too_many_tries', `Too many tries. Try again in ${waitInWords(retryAfterSeconds)}.`, { retryAfterSeconds })

const waitInWords = (seconds: number): string => (seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`)

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
 * The password of somebody who is signed in. Tries count for the session and not for the e-mail, so that strangers at the
 * sign-in cannot lock out whoever is in, nor a thief of a session its owner at the sign-in.
 */
export async function checkOwnPassword(
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
  const checked = await checkPassword(deps, { name: session.id, client, person, password, onLockout })
  if (checked.kind === 'refused') return checked
  if (checked.kind === 'wrong' || person === undefined) {
    return refused('wrong_password', 'The password is not right.', { param })
  }
  return { kind: 'right', person } as const
}
