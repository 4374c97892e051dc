import type { Exchange } from './exchange.ts'
import { sendJson } from './send-json.ts'

/** `GET /v1`: a word to whoever opens the base URL in a browser or with curl. */
export function describeApi(exchange: Exchange, endpoints: readonly string[]): void {
  sendJson(exchange, 200, { object: 'api', name: 'millrace', endpoints })
}
