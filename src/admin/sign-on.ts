import { NO_PASSWORD } from '../auth/hash-password.ts'
import { type Attempt, createOidcClient, type Identity, type OidcClient, type OidcProvider } from '../auth/oidc.ts'
import type { SignOnProblem } from '../contract/people.ts'
import {
  findPersonByIdentity,
  findPersonByRow,
  listIdentities,
  type StoredPerson,
  sessionConfirmation,
  sessionStrengthening,
  useSignOn,
} from '../db/people.ts'
import { deriveKey, openNow, sealNow } from '../lib/crypto.ts'
import { actorLogOf } from './audit.ts'
import type { PeopleServices } from './people.ts'
import { type Client, openSession, type Session, type SignedIn, type SignInServices } from './sessions.ts'
import { personOf, refuseSignOn, type SignOnRefused } from './sign-on-people.ts'

/** What the browser keeps, sealed, while the person is at the provider. */
interface Kept extends Attempt {
  readonly provider: string
  /** When it was begun, in milliseconds. */
  readonly at: number
  /** A path of the console. */
  readonly next: string
  /** The session that the person confirms; null: they sign in. */
  readonly session: string | null
}

/** An attempt lasts this long. */
export const SIGN_ON_MS = 600_000
/** The clocks of the provider and of this server may differ by this much. */
const SKEW_MS = 60_000

interface SignOnOptions extends PeopleServices {
  /** Of the configuration in force: another list after each reload. */
  readonly providers: () => readonly OidcProvider[]
  /** Derived from the key ring. */
  readonly secret: Uint8Array
  readonly onFailure: (failure: { readonly provider: string; readonly error: unknown }) => void
}

export type SignOn = ReturnType<typeof createSignOn>

/** Single sign-on by OpenID Connect. */
export function createSignOn(options: SignOnOptions) {
  const { providers, people } = options
  const { clock, random } = people
  let known: readonly OidcProvider[] = []
  let clients = new Map<string, OidcClient>()
  const findClient = (name: string): OidcClient | undefined => {
    const now = providers()
    if (now !== known) {
      known = now
      clients = new Map(now.map((provider) => [provider.name, createOidcClient(provider, clock)]))
    }
    return clients.get(name)
  }
  const key = deriveKey(options.secret, 'sign-on')
  const text = () => Buffer.from(random(32)).toString('base64url')
  const services: SignOnServices = { ...options, findClient, key }

  return {
    listProviders: () => providers().map(({ name, label }) => ({ name, label })),
    /** Null for a person with a password. */
    async confirmersOf({ person: { row } }: Session): Promise<string[] | null> {
      const person = await findPersonByRow(people.db, row)
      if (person?.password !== NO_PASSWORD) return null
      const issuers = new Set((await listIdentities(people.db, row)).map(({ issuer }) => issuer))
      return providers()
        .filter(({ issuer }) => issuers.has(issuer))
        .map(({ name }) => name)
    },
    /** Where the browser goes, and what it keeps meanwhile. With a session: to confirm that its person is at the browser. */
    async begin(order: { name: string; redirectUri: string; next: string; session: Session | undefined }) {
      const client = findClient(order.name)
      if (client === undefined) return refuseSignOn('unknown_provider')
      const { redirectUri, next, session } = order
      const attempt = { state: text(), nonce: text(), verifier: text(), redirectUri }
      const begun = await client.begin(attempt, session !== undefined)
      if (begun.kind === 'failed') {
        options.onFailure({ provider: order.name, error: begun.error })
        return refuseSignOn('unreachable')
      }
      const kept: Kept = { ...attempt, provider: order.name, at: clock.now(), next, session: session?.id ?? null }
      const sealed = sealNow(key, SEAL_NAME, Buffer.from(JSON.stringify(kept))).toString('base64url')
      return { kind: 'begun', url: begun.url, sealed } as const
    },
    finish: (returned: Returned) => finish(services, returned),
  }
}

const SEAL_NAME = 'sign-on attempt'

interface SignOnServices extends SignOnOptions {
  readonly findClient: (name: string) => OidcClient | undefined
  readonly key: Uint8Array
}

/** How the browser has come back from the provider. */
interface Returned {
  readonly name: string
  readonly query: URLSearchParams
  /** What the browser has kept; undefined in another browser. */
  readonly sealed: string | undefined
  readonly session: Session | undefined
  readonly client: Client
}

type Finished =
  | { readonly kind: 'signed-in'; readonly signedIn: SignedIn; readonly person: StoredPerson; readonly next: string }
  | { readonly kind: 'confirmed'; readonly next: string }
  | (SignOnRefused & { readonly confirms: boolean })

async function finish(services: SignOnServices, returned: Returned): Promise<Finished> {
  const { people } = services
  const kept = readKept(services, returned)
  if (kept === undefined) return { ...refuseSignOn('expired'), confirms: false }
  const confirms = kept.session !== null
  const refuse = (problem: SignOnProblem) => ({ ...refuseSignOn(problem), confirms })
  const client = services.findClient(kept.provider)
  if (client === undefined) return refuse('unknown_provider')
  // A copy of the address and the cookie is worth nothing once one of them was used.
  const digest = people.digestSession(kept.state)
  if (!(await useSignOn(people.file, digest, kept.at + SIGN_ON_MS))) return refuse('expired')
  const finished = await client.finish(returned.query, kept)
  if (finished.kind === 'failed') {
    services.onFailure({ provider: kept.provider, error: finished.error })
    return refuse(finished.why)
  }
  const { identity } = finished
  if (confirms) {
    const refused = await confirm(people, kept, returned.session, identity)
    return refused === undefined ? { kind: 'confirmed', next: kept.next } : refuse(refused)
  }
  const found = await personOf(services, client.provider, identity)
  if (found.kind === 'refused') return refuse(found.problem)
  const { person } = found
  const session = openSession(people, person, returned.client, 'provider', identity.isStrong)
  const from = `by ${kept.provider} from ${returned.client.address ?? 'an unknown address'}`
  const entry = { action: 'signed_in', target: session.id, account: person.account, detail: from } as const
  // Otherwise the person was disabled meanwhile.
  if (!(await actorLogOf(people.audit, person.email).act(entry, session.statements))) return refuse('disabled')
  const signedIn = await session.opened()
  return signedIn === undefined ? refuse('disabled') : { kind: 'signed-in', signedIn, person, next: kept.next }
}

/** Undefined unless this browser has begun this attempt at this provider within ten minutes. */
function readKept({ key, people }: SignOnServices, { name, query, sealed }: Returned): Kept | undefined {
  const opened = sealed === undefined ? undefined : openNow(key, SEAL_NAME, Buffer.from(sealed, 'base64url'))
  if (opened === undefined) return undefined
  const kept = JSON.parse(opened.toString('utf8')) as Kept
  const isOver = kept.at + SIGN_ON_MS <= people.clock.now()
  return isOver || kept.provider !== name || kept.state !== query.get('state') ? undefined : kept
}

/** In the place of a password, for a person who has none: they have just signed in at the provider. */
async function confirm(
  { db, file, clock, sessions }: SignInServices,
  kept: Kept,
  session: Session | undefined,
  { issuer, subject, authTime, isStrong }: Identity,
): Promise<SignOnProblem | undefined> {
  if (session === undefined || session.id !== kept.session) return 'expired'
  const person = await findPersonByIdentity(db, { issuer, subject })
  if (person?.row !== session.person.row) return 'other_person'
  if (authTime === undefined || authTime * 1000 < kept.at - SKEW_MS) return 'not_fresh'
  await file.atomic([
    sessionConfirmation(session.row, clock.now()),
    ...(isStrong ? [sessionStrengthening(session.row, 'provider')] : []),
  ])
  sessions.forgetAll()
  return undefined
}
