import { authenticate } from './authenticate.ts'
import type { Exchange } from './exchange.ts'
import { sendJson } from './send-json.ts'
import { sendProblem } from './send-problem.ts'

/** `GET /v1/models`: exactly what this key may call now. */
export async function listModels(exchange: Exchange): Promise<void> {
  const who = await authenticate(exchange)
  if (who.kind === 'refused') return sendProblem(exchange, who.problem)
  sendJson(exchange, 200, { object: 'list', data: exchange.edge.listModels(who.caller) })
}
