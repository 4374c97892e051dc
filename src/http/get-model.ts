import { authenticate } from './authenticate.ts'
import type { Exchange } from './exchange.ts'
import { sendJson } from './send-json.ts'
import { sendProblem } from './send-problem.ts'

/** `GET /v1/models/{id}`. */
export async function getModel(exchange: Exchange, id: string): Promise<void> {
  const who = await authenticate(exchange)
  if (who.kind === 'refused') return sendProblem(exchange, who.problem)
  const found = exchange.edge.findModel(who.caller, id)
  if (found.kind === 'refused') return sendProblem(exchange, found.problem)
  sendJson(exchange, 200, found.model)
}
