import { setImmediate as nextTurn } from 'node:timers/promises'

const TURNS = 50

/**
 * Provider, server and client live in one process: what has been written is read within a few turns of its loop. A
 * connection that breaks sooner would take it along.
 */
export async function delivered(): Promise<void> {
  for (let turns = 0; turns < TURNS; turns++) await nextTurn()
}
