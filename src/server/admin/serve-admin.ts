import { TrieRouter } from 'hono/router/trie-router'
import { type AdminCaller, type AdminKeyRefusal, actorOf, findAdminKey } from '../../admin/admin-keys.ts'
import { actorLogOf } from '../../admin/audit.ts'
import type { Outcome, RefusalReason } from '../../admin/outcome.ts'
import { CHALLENGE } from '../../auth/callers.ts'
import { ADMIN_ROUTES, type AdminRouteName } from '../../contract/admin-api.ts'
import { allows } from '../../contract/admin-keys.ts'
import type { AnyAdminRoute } from '../../contract/admin-route.ts'
import { readIdempotencyKey } from '../../gateway/idempotency.ts'
import { type Problem, problem, type Refused, refused } from '../../model/problem.ts'
import { limitUnauthenticated } from '../auth.ts'
import { readInput, receiveForm, sendPieces } from '../json-route.ts'
import { ADMIN_BASE } from '../paths.ts'
import type { RequestContext } from '../request-context.ts'
import { type Headers, sendJson, sendJsonBytes, sendProblem } from '../respond.ts'
import { type FileReply, REFUSAL_STATUSES, type RouteRefusal, refuse } from '../route-replies.ts'
import { ADMIN_HANDLERS, type AdminRequest } from './handlers.ts'
import {
  AdminKeyEnded,
  type Claim,
  createAdminWrites,
  type EarlierCall,
  findWinner,
  KeyClaimed,
  keepAnswer,
  lookUpCall,
} from './idempotency.ts'

/** A handler, as the table of all routes sees it. `readInput` gives it what its route says. */
type AnyHandler = (request: AdminRequest, input: unknown) => Promise<Outcome<unknown> | FileReply>

interface FoundRoute {
  readonly path: string
  readonly route: AnyAdminRoute
  readonly handler: AnyHandler
}

const ROUTER = new TrieRouter<FoundRoute>()
/** The methods of each path. */
const METHODS = new TrieRouter<string>()
for (const name of Object.keys(ADMIN_ROUTES) as AdminRouteName[]) {
  const [method = '', path = ''] = name.split(' ')
  ROUTER.add(method, path, { path, route: ADMIN_ROUTES[name], handler: ADMIN_HANDLERS[name] as AnyHandler })
  METHODS.add('ALL', path, method)
}

/** No shared cache keeps what an operator reads. */
const HEADERS = { 'cache-control': 'no-store' }

/** Serves one request of the management API: authenticates, checks the scope, reads the input, runs the use case. */
export async function serveAdmin(context: RequestContext): Promise<void> {
  const path = context.path.slice(ADMIN_BASE.length) || '/'
  const authenticated = await authenticateAdmin(context)
  if (authenticated.kind === 'refused') return sendProblem(context, authenticated.problem)
  const { scopes } = authenticated.caller
  const method = context.request.method === 'HEAD' ? 'GET' : (context.request.method ?? 'GET')
  const [matched] = ROUTER.match(method, path)[0]
  if (matched === undefined) return sendProblem(context, refusePath(method, path))
  const [{ path: template, route, handler }, params] = matched
  context.log.endpoint = ADMIN_BASE + template
  if (route.scope !== 'any' && !allows(scopes, route.scope)) {
    const message = `This admin key needs the scope ${route.scope}. It has ${scopes.join(', ')}.`
    return sendProblem(context, problem('insufficient_scope', message))
  }
  const header = method === 'GET' ? undefined : context.request.headers['idempotency-key']
  const named = header === undefined ? undefined : readIdempotencyKey(header)
  if (named?.kind === 'invalid') return sendProblem(context, named.problem)
  const form = await receiveForm(context)
  // The connection stays open until its answer ends, also after a disconnect.
  if (form.kind === 'disconnected') return void context.response.destroy()
  if (form.kind === 'broken') return sendProblem(context, form.problem)
  if (form.kind === 'too-large') {
    return sendRefusal(context, refuse('body_too_large', 'No request of the management API is as large as this.'))
  }
  // A body may take minutes to arrive, and the key may be revoked or expire meanwhile. Its scopes never change.
  const admitted = await authenticateAdmin(context)
  if (admitted.kind === 'refused') return sendProblem(context, admitted.problem)
  const { caller } = admitted
  const keyed = named && { caller, idempotencyKey: named.key, body: form.bytes }
  const call = keyed && (await lookUpCall(context, keyed))
  if (call !== undefined && call.kind !== 'first') return sendEarlier(context, call)
  const read = readInput(route, {
    params: decoded(params as Readonly<Record<string, string>>),
    query: queryOf(context),
    type: context.request.headers['content-type'],
    text: form.bytes.toString('utf8'),
  })
  if (read.kind === 'refused') return sendRefusal(context, read)
  await run(context, { caller, claim: call?.claim, route, handle: (request) => handler(request, read.input) })
}

interface Run {
  readonly caller: AdminCaller
  readonly claim: Claim | undefined
  readonly route: AnyAdminRoute
  readonly handle: (request: AdminRequest) => ReturnType<AnyHandler>
}

/** Runs a use case whose changes are made by the admin key, and answers. */
async function run(context: RequestContext, { caller, claim, route, handle }: Run): Promise<void> {
  const services = context.edge.admin
  const writes = createAdminWrites(services, caller, claim)
  const { audit } = writes
  try {
    const reply = await handle({
      ...services,
      ...{ people: { ...services.people, audit }, auditLog: actorLogOf(audit, actorOf(caller)), caller },
    })
    if (reply.kind === 'file') return await sendFile(context, route, reply)
    const { status, body, headers } = jsonReplyOf(context, reply)
    const bytes = Buffer.from(JSON.stringify(body))
    if (claim !== undefined && isFinal(reply)) await keepAnswer(context, { caller, writes, claim, status, body: bytes })
    if (reply.kind === 'refused') context.log.code = reply.reason
    sendJsonBytes(context, status, bytes, headers)
  } catch (error) {
    if (error instanceof AdminKeyEnded)
      return sendProblem(context, problem('invalid_api_key', REFUSALS[error.reason], CHALLENGE))
    if (error instanceof KeyClaimed && claim !== undefined)
      return sendEarlier(context, await findWinner(context.edge, caller, claim))
    throw error
  }
}

/** Whether the same request would be answered like that again. Others have changed something at the same time, or it has to wait. */
const isFinal = (reply: Outcome<unknown>): boolean =>
  reply.kind === 'done' || !(reply.retryAfterSeconds !== undefined || CHANGED_MEANWHILE.has(reply.reason))

const CHANGED_MEANWHILE: ReadonlySet<RefusalReason> = new Set(['key_changed', 'plan_changed', 'managed_outdated'])

/** The answer of the first request with an idempotency key, or why there is none. */
function sendEarlier(context: RequestContext, earlier: EarlierCall): void {
  if (earlier.kind === 'refused') {
    sendProblem(context, earlier.problem)
    return
  }
  const { requestId, status, contentType } = earlier.answer
  context.log.outcome = 'replayed'
  sendJsonBytes(context, status, earlier.body, {
    ...{ ...HEADERS, 'content-type': contentType },
    ...{ 'idempotency-replayed': 'true', 'x-original-request-id': requestId },
  })
}

type Authenticated = { readonly kind: 'caller'; readonly caller: AdminCaller } | Refused

export async function authenticateAdmin(context: RequestContext): Promise<Authenticated> {
  const { request, edge, log } = context
  const bearer = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')
  if (bearer === null) return refused(limitUnauthenticated(context, missingKey(request.headers.authorization)))
  const found = await findAdminKey(edge.admin, bearer[1]!)
  if (found.kind === 'refused') {
    log.key_refusal = found.reason
    return refused(limitUnauthenticated(context, problem('invalid_api_key', REFUSALS[found.reason], CHALLENGE)))
  }
  log.key_id = found.caller.id
  return found
}

const missingKey = (authorization: string | undefined): Problem =>
  authorization
    ? problem('invalid_api_key', 'The Authorization header is not of the form "Bearer <admin key>".', CHALLENGE)
    : problem('missing_api_key', 'No admin key was sent. Send "Authorization: Bearer <admin key>".', CHALLENGE)

export const REFUSALS: Readonly<Record<AdminKeyRefusal, string>> = {
  'api-key':
    'This is an API key, which works at /v1 only. Here use an admin key, which begins with mra_. To create one: millrace admin-keys create',
  malformed: 'The admin key is incomplete or mistyped. Admin keys begin with mra_. Copy the whole key again.',
  unknown: 'The admin key is not known here. Check that it belongs to this server.',
  expired: 'The admin key has expired. Create a new one.',
  revoked: 'The admin key was revoked. Create a new one.',
}

function refusePath(method: string, path: string): Problem {
  const allow = METHODS.match('ALL', path)[0].flatMap(([each]) => (each === 'GET' ? ['GET', 'HEAD'] : [each]))
  if (allow.length === 0) {
    const message = `There is nothing at this path of the management API. GET /openapi.json lists what there is.`
    return problem('endpoint_not_provided', message)
  }
  const message = `The method ${method} is not available here. Use ${allow.join(', ')}.`
  return problem('method_not_allowed', message, { headers: { allow: allow.join(', ') } })
}

/** Text that is not percent-encoded correctly names nothing: it stays as it is. */
const decoded = (params: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(params).map(([name, text]) => {
      try {
        return [name, decodeURIComponent(text)]
      } catch {
        return [name, text]
      }
    }),
  )

/** The last value of a repeated name counts. */
function queryOf({ request: { url = '' } }: RequestContext): Record<string, string> {
  const start = url.indexOf('?')
  return Object.fromEntries(new URLSearchParams(start < 0 ? '' : url.slice(start + 1)))
}

const sendFile = (context: RequestContext, { file }: AnyAdminRoute, { name, pieces }: FileReply): Promise<void> =>
  sendPieces(context, 200, pieces, {
    ...HEADERS,
    'content-type': file === 'text/csv' ? 'text/csv; charset=utf-8' : file,
    'content-disposition': `attachment; filename="${name}"`,
  })

interface JsonReply {
  readonly status: number
  readonly body: object
  readonly headers: Headers
}

function jsonReplyOf(context: RequestContext, reply: Outcome<unknown>): JsonReply {
  if (reply.kind === 'done') return { status: 200, body: reply.value as object, headers: HEADERS }
  const { reason: code, ...rest } = reply
  return refusalReply(context, { code, ...rest })
}

/** The types of the envelope, by status. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
  500: 'server_error',
  503: 'service_unavailable_error',
}

/** A refusal in the envelope of all API errors. */
function refusalReply(context: RequestContext, { code, message, param, retryAfterSeconds }: RouteRefusal): JsonReply {
  const status = REFUSAL_STATUSES[code]
  const type = TYPES[status] ?? 'invalid_request_error'
  const error = { message, type, param: param ?? null, code, source: 'gateway', request_id: context.requestId }
  const retry = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }
  return { status, body: { error }, headers: { ...HEADERS, ...retry } }
}

function sendRefusal(context: RequestContext, refusal: RouteRefusal): void {
  const { status, body, headers } = refusalReply(context, refusal)
  context.log.code = refusal.code
  sendJson(context, status, body, headers)
}
