import { type AdminScope, allows } from '../../../src/contract/admin-keys.ts'
import { CONSOLE_API, type RouteName } from '../../../src/contract/console-api.ts'
import { type Requester, ROLES_OF } from '../../../src/contract/values.ts'
import type { Role } from '../../../src/db/people-tables.ts'
import type { MatrixRoute } from './routes.ts'

/** What a caller is at `/v1`. */
export interface ApiRights {
  readonly account: 'ours' | 'other'
  /** Whether it sees what other keys of its account did. */
  readonly reads: 'all' | 'own'
  readonly needsRun?: boolean
}

/** What a caller is at the console. */
export interface SessionRights {
  readonly role: Role
  /** Without one: an operator who has no account. */
  readonly account?: 'ours' | 'other'
  readonly isSuspended?: boolean
  /** What the second factor asks for before anything else. */
  readonly factor?: 'enrol' | 'give'
  /** The password was given too long ago to create keys or to move money. */
  readonly isStale?: boolean
  /** The token against cross-site requests is missing or that of another session. */
  readonly hasNoToken?: boolean
  /** The things of the matrix are theirs, also those that others in the account do not see. */
  readonly isMaker?: boolean
}

/** A kind of caller: the refusal that each surface gives it, or what it is there. */
export interface Rights {
  readonly api: ApiRights | string
  readonly admin: readonly AdminScope[] | string
  /** Whose people an admin key for SCIM manages. */
  readonly directory?: 'ours' | 'other'
  readonly session?: SessionRights
  /** Where its requests say that they come from: no page, a page of the console, or one of another site. */
  readonly page: 'none' | 'console' | 'other site'
}

/** `absent`: what is named belongs to another account, and looks like what does not exist. Anything else is the code of a refusal. */
export type Expected = 'allowed' | 'absent' | (string & {})

/** What the paths of the server are, beside the tables of the console, the management API and SCIM. A path that is not here fails. */
const PATHS: Readonly<Record<string, 'public' | 'own proof' | 'key' | 'turn' | 'theirs' | 'of account' | 'table'>> = {
  'GET /v1': 'public',
  'POST /v1/chat/completions': 'turn',
  'POST /v1/responses': 'turn',
  'POST /v1/responses/compact': 'turn',
  'GET /v1/responses/': 'theirs',
  'DELETE /v1/responses/': 'theirs',
  'POST /v1/responses/{id}/cancel': 'theirs',
  'GET /v1/models': 'key',
  'GET /v1/models/': 'key',
  'GET /v1/key': 'key',
  'GET /v1/credits': 'key',
  'GET /key/info': 'key',
  'GET /v1/key/info': 'key',
  'GET /v1/requests/': 'theirs',
  // Every key of the account may use its runs, and read what is left of them.
  'GET /v1/runs/': 'of account',
  'GET /openapi.json': 'public',
  'GET /': 'public',
  'GET /docs': 'public',
  'GET /docs/': 'public',
  'GET /console': 'public',
  '* /console/': 'table',
  '* /admin/v1': 'table',
  '* /admin/v1/': 'table',
  'POST /oauth/token': 'own proof',
  'POST /stripe/webhook': 'own proof',
  '* /scim/v2': 'table',
  '* /scim/v2/': 'table',
  'GET /healthz': 'public',
  'GET /readyz': 'public',
  'GET /schema/millrace.json': 'public',
}

/** The least that a route of the console asks for, by its name: the first that fits. It has to equal the contract. */
const CONSOLE_RULES: readonly (readonly [Requester, RegExp])[] = [
  ['anyone', /^(GET|POST) \/session$|^POST \/(session\/(challenge|passkey)|invitation|sign-up)$/],
  ['operator', /^\w+ \/operate\//],
  ['viewer', /^GET \/notices\/settings$/],
  ['owner', /^\w+ \/notices\/settings$|^(POST|PUT|PATCH|DELETE) \/(wallet|card|plans|webhooks)\b/],
  ['signed-in', /^\w+ \/(session|sessions|password|factors|passkeys|notices)\b/],
  ['member', /^\w+ \/conversations\b|^(POST|PATCH) \/keys(\/:key(\/rotate|\/revoke)?)?$/],
  ['admin', /^(POST|PUT|PATCH) \/(keys\/:key\/raise$|(new-key-caps|teams|second-factor|members)\b)/],
  ['admin', /^GET \/(second-factor|webhooks)\b/],
  ['any-role', /^GET \/(overview|keys|usage|requests|runs|models)\b/],
  ['viewer', /^GET \/(audit|new-key-caps|teams|wallet|card|payments|plans?|invoice|members)\b/],
]

/** The family of the scope that a route of the management API needs, by its path: the first that fits. It has to equal the contract. */
const ADMIN_RULES: readonly (readonly [string, RegExp])[] = [
  ['any', /^\/key$/],
  ['admin', /^\/apply$/],
  ['admin-keys', /^\/admin-keys\b/],
  ['keys', /^\/(accounts\/:account\/(teams|new-key-caps)|teams|keys)\b/],
  ['wallet', /^\/(accounts\/:account\/(wallet|payments|invoice)|payments|funding-requests)\b/],
  ['notices', /^\/(accounts\/:account\/notice-settings|notices|webhooks)\b/],
  ['plans', /^\/(accounts\/:account\/plan|plans)\b/],
  ['usage', /^\/(accounts\/:account\/usage|served|lanes|managed\/preview)\b/],
  ['requests', /^\/(accounts\/:account\/requests|requests)\b/],
  ['people', /^\/people\b/],
  ['accounts', /^\/accounts(\/:account)?$/],
  ['codes', /^\/codes\b/],
  ['catalog', /^\/managed\b/],
  ['audit', /^\/audit\b/],
]

const familyOf = (path: string): string | undefined => ADMIN_RULES.find(([, fits]) => fits.test(path))?.[0]

function scopeOf({ method, path }: MatrixRoute): string | undefined {
  const family = familyOf(path)
  if (family === undefined || family === 'any' || family === 'admin') return family
  // A preview asks what requests would have cost, and changes nothing.
  return `${family}:${method === 'GET' || path === '/managed/preview' ? 'read' : 'write'}`
}

/** What the rules say that a route asks for; undefined if no rule knows it. */
export function statedNeed(route: MatrixRoute): string | undefined {
  switch (route.surface) {
    case 'server':
      return PATHS[`${route.method} ${route.path}`]
    case 'admin':
      return scopeOf(route)
    case 'console':
      return CONSOLE_RULES.find(([, fits]) => fits.test(`${route.method} ${route.path}`))?.[0]
    case 'scim':
      return 'scim'
    case 'playground':
      return 'member'
    case 'sign-on':
      return 'anyone'
  }
}

/** By the rules alone, not by what the server does. */
export function expectedOf(rights: Rights, route: MatrixRoute): Expected {
  const need = statedNeed(route)
  if (need === undefined) return 'a rule'
  switch (route.surface) {
    case 'server':
      return atServer(rights, route, need)
    case 'admin':
      return atAdmin(rights, route, need)
    case 'scim':
      return atDirectory(rights, route)
    default:
      return atConsole(rights, route, need as Requester)
  }
}

/** Keys and sessions are no concern of a path that is public, or whose callers prove themselves in the body. */
function atServer({ api, page }: Rights, { path }: MatrixRoute, need: string): Expected {
  if (page === 'other site' && /^\/v1(\/|$)/.test(path)) return 'browser_not_allowed'
  if (need === 'public') return 'allowed'
  if (need === 'own proof') return 'refused by its own proof'
  if (typeof api === 'string') return api
  if (need === 'turn' && api.needsRun === true) return 'run_required'
  if (need !== 'theirs' && need !== 'of account') return 'allowed'
  return api.account === 'ours' && (need === 'of account' || api.reads === 'all') ? 'allowed' : 'absent'
}

/** No page may send an admin key. Browsers send the origin of a page with every change, and other sites with everything. */
const isFromPage = ({ page }: Rights, { method }: MatrixRoute): boolean =>
  page === 'other site' || (page === 'console' && method !== 'GET')

function atAdmin(rights: Rights, route: MatrixRoute, need: string): Expected {
  if (isFromPage(rights, route)) return 'browser_not_allowed'
  if (typeof rights.admin === 'string') return rights.admin
  return need === 'any' || allows(rights.admin, need as AdminScope) ? 'allowed' : 'insufficient_scope'
}

function atDirectory(rights: Rights, route: MatrixRoute): Expected {
  if (isFromPage(rights, route)) return '403'
  if (typeof rights.admin === 'string') return '401'
  if (rights.directory === undefined) return '403'
  return rights.directory === 'other' && route.names.length > 0 ? 'absent' : 'allowed'
}

const ROUTES_OF_CONSOLE: Readonly<Record<string, (typeof CONSOLE_API)[RouteName] | undefined>> = CONSOLE_API

function atConsole({ session, page }: Rights, route: MatrixRoute, need: Requester): Expected {
  const changes = route.method !== 'GET'
  const { confirmed, withoutFactor } = (ROUTES_OF_CONSOLE[`${route.method} ${route.path}`] ?? {}) as {
    readonly confirmed?: boolean | 'to-widen'
    readonly withoutFactor?: 'allowed' | 'enrols'
  }
  if (changes && page !== 'console') return 'other_site'
  if (need === 'anyone') return 'allowed'
  if (session === undefined) return 'session_ended'
  if (changes && session.hasNoToken === true) return 'other_site'
  const refusal = refusalOfRole(session, need, changes)
  if (refusal !== undefined) return refusal
  if (session.factor === 'give' && withoutFactor !== 'allowed') return 'second_factor_needed'
  if (session.factor === 'enrol' && withoutFactor === undefined) return 'second_factor_needed'
  if (confirmed === true && session.isStale === true) return 'confirm_password'
  return need !== 'operator' && isAbsentFor(session, route.names) ? 'absent' : 'allowed'
}

/** Which things a person sees in the account: conversations and sessions are personal, and a member has keys of their own. */
const PERSONAL = /^(conversation|session|passkey)$/
const OF_KEYS = /^(key|request|run)$/

function isAbsentFor({ role, account, isMaker }: SessionRights, names: readonly string[]): boolean {
  if (isMaker === true || names.length === 0) return false
  if (account !== 'ours' || names.some((name) => PERSONAL.test(name))) return true
  return role === 'member' && names.some((name) => OF_KEYS.test(name))
}

/** An operator with an account is as its owner. */
function refusalOfRole({ role, account, isSuspended }: SessionRights, need: Requester, changes: boolean) {
  if (need === 'operator') return role === 'operator' ? undefined : 'operators_only'
  if (need === 'signed-in' || need === 'anyone') return undefined
  if (account === undefined) return 'no_account'
  const roles: readonly string[] = ROLES_OF[need]
  if (!roles.includes(role === 'operator' ? 'owner' : role)) return 'role_too_low'
  return isSuspended === true && changes ? 'account_suspended' : undefined
}
