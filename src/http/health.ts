import type { Exchange } from './exchange.ts'
import { sendJson } from './send-json.ts'

/** `GET /healthz`: the process runs and its loop turns. Asks nobody, least of all the database. */
export function liveness(exchange: Exchange): void {
  sendJson(exchange, 200, { status: 'ok' })
}

/** `GET /readyz`: whether this node should get traffic, and if not, why. */
export async function readiness(exchange: Exchange): Promise<void> {
  const { edge } = exchange
  const reasons = [...(await edge.unreadyReasons())]
  if (edge.drain.stage !== 'open') reasons.unshift('draining')
  if (reasons.length === 0) sendJson(exchange, 200, { status: 'ready' })
  else sendJson(exchange, 503, { status: 'not-ready', reasons })
}
