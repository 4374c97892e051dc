import type { IncomingMessage, ServerResponse } from 'node:http'
import { msBetween } from '../lib/clock.ts'
import { internalError } from '../model/problem.ts'
import { isPreflight, preflightHeaders } from './cross-origin.ts'
import { guardRequest } from './guards.ts'
import { type Expectation, RequestContext } from './request-context.ts'
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
    context.log.error = error
    // After the head no error status can be sent, so the connection is broken, unless the answer has reported the error itself.
    if (!response.headersSent) sendProblem(context, internalError(context.requestId))
    else if (!context.isAnswered) response.destroy()
  } finally {
    logRequest(context)
  }
}

function logRequest({ edge, request, response, requestId, path, startedAt, log }: RequestContext): void {
  const { headers } = request
  log.request_id = requestId
  log.method = request.method
  log.path = path
  log.status = response.headersSent ? response.statusCode : undefined
  log.total_ms = msBetween(startedAt, edge.clock.nowMicros())
  // Only logged: the request's own id is always minted here.
  log.client_request_id = headers['x-client-request-id'] ?? headers['x-request-id']
  log.retry_count = headers['x-stainless-retry-count']
  log.user_agent = headers['user-agent']
  edge.metrics.requestEnded(log.endpoint ?? 'none', log.status ?? 0)
  edge.log.request(log)
}
