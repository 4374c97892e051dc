import { tellsLimits } from '../../limits/limit-headers.ts'
import type { Exchange } from '../exchange.ts'

/** What is undefined is not there. */
export type Headers = Readonly<Record<string, string | undefined>>

/**
 * Every head goes out here: with the request's id and how the caller's limits stand, and with `Connection: close` where
 * the node drains or the connection is broken. As one flat list, which Node writes without building a table first.
 */
export function writeHead(exchange: Exchange, status: number, headers: Headers): void {
  const { response, edge, connection, caller } = exchange
  const closes = headers.connection === 'close' || edge.drain.stage !== 'open' || connection.failure !== undefined
  if (closes) {
    response.shouldKeepAlive = false
    connection.isClosing = true
  }
  const head = ['x-request-id', exchange.requestId as string]
  // A turn tells them itself, with those of its model.
  if (caller !== undefined && !tellsLimits(headers)) pushHeaders(head, edge.limitHeaders(caller))
  pushHeaders(head, headers)
  if (closes && headers.connection === undefined) head.push('connection', 'close')
  response.writeHead(status, head)
}

function pushHeaders(head: string[], headers: Headers): void {
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined) head.push(name, value)
  }
}
