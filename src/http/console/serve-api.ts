import type { Exchange } from '../exchange.ts'
import { sendProblem } from '../send-problem.ts'
import type { ConsoleDeps } from './console-deps.ts'
import { findSignedIn } from './find-signed-in.ts'
import { readSmallBody } from './read-small-body.ts'
import { refuseConsole } from './refuse-console.ts'
import { isFromOwnPage } from './same-site.ts'
import { sendAnswer } from './send-answer.ts'
import type { Site } from './site.ts'

const READING = new Set(['GET', 'HEAD'])

/** What the console asks: judged here by what is the same for all of it, then handed to the routes. */
export async function serveApi(exchange: Exchange, deps: ConsoleDeps, site: Site): Promise<void> {
  const { request, edge } = exchange
  const method = request.method ?? 'GET'
  if (!READING.has(method) && !isFromOwnPage(request.headers, site)) {
    return refuseConsole(exchange, 'other_site', 'This came from another site than this console. Nothing was done.')
  }
  // Before anything is waited for: a connection that breaks meanwhile has no address, by which tries could be counted.
  const address = edge.findClientAddress(request)
  const body = READING.has(method) ? undefined : await readSmallBody(exchange)
  // An answer that nobody waits for is owed all the same: until it ends, nothing else would ever close this connection.
  if (body?.kind === 'gone') return void exchange.response.destroy()
  if (body?.kind === 'broken') return sendProblem(exchange, body.problem)
  if (body?.kind === 'too-large') {
    return refuseConsole(exchange, 'body_too_large', 'No form of the console is as large as this.')
  }
  const answer = await deps.api.fetch(requestOf(exchange, site, body?.bytes), {
    requestId: exchange.requestId,
    site,
    address,
    agent: String(request.headers['user-agent'] ?? ''),
    signedIn: await findSignedIn(request, deps, site),
    log: exchange.log,
  })
  await sendAnswer(exchange, answer)
}

/** Of its headers the routes read two. */
function requestOf({ request }: Exchange, site: Site, body: Buffer | undefined): Request {
  const headers = new Headers()
  for (const name of ['content-type', 'x-csrf-token']) {
    const value = request.headers[name]
    if (typeof value === 'string') headers.set(name, value)
  }
  const hasBody = body !== undefined && body.length > 0
  return new Request(site.origin + pathAndQuery(request.url ?? '/'), {
    method: request.method ?? 'GET',
    headers,
    ...(hasBody && { body: new Uint8Array(body) }),
  })
}

/** A target may name a host as well, with a user or a port that no URL has. Who was meant stands in the Host header. */
const pathAndQuery = (target: string): string => target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
