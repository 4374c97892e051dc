import type { z } from 'zod'
import type { changePassword as changePasswordBody } from '../../contract/people.ts'
import { mintSessionSecret } from '../../keys/session-secret.ts'
import { UnexpectedChanges } from '../../sqlite/sqlite-file.ts'
import { inviteWithdrawal } from '../../store/invites.ts'
import { passwordChange } from '../../store/people.ts'
import { sessionRenewal, sessionsDelete } from '../../store/sessions.ts'
import { done, type Outcome, refused } from '../outcome.ts'
import { checkOwnPassword, tooBusy } from './check-password.ts'
import type { Session } from './find-session.ts'
import type { Client, SignedIn } from './open-session.ts'
import type { PeopleDeps } from './people-deps.ts'

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
