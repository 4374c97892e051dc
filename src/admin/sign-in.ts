import type { z } from 'zod'
import type { signIn as signInBody } from '../contract/people.ts'
import { findPersonByEmail, renewHash, type StoredPerson } from '../db/people.ts'
import { UnexpectedChanges } from '../db/sqlite/sqlite-file.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import { checkPassword } from './passwords.ts'
import type { PeopleDeps } from './people-deps.ts'
import { type Client, openSession, type SignedIn } from './sessions.ts'
import type { Lockout } from './sign-in-limits.ts'
import { normalizeEmail } from './values.ts'

/**
 * One answer for an e-mail that nobody has, a wrong password and somebody who is disabled, after the same work: who has no
 * password learns nothing of who is here.
 */
export async function signIn(
  deps: PeopleDeps,
  body: z.output<typeof signInBody>,
  client: Client,
): Promise<Outcome<SignedIn>> {
  const email = normalizeEmail(body.email)
  const person = await findPersonByEmail(deps.db, email)
  const onLockout = (lockout: Lockout) => recordLockout(deps, { person, client, lockout })
  const device = deps.devices.find(client.deviceTokens, person)
  const trier = { email, address: client.address, device }
  const checked = await checkPassword(deps, { trier, person, password: body.password, onLockout })
  if (checked.kind === 'refused') return checked
  if (checked.kind === 'wrong' || person === undefined) return wrongPassword()
  const session = openSession(deps, person, client)
  const entry = { actor: email, action: 'signed_in', target: session.id, account: person.account } as const
  try {
    await deps.audit.record({ ...entry, detail: from(client) }, session.statements)
  } catch (error) {
    // Disabled, or with another password, since it was looked at.
    if (error instanceof UnexpectedChanges) return wrongPassword()
    throw error
  }
  const opened = await session.opened()
  if (opened === undefined) return wrongPassword()
  await keepUp(deps, person, body.password)
  return done(opened)
}

const wrongPassword = (): Refused => refused('wrong_password', 'The e-mail or the password is not right.')

/** Only now is the password here in clear. Where there is no time for it, the next sign-in does it. */
async function keepUp(deps: PeopleDeps, person: StoredPerson, password: string): Promise<void> {
  if (!deps.passwords.isOutdated(person.password)) return
  const renewed = await deps.passwords.hash(password)
  if (renewed !== 'busy') await renewHash(deps.db, person, renewed)
}

interface Refusal {
  readonly person: StoredPerson | undefined
  readonly client: Client
  readonly lockout: Lockout
}

/** What was typed as an e-mail and is none of ours may be a password in the wrong field: it is not written down. */
async function recordLockout(deps: PeopleDeps, { person, client, lockout }: Refusal): Promise<void> {
  await deps.audit.record({
    actor: person?.email ?? 'system',
    action: 'sign_in_refused',
    target: person?.id,
    account: person?.account,
    detail: `too many tries ${TRIES_OF[lockout.of]}, ${from(client)}${person === undefined ? ', for an unknown e-mail' : ''}`,
  })
}

const TRIES_OF: Readonly<Record<Lockout['of'], string>> = {
  pair: 'for one e-mail',
  network: 'from one address',
  email: 'for one e-mail from many networks',
  device: 'on a device that has signed in before',
  session: 'in one session',
}

const from = ({ address }: Client): string => `from ${address ?? 'an unknown address'}`
