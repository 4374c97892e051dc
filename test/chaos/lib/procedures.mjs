import { setTimeout as sleep } from 'node:timers/promises'
import { startClients } from './clients.mjs'
import { sendUntilAnswered } from './keyed-client.mjs'
import { textOf } from './plan-request.mjs'

const BACKGROUND_CLIENTS = 4
/** Without a kill the load alone must bring enough of everything. */
const CALM_CLIENTS = 20
/** At 20 ms a word: well past one interval and all slack. */
const KILL_IN_THE_MIDDLE_WORDS = 45
const NO_KILL_MS = 3000

const paced = { delivery: 'stream', model: 'paced', words: 20 }
/** Each round has an Idempotency-Key of its own, and asks again with it when all is over. */
const keyed = { ...paced, once: true }
const countsTo = (sendTurn) => ({ ...sendTurn, content: `count to ${sendTurn.words}` })

/**
 * Ways to put a kill where a fault shows. In each round one observer asks, under some other load, and kills the server
 * at the moment it has seen what it waited for, or hangs up where there is no such moment. A round counts as caught when
 * the audit objects to that very request.
 */
const PROCEDURES = {
  'kill-at-end': {
    rounds: 12,
    sends: [paced, { ...paced, model: 'fast', words: 7 }, { ...paced, model: 'fast', delivery: 'json' }],
    isMoment: (note) => note.done,
  },
  'kill-in-the-middle': {
    rounds: 4,
    sends: [{ ...paced, words: 60 }],
    isMoment: (note) => note.arrivals.length >= KILL_IN_THE_MIDDLE_WORDS,
  },
  'kill-at-first-content': {
    rounds: 4,
    sends: [paced],
    isMoment: (note) => note.text !== '',
  },
  'hang-up': {
    rounds: 4,
    sends: [{ ...paced, abort: { afterWords: 5 } }],
  },
  'ask-again': {
    rounds: 4,
    sends: [keyed],
  },
  'kill-and-ask-again': {
    rounds: 4,
    sends: [{ ...keyed, words: 60 }],
    isMoment: (note) => note.arrivals.length >= KILL_IN_THE_MIDDLE_WORDS,
  },
  'kill-at-end-and-ask-again': {
    rounds: 4,
    sends: [keyed, { ...keyed, model: 'fast', delivery: 'json' }],
    isMoment: (note) => note.done,
  },
  'kill-before-the-charge': {
    rounds: 4,
    sends: [keyed],
    isMoment: (note) => note.text === textOf(note.sendTurn),
    killAfterMs: 250,
  },
}

/** Runs a procedure; resolves to the notes of its observers, one a round. */
export async function carryOut({ name, stage, accounts, random }) {
  await stage.start()
  const calm = name === 'no-kill'
  const clients = startClients({ stage, accounts, random, count: calm ? CALM_CLIENTS : BACKGROUND_CLIENTS })
  const observed = calm ? await sleep(NO_KILL_MS, []) : await observe(name, { stage, accounts, random })
  await clients.stop()
  return observed
}

async function observe(name, stageContext) {
  const { rounds, sends } = PROCEDURES[name]
  const observed = []
  for (let round = 0; round < rounds; round++) {
    const sendTurn = ownAsk(sends[round % sends.length], stageContext.accounts[0], `${name}-${round}`)
    observed.push(await observeOnce(name, sendTurn, stageContext))
    if (sendTurn.once !== undefined) await sendUntilAnswered(stageContext.stage, sendTurn, stageContext.random)
  }
  return observed
}

function ownAsk(sendTurn, { email, kind, keys, keyedKey }, once) {
  const who = sendTurn.once ? { key: keyedKey, once } : { key: keys[0] }
  return countsTo({ ...sendTurn, account: email, kind, ...who })
}

async function observeOnce(name, sendTurn, { stage }) {
  const { isMoment, killAfterMs } = PROCEDURES[name]
  let seen = false
  const note = await stage.sendTurn(sendTurn, (soFar) => {
    if (seen || !isMoment?.(soFar)) return
    seen = true
    if (killAfterMs === undefined) stage.kill()
    else setTimeout(stage.kill, killAfterMs)
  })
  if (!isMoment) return note
  if (stage.gate.isOpen) throw new Error(`the observer of ${name} never saw its moment: ${JSON.stringify(note)}`)
  await stage.died()
  await stage.start()
  return note
}
