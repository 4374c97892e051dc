import type { Exchange } from '../exchange.ts'
import type { ConsoleDeps } from './console-deps.ts'
import { refuseConsole } from './refuse-console.ts'

/**
 * Whether a question of the console is refused before anybody has looked who asks, in the playground too: on a connection
 * that was open before, a turn would otherwise begin behind the end of the server, and secrets be tried without an end.
 */
export function refuseAtDoor(exchange: Exchange, { slowAskers }: Pick<ConsoleDeps, 'slowAskers'>): boolean {
  const { request, edge } = exchange
  if (edge.drain.stage === 'refusing') {
    refuseConsole(exchange, 'server_draining', 'This server is shutting down.', { retryAfterSeconds: 1 })
    return true
  }
  const address = edge.findClientAddress(request)
  const wait = address === undefined ? undefined : slowAskers(address)
  if (wait === undefined) return false
  const message = `Too much is asked from this address. Ask again in ${wait} s.`
  refuseConsole(exchange, 'too_many_requests', message, { retryAfterSeconds: wait })
  return true
}
