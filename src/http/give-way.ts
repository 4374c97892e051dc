import { setImmediate as immediate } from 'node:timers/promises'

/** From here on the steps of reading a body take turns with everybody else's work. */
const LARGE_BYTES = 1024 * 1024

export async function giveWay(bytes: Buffer): Promise<void> {
  if (bytes.length > LARGE_BYTES) await afterOneTurn()
}

/** The first setImmediate runs before the loop looks at sockets again, the second after. */
export async function afterOneTurn(): Promise<void> {
  await immediate()
  await immediate()
}
