// How long one large body holds the server's main loop at a time, and with it everybody else: over both protocols and four
// wires, in one string, in many messages and in very many small ones, of text that is not ASCII.
//
//   npm run bench -- large-bodies [--mb 30] [--rounds 3] [--store] [--only chat:gemini:one,...]
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

const { values: given } = parseArgs({
  options: {
    mb: { type: 'string', default: '30' },
    rounds: { type: 'string', default: '3' },
    store: { type: 'boolean', default: false },
    only: { type: 'string' },
    dist: { type: 'string' },
  },
})
const bytes = Number(given.mb) * 1024 * 1024
const WIRES = ['chat', 'responses', 'anthropic', 'gemini']
const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses' }
/** How many messages the text is in. A body may hold 200,000 values. */
const KINDS = { one: 1, many: 300, 'very many': 30_000 }
const TEXTS = { cyrillic: 'слово ', mixed: 'a word, then one more: né, ещё. ' }
const lib = (name) => fileURLToPath(new URL(`lib/${name}`, import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'millrace-large-'))
const probeFile = join(folder, 'loop.json')
const provider = fork(lib('mock-languages.mjs'))
const [{ port: providerPort }] = await once(provider, 'message')
const place = placeIn(folder, {
  environment: { LOOP_PROBE_FILE: probeFile },
  ...(given.dist ? { dist: given.dist } : {}),
})
writeFileSync(place.config, configText())
await createAccount(place, { email: 'large@localhost', credit: '1000000' })
const { key } = await createKey(place, { email: 'large@localhost' })
const server = startServer(place, {
  nodeFlags: ['--import', lib('loop-probe.mjs')],
  logPath: join(folder, 'log'),
})
const port = Number(new URL(await server.ready).port)
const agent = new Agent({ keepAlive: true })
let asked = 0
let failed = false

try {
  console.log(`# large bodies: ${describeMachine()}`)
  console.log(`${given.mb} MB each${given.store ? ', stored' : ''}\n`)
  console.log('| client | lane | text | messages | answered | main loop held at a time, ms (median of rounds) | most |')
  console.log('|---|---|---|---|---|---|---|')
  for (const protocol of ['chat', 'responses'])
    for (const wire of WIRES)
      for (const text of Object.keys(TEXTS))
        for (const kind of Object.keys(KINDS)) await measure(protocol, wire, text, kind)
} finally {
  server.kill('SIGKILL')
  provider.kill()
  await server.ended
  console.log(
    readFileSync(join(folder, 'log'), 'utf8')
      .split('\n')
      .filter((l) => /ms: (Scav|Mark)/.test(l))
      .join('\n'),
  )
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
process.exitCode = failed ? 1 : 0

async function measure(protocol, wire, text, kind) {
  const name = `${protocol}:${wire}:${text}:${kind}`
  if (given.only !== undefined && !given.only.split(',').some((wanted) => name.includes(wanted))) return
  const body = bodyOf(protocol, wire, TEXTS[text], KINDS[kind])
  const held = []
  let status
  for (let round = 0; round < Number(given.rounds); round++) {
    await longestTurn()
    status = await sendTurn(protocol, body)
    if (status !== 200) failed = true
    await sleep(200)
    held.push(await longestTurn())
  }
  held.sort((one, other) => one - other)
  const median = held[Math.floor(held.length / 2)].toFixed(0)
  console.log(
    `| ${protocol} | ${wire} | ${text} | ${KINDS[kind]} | ${status} | ${median} | ${held.at(-1).toFixed(0)} |`,
  )
}

function bodyOf(protocol, wire, word, messages) {
  const each = word.repeat(Math.floor((bytes - 70 * messages) / messages / Buffer.byteLength(word)))
  const list = Array.from({ length: messages }, (_, at) => ({ role: at % 2 ? 'assistant' : 'user', content: each }))
  if (messages > 1) list.push({ role: 'user', content: 'x' })
  const sendTurn = protocol === 'chat' ? { messages: list } : { input: list, store: given.store }
  return Buffer.from(JSON.stringify({ model: wire, stream: true, ...sendTurn }))
}

function sendTurn(protocol, body) {
  return new Promise((resolve) => {
    const sent = request({
      port,
      host: '127.0.0.1',
      method: 'POST',
      path: PATHS[protocol],
      agent,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': body.length },
    })
    sent.on('error', (error) => resolve(error.code))
    sent.on('response', (answer) => {
      if (answer.statusCode !== 200) answer.once('data', (part) => console.error(String(part)))
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode))
    })
    sent.end(body)
  })
}

async function longestTurn() {
  asked += 1
  server.kill('SIGUSR2')
  for (;;) {
    await sleep(20)
    try {
      const told = JSON.parse(readFileSync(probeFile, 'utf8'))
      if (told.asked >= asked) return told.longest
    } catch {
      // Nothing was told yet.
    }
    if (server.isOver) throw new Error(`the server is gone: ${server.output().slice(-2000)}`)
  }
}

function configText() {
  return JSON.stringify({
    server: { metrics_port: 0 },
    upstreams: WIRES.map((wire) => ({
      id: wire,
      wire,
      base_url: `http://127.0.0.1:${providerPort}/v1`,
      api_key: 'bench',
      allow_private: true,
    })),
    models: WIRES.map((wire) => ({
      id: wire,
      context_tokens: 100_000_000,
      max_output_tokens: 10_000,
      price: { input: '0.01', cached_input: '0.002', output: '0.04' },
      lanes: [{ upstream: wire, model: 'c20-d0' }],
    })),
    limits: { key: { requests_per_minute: 1_000_000, tokens_per_minute: 100_000_000_000, concurrent: 10_000 } },
    overload: { loop_delay: 'off' },
    telemetry: { log: { level: 'warn', format: 'json' } },
  })
}
