import { authenticate } from './authenticate.ts'
import type { Exchange } from './exchange.ts'
import { readQuery } from './read-query.ts'
import { sendJson } from './send-json.ts'
import { sendProblem } from './send-problem.ts'

/**
 * `GET /v1/models`: exactly what this key may call now. Codex names its version and reads `models`; nobody else gets that.
 */
export async function listModels(exchange: Exchange): Promise<void> {
  const who = await authenticate(exchange)
  if (who.kind === 'refused') return sendProblem(exchange, who.problem)
  const { edge, request } = exchange
  const isCodex = readQuery(request.url ?? '')('client_version') !== undefined
  sendJson(exchange, 200, {
    object: 'list',
    data: edge.listModels(who.caller),
    ...(isCodex ? { models: edge.listModelsForCodex(who.caller) } : {}),
  })
}
