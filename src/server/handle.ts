import type { IncomingMessage, ServerResponse } from 'node:http'
import { msBetween } from '../lib/clock.ts'
import { internalError } from '../model/problem.ts'
import { isPreflight, preflightHeaders } from './cross-origin.ts'
import { guardRequest } from './guards.ts'
import { type EdgeContext, type Exchange, type Expectation, openExchange } from './request-context.ts'
import { sendJson, sendProblem } from './respond.ts'
import { findRoute } from './routes.ts'

/** Foreign text in a log line is cut to this length. */
const LOGGED_CHARACTERS_MAX = 200

/** One request, from its head to its log line. */
export async function handle(
  edge: EdgeContext,
  request: IncomingMessage,
  response: ServerResponse,
  expectation: Expectation,
): Promise<void> {
  const exchange = openExchange(edge, request, response, expectation)
  try {
    await answer(exchange)
  } catch (error) {
    exchange.log.error = error
    failInternally(exchange)
  } finally {
    logExchange(exchange)
  }
}

async function answer(exchange: Exchange): Promise<void> {
  const refusal = guardRequest(exchange)
  if (refusal) return sendProblem(exchange, refusal)
  if (isPreflight(exchange)) return sendJson(exchange, 200, {}, preflightHeaders(exchange))
  const route = findRoute(exchange.request.method ?? 'GET', exchange.path)
  if (route.kind === 'refused') return sendProblem(exchange, route.problem)
  exchange.log.endpoint = route.route
  await route.endpoint(exchange, route.argument)
}

/** The last catch-all: after the head there is no honest way to go on, so the connection breaks. */
function failInternally(exchange: Exchange): void {
  if (exchange.response.headersSent) {
    // An answer that has said itself that it failed may be read to its end.
    if (!exchange.isToldWhole) exchange.response.destroy()
    return
  }
  sendProblem(exchange, internalError(exchange.requestId))
}

function logExchange({ edge, request, response, requestId, path, startedTicks, log }: Exchange): void {
  edge.logRequest({
    request_id: requestId,
    method: request.method,
    path,
    status: response.headersSent ? response.statusCode : undefined,
    total_ms: msBetween(startedTicks, edge.clock.nowMicros()),
    client_request_id: clientRequestId(request),
    retry_count: cut(request.headers['x-stainless-retry-count']),
    user_agent: cut(request.headers['user-agent']),
    ...log,
  })
}

/** A client's own name for its request is only logged: ours is minted here, always. */
function clientRequestId({ headers }: IncomingMessage): string | undefined {
  return cut(headers['x-client-request-id']) ?? cut(headers['x-request-id'])
}

function cut(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value.slice(0, LOGGED_CHARACTERS_MAX) : undefined
}
