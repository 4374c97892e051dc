// What a frame costs on each road: relayed in Chat, said anew in Responses, translated from one into the other, and from the languages of other providers. CPU of the
// whole gateway over real sockets, the roads in rotation, and every ratio to the relay of Chat in the same run. A table
// before it says what the carriers alone take, without sockets, money and store.
//
//   npm run bench -- frames [--rounds 5] [--scale 1] [--only NAME]
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { carriersAlone } from './lib/carriers-alone.mjs'
import { load } from './lib/load.mjs'
import { cpuMicros, describeMachine, median } from './lib/measure.mjs'
import { startMillrace } from './lib/start-millrace.mjs'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    scale: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
})
const ROUNDS = Number(options.rounds)
const SCALE = Number(options.scale)

/** Client and lane, and what is asked besides. The first is what the others are compared with. */
const ROADS = [
  { name: 'Chat, relayed', client: 'chat', lane: 'chat' },
  { name: 'Responses, re-emitted', client: 'responses', lane: 'responses' },
  { name: 'Chat lane, Responses client', client: 'responses', lane: 'chat' },
  { name: 'Responses lane, Chat client', client: 'chat', lane: 'responses' },
  { name: 'Anthropic lane, Chat client', client: 'chat', lane: 'anthropic' },
  { name: 'Anthropic lane, Responses client', client: 'responses', lane: 'anthropic' },
  { name: 'Gemini lane, Chat client', client: 'chat', lane: 'gemini' },
  { name: 'Responses, re-emitted, stored', client: 'responses', lane: 'responses', store: true },
]
const SCENARIOS = [
  {
    name: 'alone',
    title: 'a frame alone (one each 5 ms)',
    model: 'c200-d5',
    concurrent: 25,
    warmUp: 75,
    requests: 75,
    frames: 200,
  },
  {
    name: 'alone-padded',
    title: 'the same, padded',
    model: 'c200-d5-padded',
    concurrent: 25,
    warmUp: 25,
    requests: 75,
    frames: 200,
  },
  {
    name: 'bulk',
    title: 'a frame in bulk (200 at once)',
    model: 'c200-d0',
    concurrent: 16,
    warmUp: 1500,
    requests: 500,
    frames: 200,
  },
  {
    name: 'bulk-padded',
    title: 'the same, padded',
    model: 'c200-d0-padded',
    concurrent: 16,
    warmUp: 500,
    requests: 500,
    frames: 200,
  },
  {
    name: 'stream',
    title: 'a stream of one frame',
    model: 'c1-d0',
    concurrent: 32,
    warmUp: 6000,
    requests: 2500,
    frames: 1,
  },
  { name: 'json', title: 'a JSON answer', model: 'json', concurrent: 32, warmUp: 6000, requests: 2500, frames: 1 },
]
const WIRES = [...new Set(ROADS.map(({ lane }) => lane))]
const MODELS = [...new Set(SCENARIOS.map(({ model }) => model))]

console.log(`# frames: ${describeMachine()}\n`)
if (options.only === '' || options.only === 'carriers') carriersAlone()
if (options.only !== 'carriers') await wholeGateway()

async function wholeGateway() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
  const children = []
  try {
    const mock = fork(fileURLToPath(new URL('./lib/mock-languages.mjs', import.meta.url)))
    children.push(mock)
    const { port } = await new Promise((resolve) => mock.once('message', resolve))
    const millrace = await startMillrace(folder, configText(port))
    children.push(millrace.child)
    console.log(
      `${ROUNDS} rounds in rotation, scale ${SCALE}; CPU of the server process with all its threads, median; us a frame, or a request in the last two\n`,
    )
    console.log(`| scenario | ${ROADS.map(({ name }) => name).join(' | ')} | failures |`)
    console.log(`|---|${ROADS.map(() => '---|').join('')}---|`)
    for (const scenario of SCENARIOS.filter(({ name }) => options.only === '' || options.only === name)) {
      console.log(await compare(millrace, scenario))
    }
  } finally {
    for (const child of children) child.kill()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function compare(millrace, scenario) {
  const runs = new Map(ROADS.map((road) => [road, []]))
  for (const road of ROADS) await run(millrace, road, scenario, scenario.warmUp)
  for (let round = 0; round < ROUNDS; round++) {
    const order = ROADS.map((_, at) => ROADS[(at + round) % ROADS.length])
    for (const road of order) runs.get(road).push(await run(millrace, road, scenario, scenario.requests))
  }
  const cpu = ROADS.map((road) => median(runs.get(road).map((result) => result.cpu)))
  const cells = cpu.map((micros) => `${micros.toFixed(2)} (${(micros / cpu[0]).toFixed(2)})`)
  const failures = [...runs.values()].flat().reduce((sum, result) => sum + result.failures, 0)
  return `| ${scenario.title} | ${cells.join(' | ')} | ${failures} |`
}

async function run({ pid, port, headers }, road, { model, concurrent, frames }, requests) {
  const count = Math.max(concurrent, Math.round(requests * SCALE))
  const path = road.client === 'chat' ? '/v1/chat/completions' : '/v1/responses'
  const body = bodyOf(road, model)
  const before = cpuMicros(pid)
  const result = await load({ port, path, headers, body, concurrent, requests: count })
  return { ...result, cpu: (cpuMicros(pid) - before) / (count * frames) }
}

/** A question of 1 kB. */
function bodyOf({ client, lane, store = false }, model) {
  const content = 'z'.repeat(900)
  const asked = { model: `${lane}-${model}`, stream: model !== 'json' }
  const question = [{ role: 'user', content }]
  return Buffer.from(
    JSON.stringify(client === 'chat' ? { ...asked, messages: question } : { ...asked, store, input: question }),
  )
}

function configText(port) {
  const upstream = (wire) =>
    `  - { id: ${wire}, wire: ${wire}, base_url: http://127.0.0.1:${port}/v1, allow_private: true }`
  const model = (wire, name) => `  - id: ${wire}-${name}
    context_tokens: 128000
    max_output_tokens: 4096
    price: { input: "0.10", cached_input: "0.02", output: "0.40" }
    lanes: [{ upstream: ${wire}, model: ${name} }]`
  return `server: { metrics_port: 0 }
upstreams:
${WIRES.map(upstream).join('\n')}
models:
${WIRES.flatMap((wire) => MODELS.map((name) => model(wire, name))).join('\n')}
limits: { key: { requests_per_minute: 100000000, tokens_per_minute: 100000000000, concurrent: 10000 } }
`
}
