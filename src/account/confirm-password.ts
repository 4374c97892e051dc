import { findPersonByRow } from '../store/people.ts'
import { confirmSession } from '../store/sessions.ts'
import { checkPassword } from './check-password.ts'
import type { Session } from './find-session.ts'
import { isoTime } from './iso-time.ts'
import type { Client } from './open-session.ts'
import { done, type Outcome, refused } from './outcome.ts'
import type { PeopleDeps } from './people-deps.ts'

/** Before keys and money: that whoever sits there is still the one who signed in. */
export async function confirmPassword(
  deps: PeopleDeps,
  session: Session,
  password: string,
  client: Client,
): Promise<Outcome<{ confirmed_at: string }>> {
  const checked = await checkOwnPassword(deps, session, password, client)
  if (checked.kind === 'refused') return checked
  const now = deps.clock.now()
  await confirmSession(deps.db, session.row, now)
  deps.sessions.forgetAll()
  return done({ confirmed_at: isoTime(now) })
}

/**
 * The password of somebody who is signed in. Tries count for the session and not for the e-mail, so that strangers at the
 * sign-in cannot lock out whoever is in, nor a thief of a session its owner at the sign-in.
 */
export async function checkOwnPassword(deps: PeopleDeps, session: Session, password: string, client: Client) {
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
  if (checked.kind === 'wrong' || person === undefined) return refused('wrong_password', 'The password is not right.')
  return { kind: 'right', person } as const
}
