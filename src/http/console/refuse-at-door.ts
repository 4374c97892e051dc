import type { Exchange } from '../exchange.ts'
import type { ConsoleDeps } from './console-deps.ts'
import { isChange } from './open-asking.ts'
import { refuseConsole } from './refuse-console.ts'
import { isFromOwnPage } from './same-site.ts'
import type { Site } from './site.ts'

/**
 * Whether a question of the console is refused before anybody has looked who asks, in the playground too: on a connection
 * that was open before, a turn would otherwise begin behind the end of the server, and secrets be tried without an end.
 * What changes something has to come from a page of ours.
 */
export function refuseAtDoor(exchange: Exchange, { slowAskers }: Pick<ConsoleDeps, 'slowAskers'>, site: Site): boolean {
  const { request, edge } = exchange
  if (edge.drain.stage === 'refusing') {
    refuseConsole(exchange, 'server_draining', 'This server is shutting down.', { retryAfterSeconds: 1 })
    return true
  }
  const address = edge.findClientAddress(request)
  const wait = address === undefined ? undefined : slowAskers(address)
  if (wait !== undefined) {
    const message = `Too much is asked from this address. Ask again in ${wait} s.`
    refuseConsole(exchange, 'too_many_requests', message, { retryAfterSeconds: wait })
    return true
  }
  if (!isChange(exchange) || isFromOwnPage(request.headers, site)) return false
  refuseConsole(exchange, 'other_site', 'This came from another site than this console. Nothing was done.')
  return true
}
