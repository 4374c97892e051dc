// Drives real agents and SDKs, as they come, at a provider that breaks off or throttles, once straight and once through the real server:
// a cancel reaches the provider within a second, a broken stream is retried as it is without the server, and a short 429 is not seen. See
// ../../docs/clients/broken-streams.md.
//
//   node test/clients/agents.mjs [--agents codex,opencode,pi,cline,qwen-code,continue,ai-sdk,openai-node,openai-python]
//     [--cases interrupt,kill,silence,cut-before,cut-after,busy] [--wire chat|responses] [--installed FOLDER] [--dist FOLDER]
import { setTimeout as sleep } from 'node:timers/promises'
import { findNewerNode } from '../acceptance/newer-node.mjs'
import { endAll } from '../acceptance/own-processes.mjs'
import { serveGateway } from '../acceptance/serve-gateway.mjs'
import { readOptions } from '../program/options.mjs'
import { createTally } from '../program/tally.mjs'
import { AGENTS, installAgent, MODEL, startAgent } from './lib/agents.mjs'
import { ANSWER, startBreakingProvider } from './lib/breaking-provider.mjs'
import { openCountingProxy } from './lib/counting-proxy.mjs'

const PROMPT = 'Say something about mills.'
const AGENT_MS_MAX = 90_000
const CANCEL_MS_MAX = 1000
/** The deltas that a client has had before it is interrupted. */
const WORDS_BEFORE = 5

const CASES = {
  interrupt: (scene) => cancel(scene, 'stream', 'SIGINT'),
  kill: (scene) => cancel(scene, 'stream', 'SIGKILL'),
  silence: (scene) => cancel(scene, 'silence', 'SIGINT'),
  'cut-before': (scene) => retriesAsDirectly(scene, 'cut before text'),
  'cut-after': (scene) => retriesAsDirectly(scene, 'cut after text'),
  busy: isNotThrottled,
}

const options = readOptions({
  agents: Object.keys(AGENTS).join(','),
  cases: Object.keys(CASES).join(','),
  wire: 'chat',
  installed: '',
})
const tally = createTally()
const node = await findNewerNode()
if (node) await driveAll()
endAll()
tally.close()

async function driveAll() {
  const [direct, behind] = [await startBreakingProvider(), await startBreakingProvider()]
  const gateway = await serveGateway({ dist: options.dist, config: configFor(behind.url) })
  for (const name of options.agents.split(',')) {
    const found = await installAgent(name, { node, installed: options.installed })
    if (found === undefined) continue
    const proxy = await openCountingProxy(gateway.baseUrl)
    const sides = [
      { says: 'straight', provider: direct, baseUrl: direct.url, key: 'provider-key' },
      { says: 'through Millrace', provider: behind, baseUrl: proxy.url, key: gateway.key, proxy },
    ]
    for (const one of options.cases.split(',')) await CASES[one]({ name, found, sides })
    proxy.close()
  }
  for (const opened of [direct, behind]) opened.close()
  await gateway.stop(tally)
}

function configFor(url) {
  return {
    upstreams: [
      { id: 'mock', wire: options.wire, dialect: 'openai', base_url: url, api_key: 'mock-key', allow_private: true },
    ],
    models: [
      {
        ...{ id: MODEL, context_tokens: 200_000, max_output_tokens: 32_000, efforts: ['low', 'medium', 'high'] },
        price: { input: '1.00', output: '5.00' },
        lanes: [{ upstream: 'mock', model: MODEL }],
      },
    ],
  }
}

/** An agent sends its turns with tools; an SDK's program has none. */
function start({ name, found }, { provider, baseUrl, key }, way) {
  const requests = provider.play(way, { onlyTools: AGENTS[name].source === undefined })
  const agent = startAgent(name, { found, node, baseUrl, key, prompt: PROMPT, withinMs: AGENT_MS_MAX })
  return { agent, requests }
}

/** Interrupts the agent in the middle of a stream, or while the provider says nothing. */
async function cancel(scene, way, signal) {
  const [straight, through] = await Promise.all(scene.sides.map((side) => cancelOne(scene, side, way, signal)))
  tally.check(
    through.ofHangUp <= CANCEL_MS_MAX,
    `${scene.name}: ${signal} in a ${way}: the provider sees it straight after ${straight.ofSignal} ms; through Millrace after ${through.ofSignal} ms, ${through.ofHangUp} ms behind the client's hang-up`,
  )
}

async function cancelOne(scene, side, way, signal) {
  const before = side.proxy?.turns.length
  const { agent, requests } = start(scene, side, way)
  let isOver = false
  const ended = agent.ended.finally(() => (isOver = true))
  while (!isOver && !((requests[0]?.words ?? 0) >= WORDS_BEFORE)) await sleep(20)
  const began = performance.now()
  agent.signal(signal)
  while (!isOver && performance.now() - began < 2 * CANCEL_MS_MAX) await sleep(20)
  agent.signal('SIGKILL')
  const { output } = await ended
  const [first] = requests
  // An agent that was too busy for the signal hangs up only now.
  const over = performance.now()
  while (first?.closedAt === undefined && performance.now() - over < 2 * CANCEL_MS_MAX) await sleep(20)
  if (first === undefined) console.log(`      ${scene.name} ${side.says}: ${output.slice(-2000)}`)
  const hangUp = side.proxy?.turns.slice(before).find(({ body }) => isCounted(scene, body))?.closedAt
  return { ofSignal: Math.round(first?.closedAt - began), ofHangUp: Math.round(first?.closedAt - hangUp) }
}

/** The answer if it came straight, and then with as many requests, or fewer where the server has retried by itself. */
async function retriesAsDirectly(scene, way) {
  const [straight, through] = await Promise.all(scene.sides.map((side) => play(scene, side, way)))
  tally.check(
    straight.answered
      ? through.answered && through.requests <= straight.requests
      : through.answered || through.requests <= straight.requests,
    `${scene.name}: ${way}: straight ${inWords(straight)}; through Millrace ${inWords(through)}`,
  )
}

/** The server waits instead of the agent, whose requests are one fewer and all answered. */
async function isNotThrottled(scene) {
  const [straight, through] = await Promise.all(scene.sides.map((side) => play(scene, side, 'busy')))
  tally.check(
    through.answered &&
      through.requests === straight.requests - 1 &&
      through.statuses.every((status) => status === 200),
    `${scene.name}: 429 for 2 s: straight ${inWords(straight)}; through Millrace ${inWords(through)}`,
  )
}

async function play(scene, side, way) {
  const before = side.proxy?.turns.length
  const { agent, requests } = start(scene, side, way)
  const { code, output } = await agent.ended
  const turns = side.proxy?.turns.slice(before).filter(({ body }) => isCounted(scene, body))
  const answered = output.includes(ANSWER)
  if (!answered) console.log(`      ${scene.name} ${side.says}: ${output.trim().slice(-300).replaceAll('\n', ' ')}`)
  return {
    ...{ answered, code, provider: requests.length, requests: turns?.length ?? requests.length },
    statuses: turns?.map(({ status }) => status) ?? [],
  }
}

/** As the provider counts: of an agent only what it sends with tools. */
function isCounted({ name }, body) {
  return AGENTS[name].source !== undefined || JSON.parse(body).tools?.length > 0
}

function inWords({ answered, code, requests, provider, statuses }) {
  const through = statuses.length > 0 ? ` (${statuses.join(' ')}; ${provider} at the provider)` : ''
  return `${requests} requests${through}, ${answered ? 'the answer' : 'no answer'}, exit ${code}`
}
