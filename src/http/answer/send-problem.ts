import type { IncomingMessage } from 'node:http'
import { findClientProgram } from '../../model/client-program.ts'
import { PROBLEMS, type Problem, problemEnvelope, retryHeaders } from '../../model/problem.ts'
import type { Exchange } from '../exchange.ts'
import { sendJson } from './send-json.ts'
import type { Headers } from './write-head.ts'

/** A problem as status, headers and the one envelope. */
export function sendProblem(exchange: Exchange, problem: Problem, headers: Headers = {}): void {
  exchange.log.code = problem.code
  sendJson(exchange, PROBLEMS[problem.code].status, problemEnvelope(problem, exchange.requestId), {
    ...headers,
    ...whenToRetry(exchange.request, problem),
    ...problem.headers,
  })
}

/**
 * When to come back, as this client takes it. Codex gives up on an overloaded server after five requests, but where the
 * answer carries a `retry-after` that it can read it asks thirty times: the server that is overloaded would get six times the
 * load for saying how long. It does not know `retry-after-ms`, which the SDKs do. Measured: `docs/clients/codex.md`.
 */
export function whenToRetry(request: IncomingMessage, problem: Problem): Headers {
  const { 'retry-after': seconds, ...others } = retryHeaders(problem)
  if (seconds === undefined) return others
  return problem.code === 'server_is_overloaded' && findClientProgram(request.headers) === 'codex'
    ? { ...others, 'retry-after-ms': String(Number(seconds) * 1000) }
    : { ...others, 'retry-after': seconds }
}
