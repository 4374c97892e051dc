import type { Caller } from '../../model/caller.ts'
import { isRequestId } from '../../model/ids.ts'
import { problem } from '../../model/problem.ts'
import { readQuery } from '../paths.ts'
import type { Exchange } from '../request-context.ts'
import { sendJson, sendProblem } from '../respond.ts'

/**
 * `GET /v1/models`: exactly what this key may call now. Codex names its version and reads `models`; nobody else gets that.
 */
export function listModels(exchange: Exchange, caller: Caller): void {
  const { edge, request } = exchange
  const isCodex = readQuery(request)('client_version') !== undefined
  sendJson(exchange, 200, {
    object: 'list',
    data: edge.listModels(caller),
    ...(isCodex ? { models: edge.listModelsForCodex(caller) } : {}),
  })
}

/** `GET /v1/models/{id}`. */
export function getModel(exchange: Exchange, caller: Caller, id: string): void {
  const found = exchange.edge.findModel(caller, id)
  if (found.kind === 'refused') sendProblem(exchange, found.problem)
  else sendJson(exchange, 200, found.model)
}

/** `GET /v1/key`: what the key is, and what is left of what it may use. */
export async function describeKey(exchange: Exchange, caller: Caller): Promise<void> {
  sendJson(exchange, 200, await exchange.edge.describeKey(caller))
}

/** `GET /v1/requests/{id}`: what one request of this account cost and why. */
export async function getRequest(exchange: Exchange, caller: Caller, id: string): Promise<void> {
  const receipt = isRequestId(id) ? await exchange.edge.findReceipt(caller, id) : undefined
  if (receipt) return sendJson(exchange, 200, receipt)
  const message = 'No request of this account has that id. It stands in the x-request-id header of the answer.'
  sendProblem(exchange, problem('request_not_found', message))
}
