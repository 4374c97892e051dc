import { setTimeout as pause } from 'node:timers/promises'

const PAUSE_MS = 5

/**
 * Asks again until the answer is there. There is no time limit here: the runner ends a test
 * that waits for ever.
 */
export async function until<Value>(sendTurn: () => Promise<Value | undefined | false> | Value | undefined | false) {
  for (;;) {
    const answer = await sendTurn()
    if (answer !== undefined && answer !== false) return answer
    await pause(PAUSE_MS)
  }
}
