import { readFileSync } from 'node:fs'
import type { Caller } from '../model/caller.ts'
import { problem, type Refused, refused } from '../model/problem.ts'
import { serveAdmin } from './admin/serve-admin.ts'
import { authenticate } from './auth.ts'
import { serveConsole } from './console/serve-console.ts'
import { serveHome } from './home.ts'
import { serveOpenApi } from './openapi.ts'
import { CANCEL_RESPONSE, NOT_RESPONSE_IDS, refuseUnknownPath } from './paths.ts'
import type { RequestContext } from './request-context.ts'
import { sendJson, sendJsonBytes, sendProblem } from './respond.ts'
import { serveScim } from './scim/serve-scim.ts'
import { serveDocs } from './site-files.ts'
import { receiveStripeEvent } from './stripe-webhook.ts'
import { exchangeToken } from './token-exchange.ts'
import { describeKey, getCredits, getKeyInfo, getModel, getRequest, getRun, listModels } from './v1/look-ups.ts'
import { postTurn } from './v1/post-turn.ts'
import { cancelResponse, deleteResponse, getResponse } from './v1/stored-responses.ts'

/** `argument` is the decoded rest of the path on a route that ends in a slash, else empty. */
type Endpoint = (context: RequestContext, argument: string) => Promise<void> | void

type Methods = Readonly<Partial<Record<'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', Endpoint>>>

const allMethods = (serve: Endpoint): Methods => ({ GET: serve, POST: serve, PUT: serve, PATCH: serve, DELETE: serve })

const CANCEL_ROUTE = '/v1/responses/{id}/cancel'

/** All routes. A path that ends in a slash takes an id. */
export const ROUTES: ReadonlyMap<string, Methods> = new Map<string, Methods>([
  ['/v1', { GET: (context) => sendJson(context, 200, { object: 'api', name: 'millrace', endpoints: OFFERED }) }],
  ['/v1/chat/completions', { POST: (context) => postTurn(context, 'chat') }],
  ['/v1/responses', { POST: (context) => postTurn(context, 'responses') }],
  ['/v1/responses/compact', { POST: (context) => postTurn(context, 'compact') }],
  ['/v1/responses/', { GET: withKey(getResponse), DELETE: withKey(deleteResponse) }],
  [CANCEL_ROUTE, { POST: withKey(cancelResponse) }],
  ['/v1/models', { GET: withKey(listModels) }],
  ['/v1/models/', { GET: withKey(getModel) }],
  ['/v1/key', { GET: withKey(describeKey) }],
  ['/v1/credits', { GET: withKey(getCredits) }],
  // Tools of LiteLLM ask beside /v1.
  ['/key/info', { GET: withKey(getKeyInfo) }],
  ['/v1/key/info', { GET: withKey(getKeyInfo) }],
  ['/v1/requests/', { GET: withKey(getRequest) }],
  ['/v1/runs/', { GET: withKey(getRun) }],
  ['/openapi.json', { GET: serveOpenApi }],
  ['/', { GET: serveHome }],
  ['/docs', { GET: serveDocs }],
  ['/docs/', { GET: serveDocs }],
  ['/console', { GET: serveConsole }],
  // The console, the management API and SCIM route their own paths.
  ['/console/', allMethods(serveConsole)],
  ['/admin/v1', allMethods(serveAdmin)],
  ['/admin/v1/', allMethods(serveAdmin)],
  ['/oauth/token', { POST: exchangeToken }],
  ['/stripe/webhook', { POST: receiveStripeEvent }],
  ['/scim/v2', allMethods(serveScim)],
  ['/scim/v2/', allMethods(serveScim)],
  // The process runs and its event loop turns. Nothing else is checked.
  ['/healthz', { GET: (context) => sendJson(context, 200, { status: 'ok' }) }],
  ['/readyz', { GET: readiness }],
  ['/schema/millrace.json', { GET: sendConfigSchema }],
])

/** Authenticates first. A turn authenticates itself, because it checks other things before. */
function withKey(
  answer: (context: RequestContext, caller: Caller, argument: string) => Promise<void> | void,
): Endpoint {
  return async (context, argument) => {
    const authenticated = await authenticate(context)
    if (authenticated.kind === 'refused') return sendProblem(context, authenticated.problem)
    await answer(context, authenticated.caller, argument)
  }
}

/** Whether this node should get traffic, and if not, why. */
function readiness(context: RequestContext): void {
  const { edge } = context
  const reasons: string[] = []
  if (edge.drain.stage !== 'open') reasons.push('draining')
  if (!edge.ledger.gate.open) reasons.push('ledger unavailable')
  if (reasons.length === 0) sendJson(context, 200, { status: 'ready' })
  else sendJson(context, 503, { status: 'not-ready', reasons })
}

/** The same path from `src` and from `dist`. */
const CONFIG_SCHEMA = new URL('../../schema/millrace.schema.json', import.meta.url)

let configSchema: Buffer | undefined

/** For editors: the JSON Schema of the configuration of this version, which has no secret. */
function sendConfigSchema(context: RequestContext): void {
  configSchema ??= readFileSync(CONFIG_SCHEMA)
  sendJsonBytes(context, 200, configSchema, { 'content-type': 'application/schema+json' })
}

/** What clients may call, as `GET /v1/models/{id}`. */
const OFFERED = [...ROUTES].flatMap(([path, methods]) =>
  path.startsWith('/v1/')
    ? Object.keys(methods).map((method) => `${method} ${path}${path.endsWith('/') ? '{id}' : ''}`)
    : [],
)

const PREFIXES = [...ROUTES.keys()].filter((path) => path.length > 1 && path.endsWith('/'))

type RouteOutcome =
  /** `route` is the path as the table writes it: a label of the metrics. */
  { readonly kind: 'found'; readonly route: string; readonly endpoint: Endpoint; readonly argument: string } | Refused

export function findRoute(method: string, path: string): RouteOutcome {
  let route = path
  let methods = ROUTES.get(path)
  let argument = ''
  if (methods === undefined) {
    // `OPTIONS *` asks about the server as a whole, which has the methods of all its paths.
    if (path === '*') return refuseMethod(method, Object.assign({}, ...ROUTES.values()) as Methods)
    const cancelled = CANCEL_RESPONSE.exec(path)?.[1]
    if (cancelled !== undefined) route = CANCEL_ROUTE
    else route = NOT_RESPONSE_IDS.test(path) ? '' : (PREFIXES.find((prefix) => path.startsWith(prefix)) ?? '')
    methods = ROUTES.get(route)
    argument = decode(cancelled ?? path.slice(route.length))
  }
  if (!methods) return refused(refuseUnknownPath(method, path, OFFERED))
  const endpoint = methods[(method === 'HEAD' ? 'GET' : method) as keyof Methods]
  return endpoint ? { kind: 'found', route, endpoint, argument } : refuseMethod(method, methods)
}

function refuseMethod(method: string, methods: Methods): RouteOutcome {
  const allow = Object.keys(methods)
    .flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]))
    .join(', ')
  const message = `The method ${method} is not available here. Use ${allow}.`
  return refused(problem('method_not_allowed', message, { headers: { allow } }))
}

/** Ids contain slashes, which some clients encode and some do not. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
