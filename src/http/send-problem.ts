import { PROBLEMS, type Problem, problemEnvelope } from '../model/problem.ts'
import type { Exchange } from './exchange.ts'
import { type Headers, sendJson } from './send-json.ts'
import { whenToRetry } from './when-to-retry.ts'

/** A problem as status, headers and the one envelope. */
export function sendProblem(exchange: Exchange, problem: Problem, headers: Headers = {}): void {
  exchange.log.code = problem.code
  sendJson(exchange, PROBLEMS[problem.code].status, problemEnvelope(problem, exchange.requestId), {
    ...headers,
    ...whenToRetry(exchange.request, problem),
    ...problem.headers,
  })
}
