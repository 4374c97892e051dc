import type { Exchange } from '../exchange.ts'
import { sendProblem } from '../send-problem.ts'
import { refuseUnknownPath } from '../unknown-path.ts'
import type { ConsoleDeps } from './console-deps.ts'
import { servePlayground } from './playground.ts'
import { refuseAtDoor } from './refuse-at-door.ts'
import { refuseConsole } from './refuse-console.ts'
import { sendFile } from './send-file.ts'
import { serveApi } from './serve-api.ts'
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
  if (edge.console === undefined) {
    return sendProblem(exchange, refuseUnknownPath(request.method ?? 'GET', exchange.path, []))
  }
  const found = siteOf(exchange, edge.console)
  if (found === undefined) return
  if (!path.startsWith(API)) return servePage(exchange, edge.console, path)
  if (refuseAtDoor(exchange, edge.console, found)) return
  if (path.startsWith(PLAYGROUND)) {
    return servePlayground(exchange, { deps: edge.console, site: found, endpoint: path.slice(PLAYGROUND.length) })
  }
  await serveApi(exchange, edge.console, found)
}

function siteOf(exchange: Exchange, { site }: ConsoleDeps): Site | undefined {
  const { edge, request } = exchange
  const found = findSite(request, site, edge.saysHttps(request))
  if (found.kind === 'site') return found.site
  refuseConsole(
    exchange,
    'host_not_allowed',
    `This server does not answer to the name ${JSON.stringify(found.host.slice(0, 100))}. ` +
      'Its operator names it as server.public_url, or in console.hosts.',
  )
  return undefined
}

/** Every path that is no file is the page, which finds its own way from there. */
function servePage(exchange: Exchange, { files }: ConsoleDeps, path: string): void {
  const { method } = exchange.request
  const file = files.find(path) ?? (path.startsWith(ASSETS) ? undefined : files.page)
  if (method !== 'GET' && method !== 'HEAD') refuseConsole(exchange, 'method_not_allowed', 'Pages are read with GET.')
  else if (file !== undefined) sendFile(exchange, file)
  else refuseConsole(exchange, 'not_found', files.page === undefined ? NOT_BUILT : OLD_FILE)
}
