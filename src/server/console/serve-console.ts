import type { TurnEndpoint } from '../../gateway/read-turn.ts'
import { admitCaller } from '../auth.ts'
import { refuseUnknownPath } from '../paths.ts'
import type { Exchange } from '../request-context.ts'
import { sendProblem } from '../respond.ts'
import { postTurnAs } from '../v1/post-turn.ts'
import { serveApi } from './api.ts'
import type { ConsoleDeps } from './deps.ts'
import { type ConsoleRefusal, refuse, sendRefusal } from './errors.ts'
import { API_HEADERS, PAGE_HEADERS, sendFile } from './files.ts'
import { type Asked, authorizeRequester, findSignedIn, isChange, isFromOwnPage, openAsking } from './session.ts'
import { findSite, type Site } from './site.ts'

const API = 'api/'
const PLAYGROUND = 'api/playground/'
/** The page would be no answer to a file of an older build that somebody's open page still asks for. */
const ASSETS = 'assets/'
const OLD_FILE = 'There is no such file. Load the page again.'
const NOT_BUILT = 'The console has not been built. In a clone: npm run build'

/** Everything below `/console`: its files, what it asks, and its playground. `path` is what follows `/console/`. */
export async function serveConsole(exchange: Exchange, path: string): Promise<void> {
  const { request, edge } = exchange
  const deps = edge.console
  if (deps === undefined) {
    return sendProblem(exchange, refuseUnknownPath(request.method ?? 'GET', exchange.path, []))
  }
  exchange.ownHeaders = path.startsWith(API) ? API_HEADERS : PAGE_HEADERS
  const found = findSite(request, deps.site, edge.saysHttps(request))
  if (found.kind === 'foreign') return sendRefusal(exchange, foreignHost(found.host))
  const { site } = found
  if (!path.startsWith(API)) return servePage(exchange, deps, path)
  const refusal = refuseAtDoor(exchange, deps, site)
  if (refusal) return sendRefusal(exchange, refusal)
  if (path.startsWith(PLAYGROUND)) {
    return servePlayground(exchange, { deps, site, endpoint: path.slice(PLAYGROUND.length) })
  }
  await serveApi(exchange, deps, site)
}

const foreignHost = (host: string): ConsoleRefusal =>
  refuse(
    'host_not_allowed',
    `This server does not answer to the name ${JSON.stringify(host.slice(0, 100))}. ` +
      'Its operator names it as server.public_url, or in console.hosts.',
  )

/** Every path that is no file is the page, which finds its own way from there. */
function servePage(exchange: Exchange, { files }: ConsoleDeps, path: string): void {
  const { method } = exchange.request
  const file = files.find(path) ?? (path.startsWith(ASSETS) ? undefined : files.page)
  if (method !== 'GET' && method !== 'HEAD') {
    sendRefusal(exchange, refuse('method_not_allowed', 'Pages are read with GET.'))
  } else if (file !== undefined) sendFile(exchange, file)
  else sendRefusal(exchange, refuse('not_found', files.page === undefined ? NOT_BUILT : OLD_FILE))
}

/**
 * Why a question of the console is refused before anybody has looked who asks, in the playground too: on a connection
 * that was open before, a turn would otherwise begin behind the end of the server, and secrets be tried without an end.
 * What changes something has to come from a page of ours.
 */
function refuseAtDoor(
  exchange: Exchange,
  { countAsker }: Pick<ConsoleDeps, 'countAsker'>,
  site: Site,
): ConsoleRefusal | undefined {
  const { request, edge } = exchange
  if (edge.drain.stage === 'refusing') {
    return refuse('server_draining', 'This server is shutting down.', { retryAfterSeconds: 1 })
  }
  const address = edge.findClientAddress(request)
  const wait = address === undefined ? undefined : countAsker(address)
  if (wait !== undefined) {
    const message = `Too much is asked from this address. Ask again in ${wait} s.`
    return refuse('too_many_requests', message, { retryAfterSeconds: wait })
  }
  if (!isChange(exchange) || isFromOwnPage(request.headers, site)) return undefined
  return refuse('other_site', 'This came from another site than this console. Nothing was done.')
}

/** A map, because an object has more names than were given to it. */
const ENDPOINTS: ReadonlyMap<string, TurnEndpoint> = new Map([
  ['chat/completions', 'chat'],
  ['responses', 'responses'],
])

interface Played {
  readonly deps: ConsoleDeps
  readonly site: Site
  readonly endpoint: string
}

/** Who may ask a model here: whoever may act for an account. */
const PLAYER: Asked<'owner'> = { who: 'owner', confirmed: false }

/**
 * A turn like any other, asked by a session instead of a key: the account's own playground key pays, which no program can
 * hold. From here on nothing differs from what a client with a key meets.
 */
async function servePlayground(exchange: Exchange, { deps, site, endpoint: named }: Played): Promise<void> {
  const { request } = exchange
  const endpoint = ENDPOINTS.get(named)
  if (endpoint === undefined) return sendRefusal(exchange, refuse('not_found', 'The playground has no such endpoint.'))
  if (request.method !== 'POST') return sendRefusal(exchange, refuse('method_not_allowed', 'Use POST.'))
  const asking = { ...openAsking(exchange, site), signedIn: await findSignedIn(exchange, deps, site) }
  const judged = authorizeRequester(asking, PLAYER, exchange.edge.clock.now())
  if (judged.kind === 'refused') return sendRefusal(exchange, judged)
  const kind = request.headers['x-millrace-pays'] === 'builder' ? 'builder' : 'wallet'
  const who = admitCaller(exchange, await deps.findPlayer(judged.asking.account, kind))
  if (who.kind === 'refused') return sendProblem(exchange, who.problem)
  await postTurnAs(exchange, endpoint, who.caller)
}
