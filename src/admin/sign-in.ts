import type { z } from 'zod'
import { mintSessionSecret } from '../auth/secrets.ts'
import type { changePassword as changePasswordBody, signIn as signInBody } from '../contract/people.ts'
import {
  confirmSession,
  findPersonByEmail,
  findPersonByRow,
  inviteWithdrawal,
  passwordChange,
  renewHash,
  type StoredPerson,
  sessionRenewal,
  sessionsDelete,
} from '../db/people.ts'
import { actorLogOf } from './audit.ts'
import { done, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'
import { type Client, openSession, type Session, type SignedIn, type SignInServices } from './sessions.ts'
import type { Lockout, Trier } from './sign-in-limits.ts'
import { isoTime, normalizeEmail } from './values.ts'

/**
 * An unknown email, a wrong password and a disabled person get the same answer after the same work, so that strangers learn
 * nothing about who has an account.
 */
export async function signIn(
  services: SignInServices,
  body: z.output<typeof signInBody>,
  client: Client,
): Promise<Outcome<SignedIn>> {
  const { db, audit, devices, passwords } = services
  const email = normalizeEmail(body.email)
  const person = await findPersonByEmail(db, email)
  const from = `from ${client.address ?? 'an unknown address'}`
  const onLockout = ({ of }: Lockout) =>
    audit.record({
      // An unknown email may be a password typed into the wrong field, so it is not recorded.
      actor: person?.email ?? 'system',
      action: 'sign_in_refused',
      target: person?.id,
      account: person?.account,
      detail: `too many tries ${TRIES_OF[of]}, ${from}${person === undefined ? ', for an unknown email' : ''}`,
    })
  const device = devices.find(client.deviceTokens, person)
  const trier = { email, address: client.address, device }
  const checked = await checkPassword(services, { trier, person, password: body.password, onLockout })
  if (checked.kind === 'refused') return checked
  if (checked.kind === 'wrong' || person === undefined) return wrongPassword
  const session = openSession(services, person, client)
  const entry = { action: 'signed_in', target: session.id, account: person.account, detail: from } as const
  // Otherwise the person was disabled, or has another password, since the check.
  if (!(await actorLogOf(audit, email).act(entry, session.statements))) return wrongPassword
  const opened = await session.opened()
  if (opened === undefined) return wrongPassword
  // An outdated hash is renewed while the password is known. If the server is busy, the next sign-in does it.
  if (passwords.isOutdated(person.password)) {
    const renewed = await passwords.hash(body.password)
    if (renewed !== 'busy') await renewHash(db, person, renewed)
  }
  return done(opened)
}

const wrongPassword = refuseOperation('wrong_password', 'The email or the password is wrong.')

const TRIES_OF: Readonly<Record<Lockout['of'], string>> = {
  pair: 'for one email',
  network: 'from one address',
  email: 'for one email from many networks',
  device: 'on a device that has signed in before',
  session: 'in one session',
}

interface PasswordTry {
  /** The identity that the try counts for. */
  readonly trier: Trier
  /** Undefined for an unknown email, which takes the same time. */
  readonly person: StoredPerson | undefined
  readonly password: string
  readonly onLockout: (lockout: Lockout) => Promise<void>
}

/** A queue of hashes is done within a second or two. */
const BUSY_SECONDS = 2

/** Checks a password. The try is counted before the check, and forgiven if the password is right. */
async function checkPassword(
  { tries, passwords }: SignInServices,
  { trier, person, password, onLockout }: PasswordTry,
): Promise<{ readonly kind: 'right' | 'wrong' } | OperationRefused> {
  const taken = tries.take(trier)
  if (taken.kind === 'locked') {
    if (taken.first) await onLockout(taken)
    // No exact time, which would tell an attacker when to guess next.
    const otherwise = 'session' in trier ? '' : ', or use a device or a network that has signed in before'
    return refuseOperation('too_many_tries', `Too many tries. Wait 15 minutes${otherwise}.`)
  }
  const checked = await passwords.check(password, person?.password, taken.isKnown ? 'known' : 'stranger')
  if (checked === 'busy') {
    tries.giveBack(trier)
    return tooBusy
  }
  if (checked === 'wrong' || person?.disabled_at !== null) return { kind: 'wrong' }
  tries.forgive(trier)
  return { kind: 'right' }
}

export const tooBusy = refuseOperation('busy', 'The server is busy with sign-ins. Try again in a moment.', {
  retryAfterSeconds: BUSY_SECONDS,
})

/** Confirms, before changes of keys and money, that the person at the browser knows the password. */
export async function confirmPassword(services: SignInServices, session: Session, password: string, client: Client) {
  const checked = await checkOwnPassword(services, session, { param: 'password', password }, client)
  if (checked.kind === 'refused') return checked
  const now = services.clock.now()
  await confirmSession(services.db, session.row, now)
  services.sessions.forgetAll()
  return done({ confirmed_at: isoTime(now) })
}

/**
 * Checks the password of a signed-in person. Tries count for the session alone, so that strangers at the sign-in cannot lock
 * out a signed-in person, nor the thief of a session its owner at the sign-in.
 */
async function checkOwnPassword(
  services: SignInServices,
  session: Session,
  { param, password }: { readonly param: 'password' | 'current'; readonly password: string },
  client: Client,
) {
  const person = await findPersonByRow(services.db, session.person.row)
  const onLockout = () =>
    services.audit.record({
      actor: session.person.email,
      action: 'confirm_refused',
      target: session.id,
      account: session.account?.row,
      detail: `too many wrong passwords from ${client.address ?? 'an unknown address'}`,
    })
  const checked = await checkPassword(services, { trier: { session: session.id }, person, password, onLockout })
  if (checked.kind === 'refused') return checked
  if (checked.kind === 'wrong' || person === undefined) {
    return refuseOperation('wrong_password', 'The password is wrong.', { param })
  }
  return { kind: 'right', person } as const
}

/** Ends every other session and link of the person, and gives this session a new secret. */
export async function changePassword(
  services: SignInServices,
  session: Session,
  body: z.output<typeof changePasswordBody>,
  client: Client,
): Promise<Outcome<SignedIn>> {
  const checked = await checkOwnPassword(services, session, { param: 'current', password: body.current }, client)
  if (checked.kind === 'refused') return checked
  const password = await services.passwords.hash(body.next, 'known')
  if (password === 'busy') return tooBusy
  const secret = mintSessionSecret(services.random)
  const now = services.clock.now()
  const { id, email } = session.person
  const entry = { action: 'password_changed', target: id, account: session.account?.row } as const
  const changed = await actorLogOf(services.audit, email)
    .act(entry, [
      passwordChange(checked.person, password, now),
      sessionsDelete(session.person.row, session.row),
      inviteWithdrawal(email),
      sessionRenewal(session.row, services.digestSession(secret), now),
    ])
    .finally(() => services.sessions.forgetAll())
  // The password was changed, the person disabled or the session ended meanwhile.
  if (!changed) return refuseOperation('wrong_password', 'The password was changed meanwhile.', { param: 'current' })
  const renewed = await services.sessions.find(secret)
  if (renewed === undefined) return refuseOperation('session_not_found', 'This session has ended.')
  return done({ secret, session: renewed })
}
