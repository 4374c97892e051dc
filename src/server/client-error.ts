import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { afterSocketsRead } from '../lib/async.ts'
import { STATUS_CODES } from '../lib/node-http.ts'
import { mintRequestId } from '../model/ids.ts'
import { PROBLEMS, type Problem, problem, problemEnvelope } from '../model/problem.ts'
import { connectionOf, type OpenRequest } from './request-context.ts'
import type { EdgeContext } from './services.ts'

/** An error of Node's parser. `reason` is llhttp's own sentence. */
interface ParserError extends Error {
  readonly code?: string
  readonly reason?: string
}

/**
 * The parser failed on this socket, or the request timed out. A body that is being read fails with the problem; a running answer
 * is never written into; only a socket without a pending answer gets an answer here.
 */
export function onClientError(edge: EdgeContext, error: ParserError, socket: Duplex): void {
  const refuse = () => refuseBroken(edge, error, socket)
  if (error.code === TOOK_TOO_LONG) recheckThenRefuse(socket as Socket, connectionOf(socket).newest, refuse)
  else refuse()
}

const TOOK_TOO_LONG = 'ERR_HTTP_REQUEST_TIMEOUT'

/**
 * After the process was suspended, the timer fires before the loop has read what arrived meanwhile. This waits for more turns of
 * the loop while they bring more of the request. A request that is complete then was in time.
 */
function recheckThenRefuse(socket: Socket, before: OpenRequest | undefined, refuse: () => void): void {
  const { bytesRead } = socket
  const wasComplete = before === undefined || before.request.complete
  afterSocketsRead(() => {
    const { newest } = connectionOf(socket)
    if (newest?.request.complete && (newest !== before || !wasComplete)) return
    if (socket.bytesRead > bytesRead && !socket.destroyed) recheckThenRefuse(socket, before, refuse)
    else refuse()
  })
}

/** Without a handshake there is no connection on which an answer could be sent. */
const isOfTls = ({ code }: ParserError): boolean => code !== undefined && /^(ERR_SSL|ERR_TLS|ECONNRESET)/.test(code)

function refuseBroken(edge: EdgeContext, error: ParserError, socket: Duplex): void {
  const connection = connectionOf(socket)
  if (connection.failure) return
  const refusal = isOfTls(error) ? undefined : problemOf(error)
  if (!refusal || !socket.writable) {
    socket.destroy()
    return
  }
  connection.failure = refusal
  const { newest } = connection
  const inBody = newest?.request.complete === false
  if (inBody) newest.failBody?.(refusal)
  if (connection.open.length > 0) return
  // The rest of a body whose request has been answered is not a request.
  if (inBody) socket.destroy()
  else refuseSocket(edge, socket, refusal)
}

/**
 * Answers a socket whose bytes never became a request, so Node has no response object for it. The client gets time to read the
 * answer; the parser drops what it still sends.
 */
export function refuseSocket(edge: EdgeContext, socket: Duplex, refusal: Problem): void {
  const requestId = mintRequestId(edge.clock.now(), edge.random)
  const { status } = PROBLEMS[refusal.code]
  const body = JSON.stringify(problemEnvelope(refusal, requestId))
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `date: ${new Date(edge.clock.now()).toUTCString()}`,
    `x-request-id: ${requestId}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...Object.entries(refusal.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  const timer = setTimeout(() => socket.destroy(), edge.options.linger.timeMs).unref()
  socket.once('close', () => clearTimeout(timer))
  edge.log.request({ request_id: requestId, code: refusal.code })
}

export const headersTooLarge = (): Problem =>
  problem('headers_too_large', 'The request line and headers together are too large. Send fewer or shorter headers.')

/** Undefined when the connection itself broke, so that no client can read an answer. */
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
