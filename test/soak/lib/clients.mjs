import { setMaxListeners } from 'node:events'
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { planRequest } from './plan-request.mjs'
import { send, sendWithoutReading } from './send-request.mjs'

const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses' }
/** Half of those that read nothing go away; the others look when their time and the minute in which they are cut are over. */
const LEAVES = { patienceMs: 20_000, looks: false }
const LOOKS = { patienceMs: 130_000, looks: true }
/**
 * Until then few are cut. In a run that is shorter those who wait would become more until its end, each with half a megabyte of the
 * server's, which looks like a leak.
 */
export const GIVEN_UP_FROM_MINUTES = 4
/** A refusal takes no time; a loop on it would only heat. */
const REST_MS = 250

/** `count` clients, each asking one thing after the other, with a luck of its own. */
export function startClients({ port, accounts, random, count, minutes }) {
  const agent = new Agent({ keepAlive: true })
  const state = { stopped: false, leaving: new AbortController() }
  setMaxListeners(0, state.leaving.signal)
  const reported = { kinds: {}, ends: {}, codes: {}, charges: new Map(), wrong: [], started: 0, replays: 0 }
  const patience = minutes < GIVEN_UP_FROM_MINUTES ? [LEAVES] : [LEAVES, LOOKS]
  const loops = Array.from({ length: count }, (_, number) =>
    loop({ port, agent, accounts, reported, state, patience }, random.fork(number)),
  )
  return {
    reported,
    /** Asks nothing more; resolves when the last answer has ended and every connection is closed. */
    async stop() {
      state.stopped = true
      state.leaving.abort()
      await Promise.all(loops)
      agent.destroy()
    },
  }
}

const count = (table, name) => {
  table[name] = (table[name] ?? 0) + 1
}

async function loop(place, random) {
  const { accounts, reported, state } = place
  // Not all at once: a burst at the beginning would be all that the first seconds show.
  await sleep(random.between(0, 5000))
  while (!state.stopped) {
    const sendTurn = planRequest(random, accounts)
    reported.started += 1
    for (const kind of sendTurn.kinds) count(reported.kinds, kind)
    if (sendTurn.neverReads) await standStill(place, sendTurn, random)
    else await sendAndFollow(place, sendTurn)
  }
}

async function standStill({ port, reported, state, patience }, sendTurn, random) {
  count(reported.kinds, 'never reads')
  const { ended } = await sendWithoutReading({
    port,
    sendTurn,
    path: PATHS[sendTurn.protocol],
    ...random.pick(patience),
    leave: state.leaving.signal,
  })
  count(reported.ends, `never read: ${ended}`)
}

async function sendAndFollow(place, sendTurn) {
  const { reported } = place
  const note = await send({ ...place, sendTurn, path: PATHS[sendTurn.protocol], body: sendTurn.body })
  write(reported, sendTurn, note)
  if (note.ended === 'refused') await sleep(REST_MS)
  if (note.ended !== 'whole') return
  if (sendTurn.once) await sendAgain(place, sendTurn, note)
  if (sendTurn.stored && note.responseId) await afterwards(place, sendTurn, note)
}

function write(reported, sendTurn, note) {
  count(reported.ends, note.ended)
  if (sendTurn.abortAfterMs !== undefined) count(reported.kinds, 'client that may hang up')
  if (note.code) count(reported.codes, note.code)
  if (note.ended === 'whole' && note.charge !== undefined) reported.charges.set(note.id, note.charge)
  if (isWrong(sendTurn, note)) reported.wrong.push({ kinds: sendTurn.kinds, ...note })
}

/** Who is honest with an honest provider is served, unless it has no money or the server says that it has too much to do. */
function isWrong(sendTurn, { ended, code, charge }) {
  if (ended === 'aborted') return false
  if (ended === 'whole') return charge === undefined
  if (ended === 'refused' && code === 'server_is_overloaded') return false
  if (sendTurn.account.email === 'poor@localhost') return code !== 'insufficient_balance'
  return sendTurn.fault === 'none' || ended === 'broken'
}

async function sendAgain(place, sendTurn, first) {
  const again = await send({
    ...place,
    sendTurn: { ...sendTurn, abortAfterMs: undefined },
    path: PATHS[sendTurn.protocol],
    body: sendTurn.body,
  })
  if (again.ended === 'whole' && again.replayed && again.charge === first.charge) place.reported.replays += 1
  // What was asked just at the end of its minute of keeping is refused by name, and never run again.
  else if (again.code !== 'idempotency_not_replayable' && again.code !== 'server_is_overloaded')
    place.reported.wrong.push({ kinds: ['asked again', ...sendTurn.kinds], ...again })
}

async function afterwards(place, sendTurn, { responseId }) {
  const { reported } = place
  const plain = { account: sendTurn.account }
  const path = `/v1/responses/${responseId}`
  count(reported.kinds, `stored response: ${sendTurn.afterwards}`)
  if (sendTurn.afterwards === 'continue') {
    const next = { ...sendTurn, ...plain, once: undefined, abortAfterMs: undefined }
    const body = { ...sendTurn.body, input: 'And then?', previous_response_id: responseId }
    return write(reported, next, await send({ ...place, sendTurn: next, path: PATHS.responses, body }))
  }
  const method = sendTurn.afterwards === 'get' ? 'GET' : 'DELETE'
  const note = await send({ ...place, sendTurn: plain, method, path })
  if (note.status !== 200) reported.wrong.push({ kinds: [`${method} of a stored response`], ...note })
}
