import { setTimeout as sleep } from 'node:timers/promises'
import { sendUntilAnswered } from '../../chaos/lib/keyed-client.mjs'
import { createKey } from './accounts.mjs'

/** Between two requests of one client. */
const THINK_MS = { from: 100, to: 500 }
/** After a refusal that says nothing about when to come back. */
const REFUSED_MS = { from: 300, to: 1200 }
/** How long an agent goes on with one conversation, if its run lets it. */
const AGENT_STEPS_MAX = 30
const PADS = ['', 'Please: ', 'Read this file again, all of it, and then say it once more. '.repeat(6), 'é'.repeat(60)]
const HANG_UPS = 0.04
const WATCH_MS = { from: 500, to: 2500 }

/** How many clients of each kind ask, closed loops all of them: a slow machine has fewer requests. */
const CLIENTS = { agents: 4, talk: 5, batch: 4, builder: 3, small: 1, strangers: 4, leaky: 1, stays: 1, leaves: 1 }

/** All who use the gateway, until they are stopped; `share` of the clients of each kind, but at least one. */
export function startActors({ site, accounts, call, random, share }) {
  const state = { stopped: false }
  const loops = []
  const begin = (kind, loop) => {
    for (let index = 0; index < CLIENTS[kind] * share; index++) {
      const own = random.fork(1000 * Object.keys(CLIENTS).indexOf(kind) + index)
      loops.push(loop({ site, state, random: own, index, actor: kind }))
    }
  }
  const { agents, talk, batch, builder, small, leaky, team } = accounts
  begin('agents', (client) => runAgent(client, agents.keys))
  begin('talk', (client) => runUser(client, talk.keys, ['talk', 'talk', 'solo', 'metered']))
  begin('batch', (client) => runBatch(client, batch.keys[0]))
  begin('builder', (client) => runUser(client, builder.keys, ['talk', 'coder', 'solo']))
  begin('small', (client) => runUser(client, small.keys, ['talk']))
  begin('strangers', (client) => runUser(client, [leaky.leaked], ['coder', 'talk']))
  begin('leaky', (client) => runUser(client, leaky.keys, ['talk']))
  begin('stays', (client) => runUser(client, [team.stays], ['coder', 'talk']))
  begin('leaves', (client) => runUser(client, [team.leaves], ['coder', 'talk']))
  const operator = { done: {}, created: [] }
  loops.push(runOperator({ site, state, random: random.fork(-7), accounts, call, operator }))
  return {
    operator,
    async stop() {
      state.stopped = true
      await Promise.all(loops)
    },
  }
}

const send = async ({ site, actor }, key, more) => {
  await site.gate.passed()
  return site.sendTurn({ ...more, actor, account: key.email, kind: key.kind, key: key.secret, keyId: key.id })
}

const think = (random, { status }) => {
  const { from, to } = status === 200 ? THINK_MS : REFUSED_MS
  return sleep(random.between(from, to))
}

const planAbort = (random) =>
  random.chance(HANG_UPS)
    ? random.chance(0.5)
      ? { afterMs: random.between(0, 400) }
      : { afterWords: 1 + random.below(10) }
    : undefined

/** A task with a budget: its context grows with every answer, until the budget or the task is at its end. */
async function runAgent(client, keys) {
  const { state, random, index } = client
  for (let task = 0; !state.stopped; task++) {
    const run = `agent-${index}-${task}`
    const budget = random.pick(['0.50', random.between(0.004, 0.02).toFixed(6)])
    const messages = [{ role: 'system', content: 'You are an agent that counts. '.repeat(1 + random.below(20)) }]
    for (let step = 0; step < AGENT_STEPS_MAX && !state.stopped; step++) {
      const words = 3 + random.below(30)
      messages.push({ role: 'user', content: `${random.pick(PADS)}Now count to ${words}` })
      const note = await send(client, random.pick(keys), {
        ...{ model: 'coder', delivery: random.chance(0.8) ? 'stream' : 'json', messages, words },
        run: step === 0 ? `${run}; max=${budget}` : run,
        abort: planAbort(random),
      })
      await think(random, note)
      if (note.code === 'run_budget_exceeded') break
      if (note.ended === 'done') messages.push({ role: 'assistant', content: note.text })
      else messages.pop()
      if (step === 0 && note.ended !== 'done') break
    }
  }
}

/** A user who asks one thing after the other, in either protocol. */
async function runUser(client, keys, models) {
  const { state, random } = client
  while (!state.stopped) {
    const words = 1 + random.below(30)
    const note = await send(client, random.pick(keys), {
      protocol: random.chance(0.4) ? 'responses' : 'chat',
      model: random.pick(models),
      delivery: random.chance(0.65) ? 'stream' : 'json',
      content: `${random.pick(PADS)}count to ${words}`,
      words,
      cap: random.chance(0.3) ? 20 + random.below(60) : undefined,
      abort: planAbort(random),
    })
    await think(random, note)
  }
}

/** A job whose requests have a key each and are repeated until they are answered. */
async function runBatch(client, key) {
  const { site, state, random, index, actor } = client
  for (let item = 0; !state.stopped; item++) {
    const words = 5 + random.below(40)
    const sendTurn = {
      ...{ actor, account: key.email, kind: key.kind, key: key.secret, keyId: key.id },
      ...{ once: `job-${index}-${item}`, model: 'bulk', delivery: random.chance(0.5) ? 'stream' : 'json' },
      ...{ content: `${random.pick(PADS)}count to ${words}`, words, abort: planAbort(random) },
    }
    await sendUntilAnswered(site, sendTurn, random)
    await sleep(random.between(THINK_MS.from, THINK_MS.to))
  }
}

/** Credits, keys, caps, and looks at pages and exports. */
async function runOperator({ state, random, accounts, call, operator }) {
  const { talk, builder, agents } = accounts
  const range = () => {
    const day = (ms) => new Date(Date.now() + ms).toISOString().slice(0, 10)
    return `from=${day(-86_400_000)}&to=${day(86_400_000)}&zone=UTC`
  }
  const acts = {
    /** The reference makes it safe to repeat. */
    async credit() {
      const credit = { ref: `top-${talk.credits.length}`, amount: random.between(0.01, 2).toFixed(9) }
      talk.credits.push(credit)
      await call('POST', `accounts/${talk.email}/wallet/credit`, { ...credit, reason: 'by the day' })
    },
    async key() {
      const key = await createKey(call, talk, { name: `made ${operator.created.length}` })
      operator.created.push(key)
      talk.keys.push(key)
    },
    cap: () => call('PATCH', `keys/${random.pick(talk.keys).id}`, { caps: { day: random.between(50, 90).toFixed(2) } }),
    usage: () => call('GET', `accounts/${builder.email}/usage?${range()}&step=hour&by=key`),
    console: () => agents.owner('GET', `/usage?${range()}&step=hour&by=model`).catch(() => {}),
    served: () => call('GET', `served?${range()}&step=day`),
  }
  while (!state.stopped) {
    const [name, act] = random.pick(Object.entries(acts))
    await act()
    operator.done[name] = (operator.done[name] ?? 0) + 1
    await sleep(random.between(WATCH_MS.from, WATCH_MS.to))
  }
}
