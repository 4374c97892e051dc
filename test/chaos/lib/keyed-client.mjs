import { setTimeout as sleep } from 'node:timers/promises'

const AGAIN_MS = { from: 20, to: 200 }
const TRIES_MAX = 60
/** A client that hangs up on every try would never learn anything. */
const HANG_UPS_MAX = 2
const ONCE_MORE = 0.4
const OTHER_BODY = 0.2
/** What one is told who only has to come back. */
const PASSING = new Set(['idempotency_in_progress', 'ledger_unavailable', 'server_draining'])

/**
 * Asks with an Idempotency-Key until it is told something that will not change, whatever comes between; sometimes once more
 * after that, and sometimes with another body.
 */
export async function sendUntilAnswered(stage, sendTurn, random) {
  let note
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    await stage.gate.passed()
    note = await stage.sendTurn({ ...sendTurn, abort: tries < HANG_UPS_MAX ? sendTurn.abort : undefined })
    if (isDelivered(note)) break
    await sleep(random.between(AGAIN_MS.from, AGAIN_MS.to))
  }
  if (note.status !== 200 || !isDelivered(note)) return note
  if (random.chance(ONCE_MORE)) await again(stage, { ...sendTurn, abort: undefined })
  if (random.chance(OTHER_BODY))
    await again(stage, { ...sendTurn, abort: undefined, isOther: true, content: `So ${sendTurn.content}` })
  return note
}

async function again(stage, sendTurn) {
  await stage.gate.passed()
  return stage.sendTurn(sendTurn)
}

const isDelivered = ({ ended, code }) =>
  ended === 'done' || ended === 'failed' || (ended === 'refused' && !PASSING.has(code))
