// Counts of one warm request: the functions and files that it runs, the memory that it allocates, its messages to the database thread
// and the rows that it changes there.
import { fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { mockConfig } from './mock-config.mjs'
import { startMillrace } from './start-millrace.mjs'

/** A function counts when each of so many requests ran it: on a slow machine timers of the background fire during some of them. */
const COVERAGE_ROUNDS = 25

const content = 'z'.repeat(900)
const chat = (model, stream) => ({
  path: '/v1/chat/completions',
  body: JSON.stringify({ model, stream, messages: [{ role: 'user', content }] }),
})
const STREAMS = [
  { name: 'a streamed chat request', ...chat('c1-d0', true) },
  {
    name: 'a streamed Responses request over chat',
    path: '/v1/responses',
    body: JSON.stringify({ model: 'c1-d0', stream: true, store: false, input: content }),
  },
]
const JSON_REQUEST = { name: 'a JSON chat request of 1 kB', ...chat('json', false) }

/** Starts a gateway, a bare proxy and a provider, and sends requests one after the other. */
export async function measureFootprint({ requests, warmUp }) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-footprint-'))
  // Not beside the configuration, whose folder the server watches.
  const probes = mkdtempSync(join(folder, 'probes-'))
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const children = []
  const start = (name, args, file) => startFork(children, name, args, file)
  try {
    const mock = await start('mock-provider.mjs', [])
    const bare = await start('bare-proxy.mjs', [String(mock.port)], join(probes, 'bare.json'))
    const file = join(probes, 'millrace.json')
    const millrace = await startMillrace(folder, mockConfig(mock.port, ['json', 'c1-d0'], { maxOutputTokens: 4096 }), {
      nodeFlags: ['--import', probe()],
      environment: { FOOTPRINT_FILE: file },
    })
    children.push(millrace.child)
    const server = { ...millrace, file, agent }
    // Allocations first: V8 does not optimize what it counts calls of, and such code allocates a sixth more.
    const json = []
    for (const target of [server, { ...bare, agent }]) {
      await repeat(target, JSON_REQUEST, warmUp)
      json.push(await countPerRequest(target, requests))
    }
    const streams = []
    for (const each of STREAMS) {
      await repeat(server, each, warmUp)
      streams.push({ name: each.name, functions: await countFunctions(server, each) })
    }
    return { streams, json: { name: JSON_REQUEST.name, millrace: json[0], bare: json[1] } }
  } finally {
    agent.destroy()
    for (const child of children) child.kill()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

export const filesOf = (functions) => new Set(functions.map(({ url }) => url)).size

/** What every round ran of the program itself, without its dependencies and Node. */
async function countFunctions(server, asked) {
  const rounds = []
  for (let round = 0; round < COVERAGE_ROUNDS; round++) {
    await nextStep(server)
    await send(server, asked)
    const { called } = await nextStep(server)
    rounds.push(called.filter(({ url }) => url.includes('/dist/') && !url.includes('/dist/packages/')))
    // The other two steps of the round measure allocations, which are counted elsewhere.
    await nextStep(server)
    await nextStep(server)
  }
  const [first, ...others] = rounds
  const keyOf = ({ url, at }) => `${url} ${at}`
  const inAll = others.map((round) => new Set(round.map(keyOf)))
  return first.filter((each) => inAll.every((round) => round.has(keyOf(each))))
}

async function countPerRequest(target, requests) {
  const before = await nextStep(target)
  await repeat(target, JSON_REQUEST, requests)
  const { allocated, messages, rows } = await nextStep(target)
  return {
    kilobytes: allocated / requests / 1024,
    messages: (messages - before.messages) / requests,
    rows: (rows - before.rows) / requests,
  }
}

/** Lets the probe in the process take its next step, and waits for its result. */
async function nextStep(target) {
  target.step = (target.step ?? 0) + 1
  process.kill(target.pid, 'SIGUSR2')
  for (;;) {
    const result = readResult(target.file)
    if (result?.step === target.step) return result
    await sleep(10)
  }
}

function readResult(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

async function repeat(target, asked, times) {
  for (let time = 0; time < times; time++) await send(target, asked)
}

function send({ agent, port, headers = {} }, { path, body }) {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      {
        ...{ agent, port, path, host: '127.0.0.1', method: 'POST' },
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers },
      },
      (answer) => {
        answer.resume()
        answer.on('end', () =>
          answer.statusCode === 200 ? resolve() : reject(new Error(`the server answered ${answer.statusCode}`)),
        )
        answer.on('error', reject)
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

function probe() {
  return new URL('footprint-probe.mjs', import.meta.url).href
}

/** A process of the bench; with a file it carries the probe. */
function startFork(children, name, args, file) {
  const child = fork(fileURLToPath(new URL(name, import.meta.url)), args, {
    ...(file === undefined ? {} : { execArgv: ['--import', probe()], env: { ...process.env, FOOTPRINT_FILE: file } }),
  })
  children.push(child)
  return new Promise((resolve) => child.once('message', ({ port }) => resolve({ port, pid: child.pid, file })))
}
