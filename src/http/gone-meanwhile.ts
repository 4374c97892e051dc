import type { Exchange } from './exchange.ts'
import { afterOneTurn } from './give-way.ts'

/**
 * Where the event loop is late, a request may have lain in its socket for longer than its client waits. That it has gone is read
 * one turn of the loop after its request was: to begin before that would be work for nobody, when there is least time for it.
 */
export async function goneMeanwhile({ request: { socket }, edge }: Exchange): Promise<boolean> {
  if (!edge.load.isLate) return false
  await afterOneTurn()
  return socket.readableEnded || socket.destroyed
}
