import type { Exchange } from './exchange.ts'
import { sendJson } from './send-json.ts'

/** `GET /v1`: a word to whoever opens the base URL in a browser or with curl. */
export function describeApi(exchange: Exchange): void {
  sendJson(exchange, 200, {
    object: 'api',
    name: 'millrace',
    endpoints: [
      'POST /v1/chat/completions',
      'GET /v1/models',
      'GET /v1/models/{id}',
      'GET /v1/key',
      'GET /v1/requests/{id}',
    ],
  })
}
