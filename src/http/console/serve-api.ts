import { gatherBytes } from '../../lib/gather-bytes.ts'
import type { Problem } from '../../model/problem.ts'
import { whenDrained } from '../answer/answer-over.ts'
import { sendJsonBytes } from '../answer/send-json.ts'
import { sendProblem } from '../answer/send-problem.ts'
import { writeHead } from '../answer/write-head.ts'
import type { Exchange } from '../exchange.ts'
import type { ConsoleDeps } from './console-deps.ts'
import { refuse, sendRefusal } from './console-refusal.ts'
import { findSignedIn, openAsking } from './open-asking.ts'
import { API_HEADERS } from './page-headers.ts'
import type { Site } from './site.ts'

/** What the console asks: taken in here, and then handed to the routes. */
export async function serveApi(exchange: Exchange, deps: ConsoleDeps, site: Site): Promise<void> {
  const asking = openAsking(exchange, site)
  const body = asking.changes ? await readSmallBody(exchange) : undefined
  // An answer that nobody waits for is owed all the same: until it ends, nothing else would ever close this connection.
  if (body?.kind === 'gone') return void exchange.response.destroy()
  if (body?.kind === 'broken') return sendProblem(exchange, body.problem)
  if (body?.kind === 'too-large') {
    return sendRefusal(exchange, refuse('body_too_large', 'No form of the console is as large as this.'))
  }
  const signedIn = await findSignedIn(exchange, deps, site)
  const answer = await deps.api.fetch(requestOf(exchange, site, body?.bytes), { ...asking, signedIn })
  await sendAnswer(exchange, answer)
}

/** Of its headers the routes read one. */
function requestOf({ request }: Exchange, site: Site, body: Buffer | undefined): Request {
  const type = request.headers['content-type']
  const hasBody = body !== undefined && body.length > 0
  return new Request(site.origin + pathAndQuery(request.url ?? '/'), {
    method: request.method ?? 'GET',
    headers: type === undefined ? {} : { 'content-type': type },
    ...(hasBody && { body: new Uint8Array(body) }),
  })
}

/** A target may name a host as well, with a user or a port that no URL has. Who was meant stands in the Host header. */
const pathAndQuery = (target: string): string => target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')

/** Forms are small; the largest holds a few hundred ids of models. */
const BODY_BYTES_MAX = 128 * 1024

export type SmallBody =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'too-large' }
  /** No body came of its bytes, or not in time: whoever sent them is still there to be told. */
  | { readonly kind: 'broken'; readonly problem: Problem }
  /** The client closed the connection first. */
  | { readonly kind: 'gone' }

/** A body of the console, whole or not at all. */
function readSmallBody(exchange: Exchange): Promise<SmallBody> {
  const { request, response, connection } = exchange
  const gathered = gatherBytes()
  if (exchange.expectation === 'continue') {
    response.writeContinue()
    exchange.expectation = 'none'
  }
  return new Promise((resolve) => {
    const settle = (outcome: SmallBody) => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).pause()
      connection.failBody = undefined
      resolve(outcome)
    }
    const onData = (chunk: Buffer) => {
      gathered.add(chunk)
      if (gathered.length > BODY_BYTES_MAX) settle({ kind: 'too-large' })
    }
    const onEnd = () => settle({ kind: 'read', bytes: gathered.whole() })
    const onClose = () => settle({ kind: 'gone' })
    request.on('data', onData).once('end', onEnd).once('close', onClose)
    connection.failBody = (problem) => settle({ kind: 'broken', problem })
    request.resume()
  })
}

/** What the routes answered, as this edge writes answers: with the request's id and the headers of the console. */
async function sendAnswer(exchange: Exchange, answer: Response): Promise<void> {
  const type = answer.headers.get('content-type') ?? 'application/json'
  const headers: Record<string, string> = { ...API_HEADERS, 'content-type': type }
  for (const name of ['content-disposition', 'retry-after', 'set-cookie', 'allow']) {
    const value = answer.headers.get(name)
    if (value !== null) headers[name] = value
  }
  if (type.startsWith('application/json')) {
    return sendJsonBytes(exchange, answer.status, Buffer.from(await answer.arrayBuffer()), headers)
  }
  await sendPieces(exchange, answer, headers)
}

/** A file that is made while it is sent, no faster than its reader takes it. */
async function sendPieces(exchange: Exchange, answer: Response, headers: Record<string, string>): Promise<void> {
  const { response } = exchange
  writeHead(exchange, answer.status, headers)
  const reader = answer.body?.getReader()
  try {
    for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
      if (response.destroyed) break
      if (!response.write(read.value)) await whenDrained(exchange)
    }
  } finally {
    await reader?.cancel()
  }
  response.end()
}
