// Whether anybody with a key can fill the heap: many streams at once whose bodies are small as bytes and large as values,
// against a server with a heap of 1 GB, over both protocols and four wires; another client asks meanwhile. What is too much
// must be refused with 503, the server must live, and what the streams keep must stay within the budget.
//
//   npm run bench -- values [--streams 60] [--values 990000] [--heap 1024] [--kinds 'empty arrays,numbers'] [--short]
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createAccount, createKey, placeIn, startServer } from '../test/program/program.mjs'
import { describeMachine } from './lib/measure.mjs'
import { VALUE_BODIES } from './lib/value-bodies.mjs'

const { values: given } = parseArgs({
  options: {
    streams: { type: 'string', default: '60' },
    values: { type: 'string', default: '990000' },
    heap: { type: 'string', default: '1024' },
    kinds: { type: 'string' },
    short: { type: 'boolean', default: false },
  },
})
const streams = Number(given.streams)
const valuesMade = Number(given.values)
const heapMb = Number(given.heap)
const WIRES = ['chat', 'responses', 'anthropic', 'gemini']
const PROTOCOLS = ['chat', 'responses']
const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses' }
/** A word each second, for longer than the attack lasts. */
const SLOW = 'c900-d1000'
const MB = 1024 * 1024
const SETTLE_MS = given.short ? 300 : 1500
/** As it is counted (`TURN_BYTES`). */
const HEAP_KB_A_STREAM = 256
/** A response repeats its tools, and every lane that is translated to keeps their names. */
const REPEATED = new Set(['a schema of a tool', 'tools of one letter'])
const lib = (name) => fileURLToPath(new URL(`lib/${name}`, import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'millrace-values-'))
const probeFile = join(folder, 'heap.json')
const provider = fork(lib('mock-languages.mjs'))
const [{ port: providerPort }] = await once(provider, 'message')
const place = placeIn(folder, { environment: { HEAP_PROBE_FILE: probeFile } })
writeFileSync(place.config, configText())
const [attacker, other] = [await openKey('attacker@localhost'), await openKey('other@localhost')]
const nodeFlags = [`--max-old-space-size=${heapMb}`, '--import', lib('heap-probe.mjs')]
const server = startServer(place, { nodeFlags, logPath: join(folder, 'log') })
const port = Number(new URL(await server.ready).port)
const agent = new Agent({ keepAlive: true })
let asked = 0
const faults = []

try {
  console.log(`# values: ${describeMachine()}`)
  console.log(`${streams} streams at once, bodies of ${valuesMade} values, a heap of ${heapMb} MB\n`)
  console.log('| body | client | lane | kB | 200 | 503 | other answers | heap kept, MB | kB a stream | others served |')
  console.log('|---|---|---|---|---|---|---|---|---|---|')
  const kinds = given.kinds?.split(',') ?? Object.keys(VALUE_BODIES).slice(0, given.short ? 1 : undefined)
  await warmUp()
  for (const kind of kinds)
    for (const protocol of PROTOCOLS)
      for (const wire of given.short ? WIRES.slice(0, 3) : WIRES) await attack(kind, protocol, wire)
} finally {
  server.kill('SIGKILL')
  provider.kill()
  await server.ended
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
for (const fault of faults) console.log(`FAULT: ${fault}`)
if (faults.length === 0) console.log('\nno faults')
process.exitCode = faults.length > 0 ? 1 : 0

async function attack(kind, protocol, wire) {
  const before = await heapKept()
  const body = VALUE_BODIES[kind](protocol, `${wire}-slow`, valuesMade)
  const opened = []
  let isOver = false
  const honest = askAsOther(() => isOver)
  for (let at = 0; at < streams; at++) opened.push(open(protocol, attacker, body))
  const answers = await Promise.all(opened)
  await sleep(SETTLE_MS)
  isOver = true
  const served = await honest
  const kept = (await heapKept()) - before
  for (const answer of answers) answer.close()
  const of = (test) => answers.filter(test)
  const streaming = of(({ status }) => status === 200)
  const shed = of(({ status, code }) => status === 503 && code === 'server_is_overloaded')
  const others = of((answer) => !streaming.includes(answer) && !shed.includes(answer))
  const each = streaming.length === 0 ? 0 : kept / streaming.length / 1024
  const told = [...new Set(others.map(({ status, code }) => `${status} ${code}`))].join(', ') || '–'
  console.log(
    `| ${kind} | ${protocol} | ${wire} | ${Math.ceil(body.length / 1024)} | ${streaming.length} | ${shed.length} | ${told} | ${(kept / MB).toFixed(1)} | ${each.toFixed(0)} | ${served.ok} of ${served.asked} |`,
  )
  const where = `${kind}, ${protocol} over ${wire}`
  if (server.isOver) throw new Error(`${where}: the server is gone: ${server.output().slice(-2000)}`)
  if (others.some(({ status }) => status >= 500 || status === 0)) faults.push(`${where}: ${told}`)
  if (served.ok < served.asked)
    faults.push(`${where}: ${served.asked - served.ok} requests of another account failed: ${served.failed}`)
  // What is in the heap for a stream is a part of what it is counted for: its sockets, and what it may repeat.
  if (kept > (heapMb / 2) * MB) faults.push(`${where}: the heap keeps ${(kept / MB).toFixed(0)} MB`)
  if (each > HEAP_KB_A_STREAM + (REPEATED.has(kind) ? (2 * body.length) / 1024 + 12_000 : 0))
    faults.push(`${where}: ${each.toFixed(0)} kB of heap for each stream`)
  await sleep(SETTLE_MS)
}

/** Code and caches that the first requests leave in the heap are no stream's. */
async function warmUp() {
  for (const protocol of PROTOCOLS)
    for (const wire of WIRES) {
      const answers = [`${wire}-slow`, `${wire}-slow`].map((model) =>
        open(protocol, attacker, VALUE_BODIES['empty arrays'](protocol, model, 50_000)),
      )
      for (const answer of await Promise.all(answers)) answer.close()
    }
  await open('chat', other, Buffer.from('{"model":"chat-json","messages":[{"role":"user","content":"x"}]}'))
  await sleep(SETTLE_MS)
}

/** One request after the other, as long as the attack lasts. */
async function askAsOther(isOver) {
  const result = { asked: 0, ok: 0, failed: '' }
  while (!isOver()) {
    const body = Buffer.from(JSON.stringify({ model: 'chat-json', messages: [{ role: 'user', content: 'x' }] }))
    const answer = await open('chat', other, body)
    result.asked += 1
    if (answer.status === 200) result.ok += 1
    // An honest client comes back when it is told to.
    else if (answer.status === 503) result.asked -= 1
    else result.failed = `${answer.status} ${answer.code}`
    await sleep(20)
  }
  return result
}

/** Resolves at the head of an answer, or at the whole of one that is no stream. */
function open(protocol, key, body) {
  return new Promise((resolve) => {
    const sent = request({
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: PATHS[protocol],
      agent,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': body.length },
    })
    const close = () => sent.destroy()
    sent.on('error', (error) => resolve({ status: 0, code: error.code, close }))
    sent.on('response', (answer) => {
      if (answer.statusCode === 200 && String(answer.headers['content-type']).startsWith('text/event-stream')) {
        answer.on('error', () => {})
        answer.once('data', () => resolve({ status: 200, close }))
        answer.resume()
        return
      }
      const parts = []
      answer.on('data', (part) => parts.push(part))
      answer.on('error', () => {})
      answer.on('end', () => resolve({ status: answer.statusCode, code: codeIn(Buffer.concat(parts)), close }))
    })
    sent.end(body)
  })
}

function codeIn(bytes) {
  try {
    return JSON.parse(bytes).error?.code
  } catch {
    return 'no JSON'
  }
}

async function heapKept() {
  asked += 1
  server.kill('SIGUSR2')
  for (;;) {
    await sleep(50)
    try {
      const told = JSON.parse(readFileSync(probeFile, 'utf8'))
      if (told.asked >= asked) return told.heapUsed
    } catch {
      // Nothing was told yet.
    }
    if (server.isOver) throw new Error(`the server is gone: ${server.output().slice(-2000)}`)
  }
}

async function openKey(email) {
  await createAccount(place, { email, credit: '1000000' })
  return (await createKey(place, { email })).key
}

function configText() {
  return JSON.stringify({
    server: { metrics_port: 0 },
    bounds: { json_values: 10_000_000 },
    upstreams: WIRES.map((wire) => ({
      id: wire,
      wire,
      base_url: `http://127.0.0.1:${providerPort}/v1`,
      api_key: 'bench',
      allow_private: true,
    })),
    models: WIRES.flatMap((wire) =>
      [
        ['slow', SLOW],
        ['json', 'json'],
      ].map(([name, model]) => ({
        id: `${wire}-${name}`,
        context_tokens: 10_000_000,
        max_output_tokens: 100_000,
        price: { input: '0.01', cached_input: '0.002', output: '0.04' },
        lanes: [{ upstream: wire, model }],
      })),
    ),
    limits: { key: { requests_per_minute: 1_000_000, tokens_per_minute: 100_000_000_000, concurrent: 10_000 } },
    overload: { loop_delay: 'off' },
    telemetry: { log: { level: 'warn', format: 'json' } },
  })
}
