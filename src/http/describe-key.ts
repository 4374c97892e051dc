import { authenticate } from './authenticate.ts'
import type { Exchange } from './exchange.ts'
import { sendJson } from './send-json.ts'
import { sendProblem } from './send-problem.ts'

/** `GET /v1/key`: what the key is, and what is left of what it may use. */
export async function describeKey(exchange: Exchange): Promise<void> {
  const who = await authenticate(exchange)
  if (who.kind === 'refused') return sendProblem(exchange, who.problem)
  sendJson(exchange, 200, await exchange.edge.describeKey(who.caller))
}
