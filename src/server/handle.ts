import type { IncomingMessage, ServerResponse } from 'node:http'
import { msBetween } from '../lib/clock.ts'
import { internalError } from '../model/problem.ts'
import { isPreflight, preflightHeaders } from './cross-origin.ts'
import { guardRequest } from './guards.ts'
import { type Expectation, RequestContext } from './request-context.ts'
import { sendJson, sendProblem } from './respond.ts'
import { findRoute } from './routes.ts'
import type { EdgeContext } from './services.ts'

/** Client text in a log line is cut to this length. */
const LOGGED_CHARACTERS_MAX = 200

/** One request, from its head to its log line. */
export async function handle(
  edge: EdgeContext,
  request: IncomingMessage,
  response: ServerResponse,
  expectation: Expectation,
): Promise<void> {
  const context = new RequestContext(edge, request, response, expectation)
  try {
    await answer(context)
  } catch (error) {
    context.log.error = error
    // After the head no error status can be sent, so the connection is broken, unless the answer has reported the error itself.
    if (!response.headersSent) sendProblem(context, internalError(context.requestId))
    else if (!context.isAnswered) response.destroy()
  } finally {
    logRequest(context)
  }
}

async function answer(context: RequestContext): Promise<void> {
  const refusal = guardRequest(context)
  if (refusal) return sendProblem(context, refusal)
  if (isPreflight(context)) return sendJson(context, 200, {}, preflightHeaders(context))
  const route = findRoute(context.request.method ?? 'GET', context.path)
  if (route.kind === 'refused') return sendProblem(context, route.problem)
  context.log.endpoint = route.route
  await route.endpoint(context, route.argument)
}

function logRequest({ edge, request, response, requestId, path, startedAt, log }: RequestContext): void {
  const { headers } = request
  const status = response.headersSent ? response.statusCode : undefined
  edge.metrics.requestEnded(typeof log.endpoint === 'string' ? log.endpoint : 'none', status ?? 0)
  edge.log.request({
    request_id: requestId,
    method: request.method,
    path,
    status,
    total_ms: msBetween(startedAt, edge.clock.nowMicros()),
    // Only logged: the request's own id is always minted here.
    client_request_id: cut(headers['x-client-request-id'] ?? headers['x-request-id']),
    retry_count: cut(headers['x-stainless-retry-count']),
    user_agent: cut(headers['user-agent']),
    ...log,
  })
}

function cut(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' ? value.slice(0, LOGGED_CHARACTERS_MAX) : undefined
}
