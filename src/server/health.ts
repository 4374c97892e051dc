import { refuseUnknownPath } from './paths.ts'
import type { Exchange } from './request-context.ts'
import { sendJson, sendProblem, writeHead } from './respond.ts'

/** `GET /healthz`: the process runs and its loop turns. Asks nobody, least of all the database. */
export function liveness(exchange: Exchange): void {
  sendJson(exchange, 200, { status: 'ok' })
}

/** `GET /readyz`: whether this node should get traffic, and if not, why. */
export async function readiness(exchange: Exchange): Promise<void> {
  const { edge } = exchange
  const reasons = [...(await edge.unreadyReasons())]
  if (edge.drain.stage !== 'open') reasons.unshift('draining')
  if (reasons.length === 0) sendJson(exchange, 200, { status: 'ready' })
  else sendJson(exchange, 503, { status: 'not-ready', reasons })
}

/** `GET /v1`: a word to whoever opens the base URL in a browser or with curl. */
export function describeApi(exchange: Exchange, endpoints: readonly string[]): void {
  sendJson(exchange, 200, { object: 'api', name: 'millrace', endpoints })
}

/** Whoever types the server's address into a browser means the console; a program that asks here has lost its `/v1`. */
export function home(exchange: Exchange, offered: readonly string[]): void {
  const { request, response, edge } = exchange
  const isBrowser = String(request.headers.accept ?? '').includes('text/html')
  if (edge.console === undefined || !isBrowser) sendProblem(exchange, refuseUnknownPath('GET', '/', offered))
  else {
    writeHead(exchange, 302, { location: '/console', 'content-length': '0', 'cache-control': 'no-store' })
    response.end()
  }
}
