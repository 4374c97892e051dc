import type { IncomingMessage, ServerResponse } from 'node:http'
import { isUnavailable } from '../db/sql-store.ts'
import { ledgerUnavailable } from '../gateway/refusals.ts'
import { msBetween } from '../lib/clock.ts'
import { isLoopbackName } from '../lib/network.ts'
import { internalError, type Problem, problem } from '../model/problem.ts'
import { headersTooLarge } from './client-error.ts'
import { isPreflight, preflightHeaders } from './cross-origin.ts'
import { isAdmin, isApi } from './paths.ts'
import { type Expectation, RequestContext, SERVED_VERSIONS } from './request-context.ts'
import { sendJson, sendProblem } from './respond.ts'
import { findRoute } from './routes.ts'
import type { EdgeContext } from './services.ts'

/** One request, from its head to its log line. */
export async function handle(
  edge: EdgeContext,
  request: IncomingMessage,
  response: ServerResponse,
  expectation: Expectation,
): Promise<void> {
  const context = new RequestContext(edge, request, response, expectation)
  try {
    const refusal = guardRequest(context)
    if (refusal) return sendProblem(context, refusal)
    if (request.method === 'OPTIONS' && isPreflight(context)) {
      return sendJson(context, 200, {}, preflightHeaders(context))
    }
    const route = findRoute(request.method ?? 'GET', context.path)
    if (route.kind === 'refused') return sendProblem(context, route.problem)
    context.log.endpoint = route.route
    await route.endpoint(context, route.argument)
  } catch (error) {
    const isDatabaseAway = isUnavailable(error)
    // What is wrong with the database is logged where it is asked.
    if (!isDatabaseAway) context.log.error = error
    // After the head no error status can be sent, so the connection is broken, unless the answer has reported the error itself.
    if (!response.headersSent)
      sendProblem(context, isDatabaseAway ? ledgerUnavailable() : internalError(context.requestId))
    else if (!context.isAnswered) response.destroy()
  } finally {
    const { log, requestId, path } = context
    const { headers } = request
    log.request_id = requestId
    log.method = request.method
    log.path = path
    log.status = response.headersSent ? response.statusCode : undefined
    log.total_ms = msBetween(context.startedAt, edge.clock.nowMicros())
    // Only logged: the request's own id is always minted here.
    log.client_request_id = headers['x-client-request-id'] ?? headers['x-request-id']
    log.retry_count = headers['x-stainless-retry-count']
    log.user_agent = headers['user-agent']
    if (context.trace) {
      log.trace_id = context.trace.traceId
      context.trace.end(log)
    }
    if (log.endpoint?.startsWith('/console') && log.turn === undefined) edge.turnCounts.console += 1
    edge.metrics.requestEnded(log.endpoint ?? 'none', log.status ?? 0)
    edge.log.request(log)
  }
}

/** Headers that decide who pays and what is read. With two of one, a proxy and this server could see different requests. */
const SINGLE_HEADERS = [
  'authorization',
  'idempotency-key',
  'content-type',
  'content-length',
  'transfer-encoding',
  'host',
]
const SINGLE_LENGTHS: ReadonlySet<number> = new Set(SINGLE_HEADERS.map((name) => name.length))

const CLOSE = { headers: { connection: 'close' } }

/** ` ` and ` HTTP/1.1` with its end of line; `: ` and an end of line. */
const REQUEST_LINE_BYTES = 12
const HEADER_LINE_BYTES = 4
const CRLF_BYTES = 2

/** Refusals by the head alone, before authentication. */
function guardRequest({ request, connection, expectation, edge, path, isLast }: RequestContext): Problem | undefined {
  // It broke while it waited for the answers before it.
  if (connection.failure !== undefined && !request.complete) return connection.failure
  const { headers, rawHeaders, httpVersionMinor, method = '', url = '' } = request
  if (isLast && !SERVED_VERSIONS.has(request.httpVersion)) {
    return problem('malformed_request', 'Only HTTP/1.0 and HTTP/1.1 are served. Check the client or proxy.', CLOSE)
  }
  if (headers.upgrade?.toLowerCase().includes('websocket')) {
    return problem(
      'websocket_not_supported',
      'WebSocket is not supported here. Send the request as an HTTP POST.',
      CLOSE,
    )
  }
  if (httpVersionMinor === 1 && headers.host === undefined) {
    return problem('malformed_request', 'The Host header is missing. HTTP/1.1 requires one.')
  }
  if (expectation === 'unknown') {
    return problem('expectation_failed', 'Only "Expect: 100-continue" is understood. Send the request without Expect.')
  }
  // The size of the request line and the headers on the wire. Node's own bound does not count the bytes between names and values,
  // which lets thousands of tiny headers through. Spaces around a value are not counted, because Node does not keep them.
  let bytes = method.length + url.length + REQUEST_LINE_BYTES + CRLF_BYTES
  let seen = 0
  let repeated: string | undefined
  // Node joins or drops repeated headers in `headers`, so this reads the raw list.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!
    bytes += name.length + rawHeaders[index + 1]!.length + HEADER_LINE_BYTES
    const single = SINGLE_LENGTHS.has(name.length) ? SINGLE_HEADERS.indexOf(name.toLowerCase()) : -1
    if (single < 0) continue
    if (seen & (1 << single)) repeated ??= SINGLE_HEADERS[single]
    seen |= 1 << single
  }
  if (bytes > edge.options.headerBytesMax) return { ...headersTooLarge(), ...CLOSE }
  if (repeated !== undefined) {
    return problem('duplicate_header', `The header ${repeated} was sent more than once. Send it once.`, {
      param: repeated,
    })
  }
  // Beside another coding, a proxy in front may see another end of this request than Node does (request smuggling). HTTP/1.0 has no
  // codings, so one there has the same meaning (RFC 9112, section 6.1).
  const coding = headers['transfer-encoding']
  if (coding !== undefined && !(coding.toLowerCase() === 'chunked' && httpVersionMinor > 0)) {
    const message =
      'The only supported Transfer-Encoding is chunked, and only in HTTP/1.1. Send it alone, or send a Content-Length instead.'
    return problem('malformed_request', message, CLOSE)
  }
  if (edge.drain.stage === 'refusing' && (isApi(path) || isAdmin(path))) {
    return problem('server_draining', 'This server is shutting down. Send the request again over a new connection.')
  }
  if (headers.origin === undefined) return undefined
  if (isAdmin(path)) return /^https?:/i.test(headers.origin) ? ADMIN_IN_PAGE : undefined
  return isApi(path) ? refuseOrigin(headers.origin, edge.options.allowedOrigins) : undefined
}

/** No origin can be allowed. The console has an API of its own. */
const ADMIN_IN_PAGE = problem(
  'browser_not_allowed',
  'Admin keys must not be used in web pages. Call from a server or a script.',
)

/**
 * Every visitor of a public web page can read a key in it. Browsers send the origin of the page; programs on the user's own
 * machine send none, a scheme of their own, or a loopback one.
 */
function refuseOrigin(origin: string, allowed: readonly string[]): Problem | undefined {
  if (!/^https?:/i.test(origin) || allowed.includes(origin)) return undefined
  if (URL.canParse(origin) && isLoopbackName(new URL(origin).hostname)) return undefined
  return problem(
    'browser_not_allowed',
    'API keys must not be used in web pages, where every visitor can read them. Call from your server; ' +
      'the operator can allow an origin in the configuration.',
  )
}
