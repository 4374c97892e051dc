import type { TurnEndpoint } from '../../gateway/read-turn.ts'
import { wholeSeconds } from '../../lib/clock.ts'
import { admitCaller } from '../auth.ts'
import { refuseUnknownPath } from '../paths.ts'
import type { RequestContext } from '../request-context.ts'
import { sendProblem } from '../respond.ts'
import { type RouteRefusal, refuse } from '../route-replies.ts'
import type { EdgeConsole } from '../services.ts'
import { API_HEADERS, PAGE_HEADERS, sendFile } from '../site-files.ts'
import { postTurnAs } from '../v1/post-turn.ts'
import { serveApi } from './api.ts'
import { sendRefusal } from './errors.ts'
import { authorizeRequester, findSignedIn, isChange, isSameSite, readConsoleRequest } from './session.ts'
import { isSignOn, serveSignOn } from './sign-on.ts'
import { findSite, type Site } from './site.ts'

const API = 'api/'
const PLAYGROUND = 'api/playground/'
/** A page of an older build may request a file that no longer exists. The page is not an answer to that. */
const ASSETS = 'assets/'
const OLD_FILE = 'This file does not exist any more. Reload the page.'
const NOT_BUILT = 'The console has not been built. In a clone, run: npm run build'

/** Everything below `/console`: files, API and playground. `path` follows `/console/`. */
export async function serveConsole(context: RequestContext, path: string): Promise<void> {
  const { request, edge } = context
  const services = edge.console
  if (services === undefined) {
    return sendProblem(context, refuseUnknownPath(request.method ?? 'GET', context.path, []))
  }
  context.ownHeaders = path.startsWith(API) ? API_HEADERS : PAGE_HEADERS
  const found = findSite(request, services.site, edge.isHttps(request))
  if (found.kind === 'foreign') {
    const name = JSON.stringify(found.host.slice(0, 100))
    const message = `The console is not served under the name ${name}. The operator can allow it: server.public_url or console.hosts.`
    return sendRefusal(context, refuse('host_not_allowed', message))
  }
  const { site } = found
  const signsOn = isSignOn(path)
  if (!path.startsWith(API) && !signsOn) return servePage(context, services, path)
  const refusal = refuseRequest(context, services, site)
  if (refusal) return sendRefusal(context, refusal)
  if (signsOn) return serveSignOn(context, services, site, path)
  if (path.startsWith(PLAYGROUND)) return servePlayground(context, services, site, path.slice(PLAYGROUND.length))
  await serveApi(context, services, site)
}

/** Every path that is not a file is the page, which routes it in the browser. */
async function servePage(context: RequestContext, services: EdgeConsole, path: string): Promise<void> {
  const { method } = context.request
  const files = await services.files()
  const file = files.find(path) ?? (path.startsWith(ASSETS) ? undefined : files.page)
  if (method !== 'GET' && method !== 'HEAD') {
    sendRefusal(context, refuse('method_not_allowed', 'Pages are read with GET.'))
  } else if (file !== undefined) sendFile(context, file)
  else sendRefusal(context, refuse('not_found', files.page === undefined ? NOT_BUILT : OLD_FILE))
}

/**
 * Refusals before the session is read, for the playground too: a kept-alive connection must not start a turn while the server
 * stops, and an address must not try secrets without limit. A change has to come from a page of this site.
 */
function refuseRequest(context: RequestContext, { addressLimiter }: EdgeConsole, site: Site): RouteRefusal | undefined {
  const { request, edge } = context
  if (edge.drain.stage === 'refusing') {
    return refuse('server_draining', 'This server is shutting down.', { retryAfterSeconds: 1 })
  }
  const address = edge.findClientAddress(request)
  const taken = address === undefined ? undefined : addressLimiter.take(address)
  if (taken?.kind === 'refused') {
    const retryAfterSeconds = wholeSeconds(taken.waitMs)
    const message = `Too many requests from this address. Try again in ${retryAfterSeconds} s.`
    return refuse('too_many_requests', message, { retryAfterSeconds })
  }
  if (!isChange(context) || isSameSite(request.headers, site)) return undefined
  return refuse('other_site', 'This request came from another site than this console. Nothing was changed.')
}

/** A map, because an object also has inherited names. */
export const PLAYGROUND_ENDPOINTS: ReadonlyMap<string, TurnEndpoint> = new Map([
  ['chat/completions', 'chat'],
  ['responses', 'responses'],
])

/**
 * A turn that a session authorizes instead of a key. A playground key pays, which no program can hold: the person's own, or the
 * one of the account for its owners and operators. After that it is a turn like any other.
 */
async function servePlayground(
  context: RequestContext,
  { sessions, findPlaygroundCaller }: EdgeConsole,
  site: Site,
  path: string,
): Promise<void> {
  const { request } = context
  const endpoint = PLAYGROUND_ENDPOINTS.get(path)
  if (endpoint === undefined) return sendRefusal(context, refuse('not_found', 'The playground has no such endpoint.'))
  if (request.method !== 'POST') return sendRefusal(context, refuse('method_not_allowed', 'Use POST.'))
  const consoleRequest = { ...readConsoleRequest(context, site), signedIn: await findSignedIn(context, sessions, site) }
  const authorized = authorizeRequester(consoleRequest, { who: 'member', confirmed: false }, context.edge.clock.now())
  if (authorized.kind === 'refused') return sendRefusal(context, authorized)
  const kind = request.headers['x-millrace-pays'] === 'builder' ? 'builder' : 'wallet'
  const { account, role, session } = authorized.request
  const of = { account: account.row, person: role === 'owner' ? null : session.person.row }
  const admitted = admitCaller(context, await findPlaygroundCaller(of, kind))
  if (admitted.kind === 'refused') return sendProblem(context, admitted.problem)
  await postTurnAs(context, endpoint, admitted.caller)
}
