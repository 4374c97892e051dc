import { setImmediate as immediate } from 'node:timers/promises'
import type { Exchange } from '../exchange.ts'

/** From here on the steps of reading a body take turns with everybody else's work. */
const LARGE_BYTES = 1024 * 1024

export async function giveWay(bytes: Buffer): Promise<void> {
  if (bytes.length > LARGE_BYTES) await afterOneTurn()
}

/** The first setImmediate runs before the loop looks at sockets again, the second after. */
async function afterOneTurn(): Promise<void> {
  await immediate()
  await immediate()
}

/**
 * Where the event loop is late, a request may have lain in its socket for longer than its client waits. That it has gone is read
 * one turn of the loop after its request was: to begin before that would be work for nobody, when there is least time for it.
 */
export async function goneMeanwhile({ request: { socket }, edge }: Exchange): Promise<boolean> {
  if (!edge.isLate()) return false
  await afterOneTurn()
  return socket.readableEnded || socket.destroyed
}
