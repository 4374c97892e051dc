// How much code one warm request runs, and how much memory it allocates: counts, which do not depend on the machine's load. Functions
// and files come from V8's precise coverage of the main thread, and only those count that every one of several requests ran, so
// that timers in the background do not. Allocations are sampled over many requests, beside a bare node:http + undici proxy.
//
//   npm run bench -- footprint [--requests 2000] [--warm-up 3000] [--list]
import { fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { describeMachine } from './lib/measure.mjs'
import { mockConfig } from './lib/mock-config.mjs'
import { startMillrace } from './lib/start-millrace.mjs'

const { values: options } = parseArgs({
  options: {
    requests: { type: 'string', default: '2000' },
    'warm-up': { type: 'string', default: '3000' },
    list: { type: 'boolean', default: false },
  },
})
const REQUESTS = Number(options.requests)
const WARM_UP = Number(options['warm-up'])
/** A function counts when each of so many requests ran it. */
const COVERAGE_ROUNDS = 5

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

const folder = mkdtempSync(join(tmpdir(), 'millrace-footprint-'))
// Not beside the configuration, whose folder the server watches.
const probes = mkdtempSync(join(folder, 'probes-'))
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const children = []
try {
  console.log(`# footprint: ${describeMachine()}\n`)
  const mock = await startFork('mock-provider.mjs', [])
  const bare = await startFork('bare-proxy.mjs', [String(mock.port)], join(probes, 'bare.json'))
  const file = join(probes, 'millrace.json')
  const millrace = await startMillrace(folder, mockConfig(mock.port, ['json', 'c1-d0'], { maxOutputTokens: 4096 }), {
    nodeFlags: ['--import', probe()],
    environment: { FOOTPRINT_FILE: file },
  })
  children.push(millrace.child)
  const server = { ...millrace, file, step: 0 }

  console.log('| one warm request | functions | files |')
  console.log('|---|---|---|')
  for (const each of STREAMS) {
    await repeat(server, each, WARM_UP)
    const functions = await countFunctions(server, each)
    const files = new Set(functions.map(({ url }) => url))
    console.log(`| ${each.name} | ${functions.length} | ${files.size} |`)
    if (options.list) list(functions)
  }

  console.log('\n| one warm request | millrace kB | bare proxy kB |')
  console.log('|---|---|---|')
  const kilobytes = []
  for (const target of [server, bare]) {
    await repeat(target, JSON_REQUEST, WARM_UP)
    kilobytes.push(await countKilobytes(target))
  }
  console.log(`| ${JSON_REQUEST.name} | ${kilobytes.map((each) => each.toFixed(1)).join(' | ')} |`)
} finally {
  agent.destroy()
  for (const child of children) child.kill()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** What every round ran of the program itself, without its dependencies and Node. */
async function countFunctions(server, asked) {
  const rounds = []
  for (let round = 0; round < COVERAGE_ROUNDS; round++) {
    await nextStep(server)
    await send(server, asked)
    const { called } = await nextStep(server)
    rounds.push(called.filter(({ url }) => url.includes('/dist/')))
    // The other two steps of the round measure allocations, which are counted elsewhere.
    await nextStep(server)
    await nextStep(server)
  }
  const [first, ...others] = rounds
  const keyOf = ({ url, at }) => `${url} ${at}`
  const inAll = others.map((round) => new Set(round.map(keyOf)))
  return first.filter((each) => inAll.every((round) => round.has(keyOf(each))))
}

async function countKilobytes(target) {
  await nextStep(target)
  await nextStep(target)
  await nextStep(target)
  await repeat(target, JSON_REQUEST, REQUESTS)
  const { allocated } = await nextStep(target)
  return allocated / REQUESTS / 1024
}

function list(functions) {
  for (const [url, called] of [...groupByUrl(functions)].sort())
    console.log(
      `  ${url.slice(url.indexOf('/dist/') + 6)}: ${called.map(({ name }) => name || '(anonymous)').join(', ')}`,
    )
}

function groupByUrl(functions) {
  const groups = new Map()
  for (const each of functions) groups.set(each.url, [...(groups.get(each.url) ?? []), each])
  return groups
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

function send({ port, headers = {} }, { path, body }) {
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
  return new URL('lib/footprint-probe.mjs', import.meta.url).href
}

/** A process of the bench; with a file it carries the probe. */
function startFork(name, args, file) {
  const child = fork(fileURLToPath(new URL(`lib/${name}`, import.meta.url)), args, {
    ...(file === undefined ? {} : { execArgv: ['--import', probe()], env: { ...process.env, FOOTPRINT_FILE: file } }),
  })
  children.push(child)
  return new Promise((resolve) => child.once('message', ({ port }) => resolve({ port, pid: child.pid, file })))
}
