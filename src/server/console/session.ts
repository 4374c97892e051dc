import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { parse, serialize } from 'hono/utils/cookie'
import { DEVICE_MS } from '../../admin/known-devices.ts'
import { SESSION_MS } from '../../admin/people-deps.ts'
import type { AnyRoute, Requester } from '../../contract/values.ts'
import type { Exchange } from '../request-context.ts'
import type { ConsoleDeps } from './deps.ts'
import { type ConsoleRefusal, refuse } from './errors.ts'
import type { Asking, AskingAs, AskingOwner, AskingPerson } from './handler.ts'
import type { Site } from './site.ts'

/** What is asked, as far as it matters for who may. */
export interface Asked<Who extends Requester> extends Confirmed {
  readonly who: Who
}

type Confirmed = Pick<AnyRoute, 'confirmed'>

type Judgement<Whoever extends Asking> = { readonly kind: 'may'; readonly asking: Whoever } | ConsoleRefusal

/** So long keys and money may be touched after a password. */
export const CONFIRMED_MS = 15 * 60_000

/** Whether whoever asks may, by their session alone: nothing of the question has been read. Every route asks here. */
export const authorizeRequester = <Who extends Requester>(
  asking: Asking,
  asked: Asked<Who>,
  now: number,
): Judgement<AskingAs[Who]> => JUDGES[asked.who](asking, asked, now)

const JUDGES: {
  readonly [Who in Requester]: (asking: Asking, asked: Confirmed, now: number) => Judgement<AskingAs[Who]>
} = {
  anyone: (asking) => mayTravel(asking) ?? { kind: 'may', asking },
  'signed-in': judgePerson,
  owner: judgeOwner,
  operator: judgeOperator,
}

function judgeOperator(asking: Asking, asked: Confirmed, now: number): Judgement<AskingPerson> {
  const judged = judgePerson(asking, asked, now)
  if (judged.kind === 'refused') return judged
  return judged.asking.session.person.role === 'operator' ? judged : OPERATORS_ONLY
}

/**
 * Somebody with an account. What is an owner's to see is theirs whatever has become of it; what they could do with it is
 * not.
 */
function judgeOwner(asking: Asking, asked: Confirmed, now: number): Judgement<AskingOwner> {
  const judged = judgePerson(asking, asked, now)
  if (judged.kind === 'refused') return judged
  const { account } = judged.asking.session
  if (account === undefined) return NO_ACCOUNT
  if (asking.changes && account.status !== 'active') return account.status === 'closed' ? CLOSED : SUSPENDED
  return { kind: 'may', asking: { ...judged.asking, account } }
}

function judgePerson(asking: Asking, asked: Confirmed, now: number): Judgement<AskingPerson> {
  const refusal = mayTravel(asking)
  if (refusal !== undefined) return refusal
  const { signedIn } = asking
  if (signedIn === undefined) return refuse('session_ended', 'You are not signed in any more. Sign in again.')
  const { secret, session } = signedIn
  if (asking.changes && !isCsrfToken(asking.csrfToken, secret)) {
    return refuse('other_site', 'This page is of an older session. Load it again.')
  }
  const isConfirmed = session.confirmedAt + CONFIRMED_MS > now
  if (asked.confirmed === true && !isConfirmed) return CONFIRM
  return { kind: 'may', asking: { ...asking, signedIn, session, isConfirmed } }
}

/** Undefined where what is sent may travel as it does. */
const mayTravel = ({ site, changes }: Asking): ConsoleRefusal | undefined =>
  changes && !site.isPrivate ? HTTPS_NEEDED : undefined

const HTTPS_NEEDED = refuse(
  'https_needed',
  'Passwords would travel in the clear. Open the console over https, or on the machine itself. ' +
    'Its operator can put TLS in front and set server.public_url.',
)
const CONFIRM = refuse('confirm_password', 'Keys and money need your password again, as it was given a while ago.')
const OPERATORS_ONLY = refuse('operators_only', 'Only operators of this server may do this.')
const NO_ACCOUNT = refuse('no_account', 'You have no account of your own here: keys and money belong to accounts.')
const SUSPENDED = refuse(
  'account_suspended',
  'This account is suspended: everything can be read, and nothing done. Ask the operator of this server.',
)
const CLOSED = refuse('account_closed', 'This account is closed: everything can be read, and nothing done.')

const READING = new Set(['GET', 'HEAD'])

export const isChange = ({ request }: Exchange): boolean => !READING.has(request.method ?? 'GET')

/**
 * Whoever sends a request, as far as its head tells: read before anything is waited for, because a connection that breaks
 * meanwhile has no address any more, by which tries could be counted.
 */
export function openAsking(exchange: Exchange, site: Site): Omit<Asking, 'signedIn'> {
  const { request, edge, requestId, log } = exchange
  return {
    ...{ requestId, site, log },
    address: edge.findClientAddress(request),
    agent: String(request.headers['user-agent'] ?? ''),
    changes: isChange(exchange),
    csrfToken: request.headers['x-csrf-token'],
    deviceTokens: readDeviceCookie(request.headers.cookie, site),
  }
}

/** Whose browser this is; undefined for nobody's, and for a session that is over. */
export async function findSignedIn(
  { request }: Exchange,
  { findSession }: Pick<ConsoleDeps, 'findSession'>,
  site: Site,
): Promise<Asking['signedIn']> {
  const secret = readSessionCookie(request.headers.cookie, site)
  const session = secret === undefined ? undefined : await findSession(secret)
  return secret === undefined || session === undefined ? undefined : { secret, session }
}

/**
 * `__Host-`: only this host can have set it, only over TLS. Over plain HTTP, which is for this machine alone, no browser
 * would take that name.
 */
const cookieName = ({ isSecure }: Site): string => (isSecure ? '__Host-millrace_session' : 'millrace_session')

const readSessionCookie = (header: string | undefined, site: Site): string | undefined =>
  header === undefined ? undefined : parse(header, cookieName(site))[cookieName(site)]

const deviceCookieName = ({ isSecure }: Site): string => (isSecure ? '__Host-millrace_device' : 'millrace_device')

const readDeviceCookie = (header: string | undefined, site: Site): string | undefined =>
  header === undefined ? undefined : parse(header, deviceCookieName(site))[deviceCookieName(site)]

/** It outlives the session, and opens nothing: wrong passwords from this browser count apart from those of strangers. */
export const deviceCookie = (tokens: string, site: Site): string =>
  serialize(deviceCookieName(site), tokens, {
    path: '/',
    httpOnly: true,
    secure: site.isSecure,
    sameSite: 'Strict',
    maxAge: DEVICE_MS / 1000,
  })

/** Not to be read by scripts, not to be sent along by other sites but for a plain link. */
export const sessionCookie = (secret: string, site: Site): string =>
  serialize(cookieName(site), secret, {
    path: '/',
    httpOnly: true,
    secure: site.isSecure,
    sameSite: 'Lax',
    // That it is over sooner is the server's knowledge.
    maxAge: SESSION_MS / 1000,
  })

export const endedCookie = (site: Site): string =>
  serialize(cookieName(site), '', {
    path: '/',
    httpOnly: true,
    secure: site.isSecure,
    sameSite: 'Lax',
    maxAge: 0,
  })

/**
 * Whether a page of this very site has sent a request that changes something. Browsers say where a request comes from in
 * headers that no page can write; one that says nothing is none that the console runs in.
 */
export function isFromOwnPage({ origin, 'sec-fetch-site': fetchSite }: IncomingHttpHeaders, site: Site): boolean {
  if (fetchSite !== undefined && fetchSite !== 'same-origin') return false
  return origin === undefined ? fetchSite === 'same-origin' : origin === site.origin
}

/** Made of the session's secret, so that it needs no place to be kept and ends with it. */
export const csrfTokenOf = (sessionSecret: string): string =>
  createHmac('sha256', sessionSecret).update('millrace console csrf').digest('base64url')

export function isCsrfToken(sent: string | string[] | undefined, sessionSecret: string): boolean {
  if (typeof sent !== 'string') return false
  const [a, b] = [Buffer.from(sent), Buffer.from(csrfTokenOf(sessionSecret))]
  return a.length === b.length && timingSafeEqual(a, b)
}
