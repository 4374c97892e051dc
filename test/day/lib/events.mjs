import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { runCommand } from '../../program/program.mjs'
import { removeMember } from './accounts.mjs'
import { MISTAKES } from './scene.mjs'

const POLL_MS = 100
const WAIT_MS_MAX = 120_000
const SEEN_MS_MAX = 30_000
/** `millrace check` of a file that is not valid. */
const INVALID = 2

/** All times of the script are shares of the run. */
const SHARES = { brownOut: 0.12, lead: 0.02, rest: 0.01, away: 0.02 }
const RELOAD_SETTLES_MS = 1000

/**
 * What happens on this day: each an action that notes in `moments` when it was, so that the audit knows what clients may have seen.
 * `runMs` is how long the day takes.
 */
export function createEvents({
  site,
  scene,
  providers,
  sections,
  accounts,
  call,
  random,
  runMs,
  tally,
  nextBuild,
  backUp,
}) {
  const moments = {}
  const wait = (share) => sleep(runMs * share)
  /** Until a client has seen the effect, however slow the machine is. */
  const untilSeen = async (isMeant) => {
    const until = performance.now() + SEEN_MS_MAX
    while (!site.notes.some(isMeant) && performance.now() < until) await sleep(POLL_MS)
  }
  const shared = { site, scene, sections, call, random, moments, tally, wait, untilSeen }

  const events = {
    async brownOut() {
      const provider = providers[scene.brown]
      const end = site.disturb('brown')
      provider.isBrown = true
      moments.brownOut = { from: Date.now() }
      await wait(SHARES.brownOut)
      const isOpen = ([name, value]) => isAside(name) && value > 0
      await untilSome(site, (series) => [...series].some(isOpen))
      await site.sampleAll()
      provider.isBrown = false
      moments.brownOut.to = Date.now()
      await untilAll(site, (series) => [...series].every(([name, value]) => !isAside(name) || value === 0))
      moments.brownOut.closed = Date.now()
      end()
    },
    async datedPrice() {
      const price = scene.nextPrice.metered
      const from = new Date(Date.now() + Math.max(3000, runMs * SHARES.lead))
      await call('POST', 'managed', { prices: [{ model: scene.managed, price, from: from.toISOString() }] })
      scene.prices.metered.push(price)
      moments.datedPrice = { from: from.getTime(), to: from.getTime() }
      await sleep(Math.max(0, from.getTime() - Date.now()))
      await untilSeen(isAnswerOf(scene.managed, from.getTime()))
    },
    wrongConfiguration: () => deployMistake(shared),
    filePrice: () => deployPrice(shared),
    async revokedKey() {
      const { leaked } = accounts.leaky
      const from = Date.now()
      await call('POST', `keys/${leaked.id}/revoke`)
      moments.revokedKey = { from, to: Date.now() }
      await untilSeen(isRefused('strangers', 401, moments.revokedKey.to))
    },
    async removedMember() {
      const from = Date.now()
      await removeMember(accounts)
      moments.removedMember = { from, to: Date.now() }
      await untilSeen(isRefused('leaves', 401, moments.removedMember.to))
    },
    async killedNode() {
      const node = random.pick(site.alive())
      const end = site.disturb('node', node)
      await site.kill(node)
      moments.killedNode = Date.now()
      await wait(SHARES.rest)
      await site.start(node)
      end()
    },
    async replacedNode() {
      const node = random.pick(site.alive())
      const end = site.disturb('drain', node)
      if (site.postgres === undefined) {
        await site.stop(node)
        await site.start(node)
      } else {
        const next = await site.addNode()
        next.configure(sections())
        await site.start(next)
        await site.stop(node)
      }
      moments.replacedNode = Date.now()
      end()
    },
    async rollingUpgrade() {
      for (const node of site.alive()) {
        const end = site.disturb('drain', node)
        await site.stop(node)
        node.place.dist = nextBuild
        await site.start(node)
        end()
        await wait(SHARES.rest)
      }
      moments.rollingUpgrade = Date.now()
    },
    async backup() {
      moments.backup = await backUp()
    },
    async restartedDatabase() {
      const end = site.disturb('database')
      const from = Date.now()
      await site.postgres.shutDown()
      await wait(SHARES.away)
      await untilSeen(({ status, startedAt }) => status === 503 && startedAt > from)
      await site.postgres.startAgain()
      moments.restartedDatabase = Date.now()
      await untilAll(site, (series) => series.get('millrace_ledger_available') === 1)
      end()
    },
  }
  if (site.postgres === undefined) delete events.restartedDatabase
  return { events, moments }
}

const isAnswerOf =
  (model, since) =>
  ({ sendTurn, ended, startedAt }) =>
    ended === 'done' && sendTurn.model === model && startedAt > since
const isRefused =
  (actor, expected, since) =>
  ({ sendTurn, status, startedAt }) =>
    sendTurn.actor === actor && status === expected && startedAt > since
const isAside = (name) => name.startsWith('millrace_lanes_aside')

const untilAll = (site, isReached) => untilNodes(site, (all) => all.every(isReached))
const untilSome = (site, isReached) => untilNodes(site, (all) => all.some(isReached))

async function untilNodes(site, isReached) {
  const until = performance.now() + WAIT_MS_MAX
  for (;;) {
    const all = await Promise.all(site.alive().map((node) => site.metricsOf(node).catch(() => undefined)))
    if (all.every((series) => series !== undefined) && isReached(all)) return true
    if (performance.now() > until) return false
    await sleep(POLL_MS)
  }
}

/** An operator deploys a file with a mistake to all nodes, past the check that says so, and takes it back. */
async function deployMistake({ site, sections, call, random, moments, tally, wait }) {
  const mistake = random.pick(MISTAKES)
  const [first] = site.alive()
  const sound = readFileSync(first.place.config, 'utf8')
  for (const node of site.alive()) node.configure(mistake(sections()))
  const { code, err, out } = await runCommand(first.place, ['check'])
  tally.check(code === INVALID, `millrace check refuses the wrong configuration (${code}): ${firstLine(err + out)}`)
  const refused = (expected) => (series) => series.get('millrace_config_reload_refused') === expected
  const isRefused = await untilAll(site, refused(1))
  tally.check(isRefused, 'no node takes the wrong configuration')
  moments.wrongConfiguration = { from: Date.now() }
  await wait(SHARES.rest)
  await untilNotice(call, 'reload.refused')
  await site.sampleAll()
  moments.wrongConfiguration.to = Date.now()
  for (const node of site.alive()) node.configure(sections())
  tally.check(readFileSync(first.place.config, 'utf8') === sound, 'the wrong configuration was rolled back')
  tally.check(await untilAll(site, refused(0)), 'all nodes take the right one again')
}

/** Servers look every 15 s whether a reload is refused. */
async function untilNotice(call, event) {
  const until = performance.now() + SEEN_MS_MAX
  while (performance.now() < until) {
    const { items } = await call('GET', 'notices?limit=20')
    if (items.some((item) => item.event === event)) return
    await sleep(5 * POLL_MS)
  }
}

const firstLine = (text) => text.trim().split('\n')[0]

/** Another price of a model in the file, which each node takes when it reloads. */
async function deployPrice({ site, scene, sections, moments, tally, untilSeen }) {
  const loadedAt = (series) => series.get('millrace_config_loaded_timestamp_seconds')
  const before = new Map()
  for (const node of site.alive()) before.set(node.metricsPort, loadedAt(await site.metricsOf(node)))
  scene.prices.talk.push(scene.nextPrice.talk)
  const from = Date.now()
  for (const node of site.alive()) node.configure(sections())
  for (const node of site.alive()) {
    const deadline = performance.now() + WAIT_MS_MAX
    while (loadedAt(await site.metricsOf(node)) === before.get(node.metricsPort) && performance.now() < deadline)
      await sleep(POLL_MS)
  }
  await sleep(RELOAD_SETTLES_MS)
  moments.filePrice = { from, to: Date.now() }
  await untilSeen(isAnswerOf('talk', moments.filePrice.to))
  tally.check(true, 'all nodes have loaded the new price')
}

/** The order of the day: the seed's, each event in a slot of its own. The leaked key is revoked when its cap has begun again. */
export function orderEvents(events, random) {
  const left = Object.keys(events).filter((name) => name !== 'revokedKey')
  const order = []
  while (left.length > 0) order.push(...left.splice(random.below(left.length), 1))
  order.splice(Math.ceil((order.length + 1) / 2), 0, 'revokedKey')
  return order
}

/** Plays them; one that takes longer than its slot delays the next. */
export async function playEvents({ events, order, runMs, from }) {
  for (const [index, name] of order.entries()) {
    await sleep(Math.max(0, from + ((index + 0.3) / order.length) * runMs * 0.95 - Date.now()))
    const began = Date.now()
    await events[name]()
    console.log(`  ${seconds(began - from)} to ${seconds(Date.now() - from)} s: ${name}`)
  }
  await sleep(Math.max(0, from + runMs - Date.now()))
}

const seconds = (ms) => (ms / 1000).toFixed(1)
