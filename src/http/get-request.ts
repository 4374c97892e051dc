import { isRequestId } from '../model/ids.ts'
import { problem } from '../model/problem.ts'
import { authenticate } from './authenticate.ts'
import type { Exchange } from './exchange.ts'
import { sendJson } from './send-json.ts'
import { sendProblem } from './send-problem.ts'

/** `GET /v1/requests/{id}`: what one request of this account cost and why. */
export async function getRequest(exchange: Exchange, id: string): Promise<void> {
  const who = await authenticate(exchange)
  if (who.kind === 'refused') return sendProblem(exchange, who.problem)
  const receipt = isRequestId(id) ? await exchange.edge.findReceipt(who.caller, id) : undefined
  if (receipt) return sendJson(exchange, 200, receipt)
  const message = 'No request of this account has that id. It stands in the x-request-id header of the answer.'
  sendProblem(exchange, problem('request_not_found', message))
}
