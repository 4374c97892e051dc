import { setTimeout as pause } from 'node:timers/promises'

const PAUSE_MS = 5

/**
 * Asks again until the answer is there. How long that takes is nobody's business here: a test that waits for ever is
 * ended by the runner.
 */
export async function until<Value>(sendTurn: () => Promise<Value | undefined | false> | Value | undefined | false) {
  for (;;) {
    const answer = await sendTurn()
    if (answer !== undefined && answer !== false) return answer
    await pause(PAUSE_MS)
  }
}
