import { setMaxListeners } from 'node:events'
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { planAsk } from './plan-request.mjs'
import { askWithoutReading, send } from './send-request.mjs'

const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses' }
/** Half of those that read nothing go away; the others look when their time and the minute in which they are cut are over. */
const PATIENCE = [
  { patienceMs: 20_000, looks: false },
  { patienceMs: 130_000, looks: true },
]
/** A refusal takes no time; a loop on it would only heat. */
const REST_MS = 250

/** `count` clients, each asking one thing after the other, with a luck of its own. */
export function startClients({ port, accounts, random, count }) {
  const agent = new Agent({ keepAlive: true })
  const state = { stopped: false, leaving: new AbortController() }
  setMaxListeners(0, state.leaving.signal)
  const told = { kinds: {}, ends: {}, codes: {}, charges: new Map(), wrong: [], started: 0, replays: 0 }
  const loops = Array.from({ length: count }, (_, number) =>
    loop({ port, agent, accounts, told, state }, random.fork(number)),
  )
  return {
    told,
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
  const { accounts, told, state } = place
  // Not all at once: a burst at the beginning would be all that the first seconds show.
  await sleep(random.between(0, 5000))
  while (!state.stopped) {
    const ask = planAsk(random, accounts)
    told.started += 1
    for (const kind of ask.kinds) count(told.kinds, kind)
    if (ask.neverReads) await standStill(place, ask, random)
    else await askAndFollow(place, ask)
  }
}

async function standStill({ port, told, state }, ask, random) {
  count(told.kinds, 'never reads')
  const { ended } = await askWithoutReading({
    port,
    ask,
    path: PATHS[ask.protocol],
    ...random.pick(PATIENCE),
    leave: state.leaving.signal,
  })
  count(told.ends, `never read: ${ended}`)
}

async function askAndFollow(place, ask) {
  const { told } = place
  const note = await send({ ...place, ask, path: PATHS[ask.protocol], body: ask.body })
  write(told, ask, note)
  if (note.ended === 'refused') await sleep(REST_MS)
  if (note.ended !== 'whole') return
  if (ask.once) await askAgain(place, ask, note)
  if (ask.stored && note.responseId) await afterwards(place, ask, note)
}

function write(told, ask, note) {
  count(told.ends, note.ended)
  if (ask.abortAfterMs !== undefined) count(told.kinds, 'client that may hang up')
  if (note.code) count(told.codes, note.code)
  if (note.ended === 'whole' && note.charge !== undefined) told.charges.set(note.id, note.charge)
  if (isWrong(ask, note)) told.wrong.push({ kinds: ask.kinds, ...note })
}

/** Who is honest with an honest provider is served, unless it has no money or the server says that it has too much to do. */
function isWrong(ask, { ended, code, charge }) {
  if (ended === 'aborted') return false
  if (ended === 'whole') return charge === undefined
  if (ended === 'refused' && code === 'server_is_overloaded') return false
  if (ask.account.email === 'poor@localhost') return code !== 'insufficient_balance'
  return ask.fault === 'none' || ended === 'broken'
}

async function askAgain(place, ask, first) {
  const again = await send({
    ...place,
    ask: { ...ask, abortAfterMs: undefined },
    path: PATHS[ask.protocol],
    body: ask.body,
  })
  if (again.ended === 'whole' && again.replayed && again.charge === first.charge) place.told.replays += 1
  // What was asked just at the end of its minute of keeping is refused by name, and never run again.
  else if (again.code !== 'idempotency_not_replayable' && again.code !== 'server_is_overloaded')
    place.told.wrong.push({ kinds: ['asked again', ...ask.kinds], ...again })
}

async function afterwards(place, ask, { responseId }) {
  const { told } = place
  const plain = { account: ask.account }
  const path = `/v1/responses/${responseId}`
  count(told.kinds, `stored response: ${ask.afterwards}`)
  if (ask.afterwards === 'continue') {
    const next = { ...ask, ...plain, once: undefined, abortAfterMs: undefined }
    const body = { ...ask.body, input: 'And then?', previous_response_id: responseId }
    return write(told, next, await send({ ...place, ask: next, path: PATHS.responses, body }))
  }
  const method = ask.afterwards === 'get' ? 'GET' : 'DELETE'
  const note = await send({ ...place, ask: plain, method, path })
  if (note.status !== 200) told.wrong.push({ kinds: [`${method} of a stored response`], ...note })
}
