import type { Exchange } from './exchange.ts'

/** Every head goes out here, so that a draining node and a broken connection say `Connection: close` everywhere. */
export function writeHead(exchange: Exchange, status: number, headers: Readonly<Record<string, string>>): void {
  const { response, edge, connection } = exchange
  const closes = headers.connection === 'close' || edge.drain.stage !== 'open' || connection.failure !== undefined
  if (closes) response.shouldKeepAlive = false
  response.writeHead(status, closes ? { ...headers, connection: 'close' } : headers)
}
