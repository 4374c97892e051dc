// The roads an answer can take through the gateway, what is asked on each, and what an answer of it costs.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { load } from './load.mjs'
import { cpuMicros } from './measure.mjs'

/** Client and lane, and what is asked besides. The first is what the others are compared with. */
export const ROUTES = [
  { name: 'Chat, relayed', client: 'chat', lane: 'chat' },
  { name: 'Responses, re-emitted', client: 'responses', lane: 'responses' },
  { name: 'Chat lane, Responses client', client: 'responses', lane: 'chat' },
  { name: 'Responses lane, Chat client', client: 'chat', lane: 'responses' },
  { name: 'Anthropic lane, Chat client', client: 'chat', lane: 'anthropic' },
  { name: 'Anthropic lane, Responses client', client: 'responses', lane: 'anthropic' },
  { name: 'Gemini lane, Chat client', client: 'chat', lane: 'gemini' },
  { name: 'Responses, re-emitted, stored', client: 'responses', lane: 'responses', store: true },
]
export const SCENARIOS = [
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
  {
    name: 'rate',
    title: 'a JSON answer at 300 requests/s',
    model: 'json',
    concurrent: 64,
    rate: 300,
    warmUp: 600,
    requests: 900,
    frames: 1,
  },
]
const WIRES = [...new Set(ROUTES.map(({ lane }) => lane))]
const MODELS = [...new Set(SCENARIOS.map(({ model }) => model))]

/** Answers in every language that a lane can speak. */
export async function startProvider() {
  const child = fork(fileURLToPath(new URL('./mock-languages.mjs', import.meta.url)))
  const { port } = await new Promise((resolve) => child.once('message', resolve))
  return { child, port }
}

/** The CPU that a frame of it took the server, in us: of the whole process, with all its threads. */
export async function runRoute({ pid, port, headers }, route, { model, concurrent, frames, rate }, requests) {
  const count = Math.max(concurrent, Math.round(requests))
  const path = route.client === 'chat' ? '/v1/chat/completions' : '/v1/responses'
  const body = bodyOf(route, model)
  const before = cpuMicros(pid)
  const result = await load({ port, path, headers, body, concurrent, rate, requests: count })
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

export function configText(port) {
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
