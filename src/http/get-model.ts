import { problem } from '../model/problem.ts'
import { authenticate } from './authenticate.ts'
import type { Exchange } from './exchange.ts'
import { sendJson } from './send-json.ts'
import { sendProblem } from './send-problem.ts'

const SHOWN_CHARACTERS_MAX = 100

/** `GET /v1/models/{id}`. A model that is not there and one that this key may not use get the same answer. */
export async function getModel(exchange: Exchange, id: string): Promise<void> {
  const who = await authenticate(exchange)
  if (who.kind === 'refused') return sendProblem(exchange, who.problem)
  const model = exchange.edge.findModel(who.caller, id)
  if (model) return sendJson(exchange, 200, model)
  const message =
    `The model '${id.slice(0, SHOWN_CHARACTERS_MAX)}' does not exist or this key may not use it. ` +
    'GET /v1/models lists what it may use.'
  sendProblem(exchange, problem('model_not_found', message, { param: 'model' }))
}
