import { setTimeout as sleep } from 'node:timers/promises'
import { sendUntilAnswered } from './keyed-client.mjs'
import { planRequest } from './plan-request.mjs'

/** Between two requests of one client: an answer without pauses takes no time, and a loop on it would only heat. */
const THINK_MS_MAX = 25

/** So many clients that ask, read, hang up and ask again until they are stopped, whether a server runs or not. */
export function startClients({ stage, accounts, random, count, plan = planRequest }) {
  const state = { stopped: false }
  const loops = Array.from({ length: count }, (_, index) => loop(stage, accounts, random.fork(index), state, plan))
  return {
    /** Resolves when the last answer has come. The gate must be open by then. */
    async stop() {
      state.stopped = true
      await Promise.all(loops)
    },
  }
}

async function loop(stage, accounts, random, state, plan) {
  while (!state.stopped) {
    await stage.gate.passed()
    const sendTurn = plan(random, accounts)
    if (sendTurn.once === undefined) await stage.sendTurn(sendTurn)
    else await sendUntilAnswered(stage, sendTurn, random)
    await sleep(random.between(0, THINK_MS_MAX))
  }
}
