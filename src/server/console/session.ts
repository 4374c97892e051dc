import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { parse, serialize } from 'hono/utils/cookie'
import { SESSION_MS, type Session } from '../../admin/sessions.ts'
import { DEVICE_MS } from '../../admin/sign-in-limits.ts'
import { SIGN_ON_MS } from '../../admin/sign-on.ts'
import { type AnyRoute, type Requester, ROLES_OF } from '../../contract/values.ts'
import type { MemberRole } from '../../db/people-tables.ts'
import type { RequestContext } from '../request-context.ts'
import { type RouteRefusal, refuse } from '../route-replies.ts'
import type { EdgeConsole } from '../services.ts'
import type { AccountRequest, ConsoleRequest, RequestAs, SignedInRequest } from './handler.ts'
import type { Site } from './site.ts'

/** What a route requires of its requester. */
export interface Access<Who extends Requester> extends Confirmation {
  readonly who: Who
}

type Confirmation = Pick<AnyRoute, 'confirmed' | 'withoutFactor'>

type Authorization<Authorized extends ConsoleRequest> =
  | { readonly kind: 'authorized'; readonly request: Authorized }
  | RouteRefusal

/** How long a password confirms changes of keys and money. */
export const CONFIRMED_MS = 15 * 60_000

/** Authorizes by the session alone, before the input is read. Every route calls this. */
export const authorizeRequester = <Who extends Requester>(
  request: ConsoleRequest,
  access: Access<Who>,
  now: number,
): Authorization<RequestAs[Who]> => AUTHORIZERS[access.who](request, access, now)

const AUTHORIZERS: {
  readonly [Who in Requester]: (
    request: ConsoleRequest,
    access: Confirmation,
    now: number,
  ) => Authorization<RequestAs[Who]>
} = {
  anyone: (request) => refuseInsecure(request) ?? { kind: 'authorized', request },
  'signed-in': authorizePerson,
  'any-role': authorizeRole('any-role'),
  viewer: authorizeRole('viewer'),
  member: authorizeRole('member'),
  admin: authorizeRole('admin'),
  owner: authorizeRole('owner'),
  operator: (request, access, now) =>
    authorizePerson(request, access, now, ({ person }) => (person.role === 'operator' ? undefined : OPERATORS_ONLY)),
}

type Refused = RouteRefusal | undefined

/** A person with an account and one of these roles in it. A suspended or closed account can be read and not changed. */
function authorizeRole(who: keyof typeof ROLES_OF) {
  const roles: readonly MemberRole[] = ROLES_OF[who]
  const refuseAccount = ({ changes }: ConsoleRequest, { account, person }: Session): Refused => {
    const role = roleOf(person)
    if (account === undefined) return NO_ACCOUNT
    if (!roles.includes(role)) return roleTooLow(role, roles)
    if (!changes || account.status === 'active') return undefined
    return account.status === 'closed' ? CLOSED : SUSPENDED
  }
  return (request: ConsoleRequest, access: Confirmation, now: number): Authorization<AccountRequest> => {
    const authorized = authorizePerson(request, access, now, (session) => refuseAccount(request, session))
    if (authorized.kind === 'refused') return authorized
    const { account, person } = authorized.request.session
    if (account === undefined) return NO_ACCOUNT
    const role = roleOf(person)
    const scope = { account: account.row, person: role === 'member' ? person.row : undefined }
    return { kind: 'authorized', request: { ...authorized.request, account, role, scope } }
  }
}

/** An operator with an account is as its owner. */
const roleOf = ({ role }: Session['person']): MemberRole => (role === 'operator' ? 'owner' : role)

/** The confirmation comes last: a person who may not do it is not asked for their password. */
function authorizePerson(
  request: ConsoleRequest,
  access: Confirmation,
  now: number,
  refuseSession: (session: Session) => Refused = () => undefined,
): Authorization<SignedInRequest> {
  const refusal = refuseInsecure(request)
  if (refusal !== undefined) return refusal
  const { signedIn } = request
  if (signedIn === undefined) return refuse('session_ended', 'Your session has ended. Sign in again.')
  const { secret, session } = signedIn
  if (request.changes && !isCsrfToken(request.csrfToken, secret)) {
    return refuse('other_site', 'This page belongs to an older session. Reload it.')
  }
  const refused = refuseSession(session) ?? refuseWithoutFactor(session, access)
  if (refused !== undefined) return refused
  const isConfirmed = session.confirmedAt + CONFIRMED_MS > now
  if (access.confirmed === true && !isConfirmed) return CONFIRM
  return { kind: 'authorized', request: { ...request, signedIn, session, isConfirmed } }
}

function refuseWithoutFactor({ secondFactor }: Session, { withoutFactor }: Confirmation): Refused {
  if (secondFactor === null || withoutFactor === 'allowed') return undefined
  if (secondFactor === 'enrol') return withoutFactor === 'enrols' ? undefined : ENROL
  return GIVE
}

const ENROL = refuse(
  'second_factor_needed',
  'A second factor is required here. Add an authenticator app or a passkey before anything else.',
)
const GIVE = refuse(
  'second_factor_needed',
  'A second factor is required here. Use your passkey, or enter a code of your authenticator app or a recovery code.',
)

const refuseInsecure = ({ site, changes }: ConsoleRequest): RouteRefusal | undefined =>
  changes && !site.isPrivate ? HTTPS_NEEDED : undefined

const HTTPS_NEEDED = refuse(
  'https_needed',
  'Passwords would be sent unencrypted. Open the console over https, or on the machine itself. ' +
    'The operator can put a TLS proxy in front and set server.public_url.',
)
const CONFIRM = refuse(
  'confirm_password',
  'Enter your password again: changes of keys and money need a recent confirmation.',
)
const OPERATORS_ONLY = refuse('operators_only', 'Only operators of this server may do this.')
const NO_ACCOUNT = refuse('no_account', 'You have no account on this server. Keys and money belong to an account.')
const roleTooLow = (role: MemberRole, roles: readonly MemberRole[]) =>
  refuse(
    'role_too_low',
    `Your role in this account is ${role}. This needs one of: ${roles.join(', ')}. An owner of the account can change your role.`,
  )
const SUSPENDED = refuse(
  'account_suspended',
  'This account is suspended: you can read everything and change nothing. Ask the operator of this server.',
)
const CLOSED = refuse('account_closed', 'This account is closed: you can read everything and change nothing.')

const READING = new Set(['GET', 'HEAD'])

export const isChange = ({ request }: RequestContext): boolean => !READING.has(request.method ?? 'GET')

/** Reads the head before anything is awaited: a connection that breaks meanwhile has no address, by which attempts are counted. */
export function readConsoleRequest(context: RequestContext, site: Site): Omit<ConsoleRequest, 'signedIn'> {
  const { request, edge, requestId, log } = context
  return {
    ...{ requestId, site, log },
    address: edge.findClientAddress(request),
    agent: String(request.headers['user-agent'] ?? ''),
    changes: isChange(context),
    csrfToken: request.headers['x-csrf-token'],
    deviceTokens: readCookie('device', request.headers.cookie, site),
  }
}

/** The session of this browser; undefined without one, or when it has ended. */
export async function findSignedIn(
  { request }: RequestContext,
  sessions: EdgeConsole['sessions'],
  site: Site,
): Promise<ConsoleRequest['signedIn']> {
  const secret = readCookie('session', request.headers.cookie, site)
  const session = secret === undefined ? undefined : await sessions.find(secret)
  return secret === undefined || session === undefined ? undefined : { secret, session }
}

type CookieOf = 'session' | 'device' | 'sign_on'

/**
 * `__Host-`: only this host can set the cookie, and only over TLS. Over plain HTTP, which is for this machine alone, browsers
 * reject that name.
 */
const cookieName = (of: CookieOf, { isSecure }: Site): string => `${isSecure ? '__Host-' : ''}millrace_${of}`

export function readCookie(of: CookieOf, header: string | undefined, site: Site): string | undefined {
  const name = cookieName(of, site)
  return header === undefined ? undefined : parse(header, name)[name]
}

/** Outlives the session and grants nothing: wrong passwords from a known browser are counted apart from those of strangers. */
export const deviceCookie = (tokens: string, site: Site): string =>
  serialize(cookieName('device', site), tokens, cookieOptions(site, 'Strict', DEVICE_MS))

/**
 * Starts the session of a browser, or ends it without a secret. Scripts cannot read the cookie, and other sites send it only with a
 * plain link. The server ends a session sooner than the cookie.
 */
export const sessionCookie = (secret: string | undefined, site: Site): string =>
  serialize(
    cookieName('session', site),
    secret ?? '',
    cookieOptions(site, 'Lax', secret === undefined ? 0 : SESSION_MS),
  )

/** What the browser keeps while the person is at a provider of single sign-on, or nothing any more. The way back is a link from there. */
export const signOnCookie = (sealed: string | undefined, site: Site): string =>
  serialize(
    cookieName('sign_on', site),
    sealed ?? '',
    cookieOptions(site, 'Lax', sealed === undefined ? 0 : SIGN_ON_MS),
  )

const cookieOptions = ({ isSecure: secure }: Site, sameSite: 'Strict' | 'Lax', lifetimeMs: number) => ({
  ...{ path: '/', httpOnly: true, secure, sameSite, maxAge: lifetimeMs / 1000 },
})

/**
 * Whether a page of this site sent the request. Browsers name its origin in headers that no page can write. A client without them
 * is not a browser that the console supports.
 */
export function isSameSite({ origin, 'sec-fetch-site': fetchSite }: IncomingHttpHeaders, site: Site): boolean {
  if (fetchSite !== undefined && fetchSite !== 'same-origin') return false
  return origin === undefined ? fetchSite === 'same-origin' : origin === site.origin
}

/** Derived from the session's secret, so it needs no storage and ends with the session. */
export const csrfTokenOf = (sessionSecret: string): string =>
  createHmac('sha256', sessionSecret).update('millrace console csrf').digest('base64url')

export function isCsrfToken(sent: string | string[] | undefined, sessionSecret: string): boolean {
  if (typeof sent !== 'string') return false
  const [a, b] = [Buffer.from(sent), Buffer.from(csrfTokenOf(sessionSecret))]
  return a.length === b.length && timingSafeEqual(a, b)
}
