import type { z } from 'zod'
import { mintSessionSecret } from '../auth/secrets.ts'
import type {
  changePassword as changePasswordBody,
  confirm as confirmBody,
  giveFactor as giveFactorBody,
  SignInMeans,
  signIn as signInBody,
} from '../contract/people.ts'
import {
  findPersonByEmail,
  findPersonByRow,
  inviteWithdrawal,
  passwordChange,
  renewHash,
  type StoredPerson,
  sessionConfirmation,
  sessionRenewal,
  sessionStrengthening,
  sessionsDelete,
} from '../db/people.ts'
import { type AtomicStatement, UnexpectedChanges } from '../db/sql-store.ts'
import { actorLogOf } from './audit.ts'
import { done, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'
import { checkSecondFactor, wrongCode } from './second-factors.ts'
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
  const given = { trier, person, password: body.password, code: body.code, at: 'sign-in' } as const
  const checked = await checkPassword(services, { ...given, onLockout })
  if (checked.kind === 'refused' && checked.reason === 'wrong_code') {
    const detail = `the password was right and the code was wrong, ${from}`
    const about = { target: person?.id, account: person?.account }
    await audit.record({ actor: email, action: 'sign_in_refused', ...about, detail })
  }
  if (checked.kind === 'refused') return checked
  if (checked.kind === 'wrong' || person === undefined) return wrongPassword
  const { means } = checked
  // Only after the right password, so that strangers do not learn who is an operator.
  if (services.rules().password === 'operators_only' && person.role !== 'operator') return passwordOff
  const session = openSession(services, person, client, means)
  const detail = means === 'password' ? from : `${from}, by password and ${MEANS[means]}`
  const entry = { action: 'signed_in', target: session.id, account: person.account, detail } as const
  // Otherwise the person was disabled, has another password, or the code was used, since the check.
  if (!(await actorLogOf(audit, email).act(entry, [...checked.statements, ...session.statements])))
    return means === 'password' ? wrongPassword : wrongCode
  const opened = await session.opened()
  if (opened === undefined) return wrongPassword
  // An outdated hash is renewed while the password is known. If the server is busy, the next sign-in does it.
  if (passwords.isOutdated(person.password)) {
    const renewed = await passwords.hash(body.password)
    if (renewed !== 'busy') await renewHash(db, person, renewed)
  }
  return done(opened)
}

const MEANS = {
  code: 'code',
  recovery_code: 'recovery code',
  passkey: 'passkey',
  provider: 'provider',
  link: 'link',
} as const
const passwordOff = refuseOperation(
  'password_off',
  'Passwords are for operators only on this server. Sign in with a provider of single sign-on.',
)

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
  readonly code: string | undefined
  readonly at: 'sign-in' | 'session'
  readonly onLockout: (lockout: Lockout) => Promise<void>
}

/** A queue of hashes is done within a second or two. */
const BUSY_SECONDS = 2

/**
 * Checks a password and what the person has to give beside it. The try is counted before the check, and forgiven if all is right. A
 * right password whose code is missing does not count.
 */
async function checkPassword(
  services: SignInServices,
  { trier, person, password, code, at, onLockout }: PasswordTry,
): Promise<PasswordRight | { readonly kind: 'wrong' } | OperationRefused> {
  const { tries, passwords } = services
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
  const factor = await checkSecondFactor(services, person, code, at)
  if (factor.kind === 'refused') {
    if (factor.reason === 'code_needed') tries.giveBack(trier)
    return factor
  }
  tries.forgive(trier)
  return { ...factor, kind: 'right' }
}

interface PasswordRight {
  readonly kind: 'right'
  readonly means: SignInMeans
  /** Use up the code, in the transaction of what it allows. */
  readonly statements: readonly AtomicStatement[]
}

export const tooBusy = refuseOperation('busy', 'The server is busy with sign-ins. Try again in a moment.', {
  retryAfterSeconds: BUSY_SECONDS,
})

/** Confirms, before changes of keys and money, that the person at the browser knows the password. */
export async function confirmPassword(
  services: SignInServices,
  session: Session,
  { password, code }: z.output<typeof confirmBody>,
  client: Client,
) {
  const checked = await checkOwnPassword(services, session, { param: 'password', password, code }, client)
  if (checked.kind === 'refused') return checked
  const now = services.clock.now()
  const isWritten = await writeConfirmation(services, session, checked, [sessionConfirmation(session.row, now)])
  return isWritten ? done({ confirmed_at: isoTime(now) }) : wrongCode
}

/** False if the code was used, or the session has ended, meanwhile. */
async function writeConfirmation(
  { audit, file, sessions }: SignInServices,
  { row, person, account }: Session,
  { means, statements: uses }: Pick<PasswordRight, 'means' | 'statements'>,
  more: readonly AtomicStatement[] = [],
): Promise<boolean> {
  const statements = [...uses, ...more, ...(means === 'password' ? [] : [sessionStrengthening(row)])]
  const entry = { action: 'recovery_code_used', target: person.id, account: account?.row } as const
  try {
    if (means === 'recovery_code') return await actorLogOf(audit, person.email).act(entry, statements)
    await file.atomic(statements)
    return true
  } catch (error) {
    if (error instanceof UnexpectedChanges) return false
    throw error
  } finally {
    sessions.forgetAll()
  }
}

/** A code, in a session that was begun without a second factor and needs one: by a provider, or before the person had any. */
export async function giveFactor(
  services: SignInServices,
  session: Session,
  { code }: z.output<typeof giveFactorBody>,
): Promise<Outcome<object>> {
  const person = await findPersonByRow(services.db, session.person.row)
  const trier = { session: session.id }
  if (services.tries.take(trier).kind === 'locked') return refuseOperation('too_many_tries', TOO_MANY)
  const checked = person && (await checkSecondFactor(services, person, code, 'sign-in'))
  if (checked === undefined || (checked.kind === 'passed' && checked.means === 'password'))
    return refuseOperation('factor_not_found', 'You have no authenticator app and no recovery codes.')
  if (checked.kind === 'refused') return checked
  services.tries.forgive(trier)
  return (await writeConfirmation(services, session, checked)) ? done({}) : wrongCode
}

const TOO_MANY = 'Too many tries. Wait 15 minutes.'

interface OwnPassword {
  readonly param: 'password' | 'current'
  readonly password: string
  readonly code: string | undefined
}

/**
 * Checks the password of a signed-in person. Tries count for the session alone, so that strangers at the sign-in cannot lock
 * out a signed-in person, nor the thief of a session its owner at the sign-in.
 */
async function checkOwnPassword(
  services: SignInServices,
  session: Session,
  { param, password, code }: OwnPassword,
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
  const given = { trier: { session: session.id }, person, password, code, at: 'session' } as const
  const checked = await checkPassword(services, { ...given, onLockout })
  if (checked.kind === 'refused') return checked
  if (checked.kind === 'wrong' || person === undefined) {
    return refuseOperation('wrong_password', 'The password is wrong.', { param })
  }
  return { ...checked, person }
}

/** Ends every other session and link of the person, and gives this session a new secret. */
export async function changePassword(
  services: SignInServices,
  session: Session,
  body: z.output<typeof changePasswordBody>,
  client: Client,
): Promise<Outcome<SignedIn>> {
  const checked = await checkOwnPassword(
    services,
    session,
    { param: 'current', password: body.current, code: body.code },
    client,
  )
  if (checked.kind === 'refused') return checked
  const password = await services.passwords.hash(body.next, 'known')
  if (password === 'busy') return tooBusy
  const secret = mintSessionSecret(services.random)
  const now = services.clock.now()
  const { id, email } = session.person
  const entry = { action: 'password_changed', target: id, account: session.account?.row } as const
  const changed = await actorLogOf(services.audit, email)
    .act(entry, [
      ...checked.statements,
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
