import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { z } from 'zod'
import type * as contract from '../contract/people.ts'
import { findPersonByRow, sessionConfirmation, sessionStrengthening } from '../db/people.ts'
import {
  challengeUse,
  findPasskey,
  listPasskeys,
  passkeyInsert,
  passkeyRemoval,
  passkeyRenaming,
  passkeyUse,
  type StoredPasskey,
} from '../db/second-factors.ts'
import { type AtomicStatement, isAlreadyThere, UnexpectedChanges } from '../db/sql-store.ts'
import { mintPasskeyId } from '../model/ids.ts'
import { actorLogOf } from './audit.ts'
import { done, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'
import { addFactor, removeFactor, viewFactors } from './second-factors.ts'
import { type Client, openSession, type Session, type SignedIn, type SignInServices } from './sessions.ts'

/** WebAuthn. The package checks what authenticators send; it is loaded by the first passkey that is registered or used. */
const loadPackage = () => import('@simplewebauthn/server').catch(() => undefined)

/** Of a person. The list is shown whole. */
const PASSKEYS_MAX = 20
const SERVER_NAME = 'Millrace'

/** What a passkey belongs to: the name of the console in the browser (WebAuthn, "relying party"). */
interface Site {
  readonly origin: string
}

/** Browsers allow passkeys for names alone, over TLS or on this machine. */
function findRelyingParty({ origin }: Site): string | undefined {
  const { hostname, protocol } = new URL(origin)
  const isName = /[a-z]/i.test(hostname) && !hostname.startsWith('[')
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost')
  return isName && (protocol === 'https:' || isLocal) ? hostname : undefined
}

const unavailable = refuseOperation(
  'passkeys_unavailable',
  'Passkeys need the console under a name over https, or under localhost. Open it there.',
)
const notInstalled = refuseOperation(
  'passkeys_unavailable',
  'The package for passkeys is not installed on this server: @simplewebauthn/server.',
)

/** Without details, by which a stranger could learn which passkeys exist. */
const refusedPasskey = refuseOperation(
  'passkey_refused',
  'This passkey was not accepted. Try again, or sign in with your password.',
)

type Purpose = 'sign-in' | 'confirm' | 'register'

const CHALLENGE_MS = 5 * 60_000
const NONCE_BYTES = 16
const TIME_BYTES = 6
const MAC_BYTES = 32

/**
 * A challenge that proves itself, so that strangers who ask for many fill no table: a nonce, its end, and a MAC over both, its purpose and
 * its session. What a passkey has answered is stored until that end, so that it is answered once, on all nodes.
 */
function mintChallenge({ random, clock, challengeKey }: SignInServices, purpose: Purpose, session: string): string {
  const body = Buffer.alloc(NONCE_BYTES + TIME_BYTES)
  body.set(random(NONCE_BYTES))
  body.writeUIntBE(clock.now() + CHALLENGE_MS, NONCE_BYTES, TIME_BYTES)
  return Buffer.concat([body, macOf(challengeKey, body, purpose, session)]).toString('base64url')
}

const macOf = (key: Uint8Array, body: Uint8Array, purpose: Purpose, session: string): Buffer =>
  createHmac('sha256', key).update(body).update(`${purpose} ${session}`).digest()

/** When it ends; undefined if it is not one of this server for this purpose, or has ended. */
function endOfChallenge(
  { clock, challengeKey }: SignInServices,
  challenge: string,
  purpose: Purpose,
  session: string,
): number | undefined {
  const bytes = Buffer.from(challenge, 'base64url')
  if (bytes.length !== NONCE_BYTES + TIME_BYTES + MAC_BYTES) return undefined
  const body = bytes.subarray(0, NONCE_BYTES + TIME_BYTES)
  const mac = bytes.subarray(NONCE_BYTES + TIME_BYTES)
  if (!timingSafeEqual(mac, macOf(challengeKey, body, purpose, session))) return undefined
  const end = body.readUIntBE(NONCE_BYTES, TIME_BYTES)
  return end > clock.now() ? end : undefined
}

type Challenge = z.output<typeof contract.passkeyChallenge>

/** For a sign-in without a name: the authenticator knows which of its passkeys belong to this site. */
export function challengeToSignIn(services: SignInServices, site: Site): Outcome<Challenge> {
  const rpId = findRelyingParty(site)
  if (rpId === undefined) return unavailable
  return done({ challenge: mintChallenge(services, 'sign-in', ''), rp_id: rpId, allow: [] })
}

export async function challengeToConfirm(
  services: SignInServices,
  { id, person }: Session,
  site: Site,
): Promise<Outcome<Challenge>> {
  const rpId = findRelyingParty(site)
  if (rpId === undefined) return unavailable
  const allow = (await listPasskeys(services.db, person.row)).map(credentialOf)
  return done({ challenge: mintChallenge(services, 'confirm', id), rp_id: rpId, allow })
}

const credentialOf = ({ credential }: Pick<StoredPasskey, 'credential'>): string =>
  Buffer.from(credential).toString('base64url')

export async function challengeToRegister(
  services: SignInServices,
  { id, person }: Session,
  site: Site,
): Promise<Outcome<z.output<typeof contract.newPasskeyChallenge>>> {
  const rpId = findRelyingParty(site)
  if (rpId === undefined) return unavailable
  const exclude = (await listPasskeys(services.db, person.row)).map(credentialOf)
  return done({
    ...{ challenge: mintChallenge(services, 'register', id), rp_id: rpId, rp_name: SERVER_NAME },
    ...{ user_id: handleOf(person), user_name: person.email, exclude },
  })
}

/** What an authenticator keeps of the person: random, and no email. */
const handleOf = ({ id }: Pick<Session['person'], 'id'>): string => Buffer.from(id).toString('base64url')

export async function registerPasskey(
  services: SignInServices,
  session: Session,
  site: Site,
  { name, ...sent }: z.output<typeof contract.registerPasskey>,
): Promise<Outcome<z.output<typeof contract.factorAdded>>> {
  const rpId = findRelyingParty(site)
  if (rpId === undefined) return unavailable
  const library = await loadPackage()
  if (library === undefined) return notInstalled
  let used: AtomicStatement | undefined
  const verified = await library
    .verifyRegistrationResponse({
      response: registrationOf(sent),
      expectedChallenge: (challenge) => {
        used = useOfChallenge(services, challenge, 'register', session.id)
        return used !== undefined
      },
      ...{ expectedOrigin: site.origin, expectedRPID: rpId, requireUserVerification: true },
    })
    .catch(() => undefined)
  if (verified?.verified !== true || used === undefined) return refusedPasskey
  const { id, publicKey, counter } = verified.registrationInfo.credential
  const row = {
    ...{ id: mintPasskeyId(services.random), person: session.person.row, name, counter },
    ...{ credential: Buffer.from(id, 'base64url'), public_key: publicKey, transports: sent.transports.join(' ') },
    created_at: services.clock.now(),
  }
  try {
    const added = await addFactor(services, session, `passkey ${name}`, [used, passkeyInsert(row, PASSKEYS_MAX)])
    if (added !== undefined) return added
  } catch (error) {
    if (!isAlreadyThere(error)) throw error
    return refusedPasskey
  }
  const isFull = (await listPasskeys(services.db, session.person.row)).length >= PASSKEYS_MAX
  return isFull
    ? refuseOperation('too_many_passkeys', `You have ${PASSKEYS_MAX} passkeys, which is the maximum. Remove one first.`)
    : refusedPasskey
}

type SentRegistration = Omit<z.output<typeof contract.registerPasskey>, 'name'>

const registrationOf = ({ id, client_data, attestation, transports }: SentRegistration): RegistrationResponseJSON => ({
  ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
  response: {
    ...{ clientDataJSON: client_data, attestationObject: attestation },
    transports: transports as AuthenticatorTransport[],
  },
})

/** The statement that uses it up; undefined if it is not one that may be answered. */
function useOfChallenge(
  services: SignInServices,
  challenge: string,
  purpose: Purpose,
  session: string,
): AtomicStatement | undefined {
  const end = endOfChallenge(services, challenge, purpose, session)
  return end === undefined ? undefined : challengeUse(hash('sha256', challenge, 'base64url'), end)
}

type Answer = z.output<typeof contract.passkeyAnswer>

interface VerifiedPasskey {
  readonly kind: 'verified'
  readonly key: StoredPasskey
  /** Use up the challenge, and move the counter on. */
  readonly statements: readonly AtomicStatement[]
}

/** A right signature over an open challenge, by a passkey of a person who was verified by their device. */
async function verifyAnswer(
  services: SignInServices,
  site: Site,
  answer: Answer,
  { purpose, session }: { readonly purpose: Purpose; readonly session: string },
): Promise<VerifiedPasskey | OperationRefused> {
  const rpId = findRelyingParty(site)
  if (rpId === undefined) return unavailable
  const key = await findPasskey(services.db, Buffer.from(answer.id, 'base64url'))
  if (key === undefined) return refusedPasskey
  const library = await loadPackage()
  if (library === undefined) return notInstalled
  let used: AtomicStatement | undefined
  const verified = await library
    .verifyAuthenticationResponse({
      response: authenticationOf(answer),
      expectedChallenge: (challenge) => {
        used = useOfChallenge(services, challenge, purpose, session)
        return used !== undefined
      },
      ...{ expectedOrigin: site.origin, expectedRPID: rpId, requireUserVerification: true },
      // The counter is compared below, where a step back is recorded.
      credential: { id: answer.id, publicKey: new Uint8Array(key.public_key), counter: 0 },
    })
    .catch(() => undefined)
  if (verified?.verified !== true || used === undefined) return refusedPasskey
  const { newCounter } = verified.authenticationInfo
  if (key.counter > 0 && newCounter <= key.counter) {
    await recordStepBack(services, key)
    return refusedPasskey
  }
  return { kind: 'verified', key, statements: [used, passkeyUse(key, newCounter, services.clock.now())] }
}

const authenticationOf = (answer: Answer): AuthenticationResponseJSON => ({
  ...{ id: answer.id, rawId: answer.id, type: 'public-key', clientExtensionResults: {} },
  response: {
    clientDataJSON: answer.client_data,
    authenticatorData: answer.authenticator_data,
    signature: answer.signature,
    ...(answer.user_handle !== null && { userHandle: answer.user_handle }),
  },
})

/** The counter of an authenticator only grows, so there may be a copy of the passkey (WebAuthn, section 6.1.1). */
async function recordStepBack({ db, audit }: SignInServices, { person: row, name }: StoredPasskey): Promise<void> {
  const person = await findPersonByRow(db, row)
  await audit.record({
    ...{ actor: person?.email ?? 'system', action: 'passkey_refused', target: person?.id, account: person?.account },
    detail: `passkey ${name}: its counter went back, so there may be a copy of it`,
  })
}

/** By a passkey alone: the device has verified the person, so it is two factors in one. */
export async function signInByPasskey(
  services: SignInServices,
  site: Site,
  answer: Answer,
  client: Client,
): Promise<Outcome<SignedIn>> {
  const verified = await verifyAnswer(services, site, answer, { purpose: 'sign-in', session: '' })
  if (verified.kind === 'refused') return verified
  const person = await findPersonByRow(services.db, verified.key.person)
  if (person === undefined || person.disabled_at !== null) return refusedPasskey
  if (answer.user_handle !== handleOf({ id: person.id as Session['person']['id'] })) return refusedPasskey
  const session = openSession(services, person, client, 'passkey')
  const detail = `from ${client.address ?? 'an unknown address'}, by passkey ${verified.key.name}`
  const entry = { action: 'signed_in', target: session.id, account: person.account, detail } as const
  const isSignedIn = await actorLogOf(services.audit, person.email).act(entry, [
    ...verified.statements,
    ...session.statements,
  ])
  const opened = isSignedIn ? await session.opened() : undefined
  return opened === undefined ? refusedPasskey : done(opened)
}

/** Confirms the person at the browser as a password does. */
export async function confirmByPasskey(
  services: SignInServices,
  session: Session,
  site: Site,
  answer: Answer,
): Promise<Outcome<object>> {
  const verified = await verifyAnswer(services, site, answer, { purpose: 'confirm', session: session.id })
  if (verified.kind === 'refused') return verified
  if (verified.key.person !== session.person.row) return refusedPasskey
  try {
    const confirmation = sessionConfirmation(session.row, services.clock.now())
    await services.file.atomic([...verified.statements, confirmation, sessionStrengthening(session.row)])
  } catch (error) {
    if (error instanceof UnexpectedChanges) return refusedPasskey
    throw error
  } finally {
    services.sessions.forgetAll()
  }
  return done({})
}

async function findOwn({ db }: SignInServices, { person }: Session, id: string) {
  const own = await listPasskeys(db, person.row)
  return own.find((key) => key.id === id) ?? noSuchPasskey
}

const noSuchPasskey = refuseOperation('passkey_not_found', 'You have no such passkey; it may have been removed.')

export async function renamePasskey(services: SignInServices, session: Session, id: string, name: string) {
  const found = await findOwn(services, session, id)
  if ('kind' in found) return found
  const detail = `passkey ${found.name} is called ${name}`
  const entry = { action: 'factor_changed', target: session.person.id, account: session.account?.row, detail } as const
  const isRenamed = await actorLogOf(services.audit, session.person.email).act(entry, [passkeyRenaming(found, name)])
  return isRenamed ? done(await viewFactors(services, session.person.row)) : noSuchPasskey
}

export async function removePasskey(services: SignInServices, session: Session, id: string) {
  const found = await findOwn(services, session, id)
  if ('kind' in found) return found
  const removed = await removeFactor(services, session, `passkey ${found.name}`, [passkeyRemoval(found)])
  return removed === 'absent' ? noSuchPasskey : removed
}
