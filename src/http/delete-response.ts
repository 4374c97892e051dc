import { authenticate } from './authenticate.ts'
import type { Exchange } from './exchange.ts'
import { responseNotFound } from './get-response.ts'
import { sendJson } from './send-json.ts'
import { sendProblem } from './send-problem.ts'

/** `DELETE /v1/responses/{id}`: from here on nobody is shown it. What was built on it goes on. */
export async function deleteResponse(exchange: Exchange, id: string): Promise<void> {
  const who = await authenticate(exchange)
  if (who.kind === 'refused') return sendProblem(exchange, who.problem)
  const removed = await exchange.edge.removeResponse(who.caller, id)
  if (!removed) return sendProblem(exchange, responseNotFound())
  sendJson(exchange, 200, { id, object: 'response.deleted', deleted: true })
}
