import type { Caller } from '../model/caller.ts'
import { problem, type Refused, refused } from '../model/problem.ts'
import { authenticate } from './auth.ts'
import { serveConsole } from './console/serve-console.ts'
import { describeApi, home, liveness, readiness } from './health.ts'
import { isNotBehind, refuseUnknownPath } from './paths.ts'
import type { Exchange } from './request-context.ts'
import { sendProblem } from './respond.ts'
import { describeKey, getModel, getRequest, listModels } from './v1/look-ups.ts'
import { postTurn } from './v1/post-turn.ts'
import { deleteResponse, getResponse } from './v1/stored-responses.ts'

/** `argument` is what followed the path of a route that ends in a slash, decoded; else empty. */
type Endpoint = (exchange: Exchange, argument: string) => Promise<void> | void

type Methods = Readonly<Partial<Record<'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', Endpoint>>>

/** The console finds its own way below its path. */
const CONSOLE: Methods = {
  GET: serveConsole,
  POST: serveConsole,
  PUT: serveConsole,
  PATCH: serveConsole,
  DELETE: serveConsole,
}

/** Everything that is provided. A path that ends in a slash takes an id behind it. */
const ROUTES: ReadonlyMap<string, Methods> = new Map<string, Methods>([
  ['/v1', { GET: (exchange) => describeApi(exchange, OFFERED) }],
  ['/v1/chat/completions', { POST: (exchange) => postTurn(exchange, 'chat') }],
  ['/v1/responses', { POST: (exchange) => postTurn(exchange, 'responses') }],
  ['/v1/responses/compact', { POST: (exchange) => postTurn(exchange, 'compact') }],
  ['/v1/responses/', { GET: withKey(getResponse), DELETE: withKey(deleteResponse) }],
  ['/v1/models', { GET: withKey(listModels) }],
  ['/v1/models/', { GET: withKey(getModel) }],
  ['/v1/key', { GET: withKey(describeKey) }],
  ['/v1/requests/', { GET: withKey(getRequest) }],
  ['/', { GET: (exchange) => home(exchange, OFFERED) }],
  ['/console', { GET: serveConsole }],
  ['/console/', CONSOLE],
  ['/healthz', { GET: liveness }],
  ['/readyz', { GET: readiness }],
])

/** What a key is asked for; nothing is done for whoever has none. A turn asks for it itself, in its own order. */
function withKey(answer: (exchange: Exchange, caller: Caller, argument: string) => Promise<void> | void): Endpoint {
  return async (exchange, argument) => {
    const who = await authenticate(exchange)
    if (who.kind === 'refused') return sendProblem(exchange, who.problem)
    await answer(exchange, who.caller, argument)
  }
}

/** What clients may call, as `GET /v1/models/{id}`. */
const OFFERED = [...ROUTES].flatMap(([path, methods]) =>
  path.startsWith('/v1/')
    ? Object.keys(methods).map((method) => `${method} ${path}${path.endsWith('/') ? '{id}' : ''}`)
    : [],
)

const PREFIXES = [...ROUTES.keys()].filter((path) => path.length > 1 && path.endsWith('/'))

type RouteOutcome =
  /** `route` is the path as the table writes it: what metrics count by. */
  { readonly kind: 'found'; readonly route: string; readonly endpoint: Endpoint; readonly argument: string } | Refused

export function findRoute(method: string, path: string): RouteOutcome {
  // `OPTIONS *` asks about the server as a whole, which has no methods beyond those of its paths.
  if (path === '*') return refuseMethod(method, Object.assign({}, ...ROUTES.values()) as Methods)
  const prefix = isNotBehind(path) ? undefined : PREFIXES.find((candidate) => path.startsWith(candidate))
  const route = ROUTES.has(path) ? path : (prefix ?? '')
  const methods = ROUTES.get(route)
  if (!methods) return refused(refuseUnknownPath(method, path, OFFERED))
  const endpoint = methods[(method === 'HEAD' ? 'GET' : method) as keyof Methods]
  if (!endpoint) return refuseMethod(method, methods)
  return { kind: 'found', route, endpoint, argument: prefix ? decode(path.slice(prefix.length)) : '' }
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
