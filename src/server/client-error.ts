import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterLoopTurn } from '../lib/async.ts'
import { mintRequestId } from '../model/ids.ts'
import { PROBLEMS, type Problem, problem, problemEnvelope } from '../model/problem.ts'
import { connectionOf, type IncomingBody } from './connection.ts'
import type { EdgeContext } from './request-context.ts'

/** What Node's parser reports; `reason` is llhttp's own sentence. */
interface ParserError extends Error {
  readonly code?: string
  readonly reason?: string
}

/**
 * The parser could not go on with this socket, or it took too long. Whoever is reading the body learns it; a running
 * answer is never written into; only where nothing is owed does the socket get an answer of its own.
 */
export function onClientError(edge: EdgeContext, error: ParserError, socket: Duplex): void {
  const refuse = () => refuseBroken(edge, error, socket)
  if (error.code === TOOK_TOO_LONG) unlessItComes(socket as Socket, connectionOf(socket).newestBody, refuse)
  else refuse()
}

const TOOK_TOO_LONG = 'ERR_HTTP_REQUEST_TIMEOUT'

/**
 * After the process was stopped, time is up before the loop has read what arrived meanwhile. As long as a turn of the loop
 * brings more of the request, another turn is waited for; a request that is whole then was in time.
 */
function unlessItComes(socket: Socket, before: IncomingBody | undefined, refuse: () => void): void {
  const { bytesRead } = socket
  const wasWhole = before === undefined || before.request.complete
  afterLoopTurn(() => {
    const { newestBody } = connectionOf(socket)
    if (newestBody?.request.complete && (newestBody !== before || !wasWhole)) return
    if (socket.bytesRead > bytesRead && !socket.destroyed) unlessItComes(socket, before, refuse)
    else refuse()
  })
}

function refuseBroken(edge: EdgeContext, error: ParserError, socket: Duplex): void {
  const connection = connectionOf(socket)
  if (connection.failure) return
  const refusal = problemOf(error)
  if (!refusal || !socket.writable) {
    socket.destroy()
    return
  }
  connection.failure = refusal
  const { newestBody } = connection
  const inBody = newestBody?.request.complete === false
  if (inBody) newestBody.fail?.(refusal)
  if (connection.openExchanges > 0) return
  // The rest of a body whose request has been answered already is nobody's request.
  if (inBody) socket.destroy()
  else refuseSocket(edge, socket, refusal)
}

/** Answers a socket whose bytes never became a request. */
export function refuseSocket(edge: EdgeContext, socket: Duplex, refusal: Problem): void {
  const requestId = mintRequestId(edge.clock.now(), edge.random)
  answerRaw(socket, refusal, { requestId, now: edge.clock.now(), lingerMs: edge.options.linger.timeMs })
  edge.logConnection({ request_id: requestId, code: refusal.code })
}

export const headersTooLarge = (): Problem =>
  problem('headers_too_large', 'The request line and headers together are too large. Send fewer or shorter headers.')

/** Undefined when the connection itself broke, so that there is nobody left to tell. */
function problemOf({ code = '', reason = '' }: ParserError): Problem | undefined {
  if (code === TOOK_TOO_LONG) {
    return problem('request_timeout', 'The request did not arrive in time. Send it again over a new connection.')
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return headersTooLarge()
  }
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    return problem(
      'request_too_large',
      'The chunk extensions of the body are too large. Send chunks without extensions.',
    )
  }
  if (code === 'HPE_UNEXPECTED_CONTENT_LENGTH' && !reason.includes('Transfer-Encoding')) {
    return problem('duplicate_header', 'The header Content-Length was sent more than once. Send it once.', {
      param: 'content-length',
    })
  }
  if (!code.startsWith('HPE_')) return undefined
  const detail = reason === '' ? '' : ` (${reason})`
  return problem(
    'malformed_request',
    `The bytes received are not a valid HTTP/1.1 request${detail}. Check the client or proxy.`,
  )
}

/**
 * An answer where Node has no response object to write on: the request never became one. The other side gets time to
 * read it; what it still sends meanwhile is dropped by the parser.
 */
function answerRaw(
  socket: Duplex,
  problem: Problem,
  about: { requestId: string; now: number; lingerMs: number },
): void {
  const { status } = PROBLEMS[problem.code]
  const body = JSON.stringify(problemEnvelope(problem, about.requestId))
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `date: ${new Date(about.now).toUTCString()}`,
    `x-request-id: ${about.requestId}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...Object.entries(problem.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  const timer = setTimeout(() => socket.destroy(), about.lingerMs).unref()
  socket.once('close', () => clearTimeout(timer))
}
