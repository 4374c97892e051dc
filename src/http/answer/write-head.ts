import { tellsLimits } from '../../limits/limit-headers.ts'
import type { Exchange } from '../exchange.ts'
import { pushCrossOrigin } from './cross-origin.ts'

/** What is undefined is not there; a list is one line for each, as cookies have to be. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Every head goes out here: with the request's id and how the caller's limits stand, and with `Connection: close` where
 * the node drains, the connection is broken or the request is its last one. As one flat list, which Node writes without building a table first.
 */
export function writeHead(exchange: Exchange, status: number, headers: Headers): void {
  const { response, edge, connection, caller } = exchange
  const closes =
    headers.connection === 'close' || exchange.isLast || edge.drain.stage !== 'open' || connection.failure !== undefined
  if (closes) {
    response.shouldKeepAlive = false
    connection.isClosing = true
  }
  const head = ['x-request-id', exchange.requestId as string]
  // A turn tells them itself, with those of its model.
  if (caller !== undefined && !tellsLimits(headers)) pushHeaders(head, edge.limitHeaders(caller))
  pushHeaders(head, exchange.ownHeaders === undefined ? headers : { ...exchange.ownHeaders, ...headers })
  if (closes && headers.connection === undefined) head.push('connection', 'close')
  pushCrossOrigin(head, exchange)
  response.writeHead(status, head)
}

function pushHeaders(head: string[], headers: Headers): void {
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string') head.push(name, value)
    else for (const each of value ?? []) head.push(name, each)
  }
}
