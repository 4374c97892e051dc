// What the whole gateway costs: CPU per request and per chunk of Millrace with everything on (keys, limits, money on real
// SQLite, logs, metrics), beside a bare node:http + undici proxy in the same run, in rotation. The compiler of V8 goes on
// improving long after the first thousand requests, so each target is first given `warmUp` of them: the figures are those
// of a server that has been busy for half a minute.
//
//   npm run bench -- http [--rounds 3] [--scale 1] [--postgres]
//
// With --postgres also one node on a PostgreSQL with fsync, whose own processor time is not counted.
import { fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { findPostgresPrograms, startPostgres } from '../test/program/postgres.mjs'
import { load } from './lib/load.mjs'
import { cpuMicros, describeMachine, median } from './lib/measure.mjs'
import { mockConfig } from './lib/mock-config.mjs'
import { startMillrace } from './lib/start-millrace.mjs'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    scale: { type: 'string', default: '1' },
    postgres: { type: 'boolean', default: false },
  },
})
const ROUNDS = Number(options.rounds)
const SCALE = Number(options.scale)
const MODELS = ['json', 'c1-d0', 'c200-d0', 'c200-d5']

const bodyOf = (model, bytes) =>
  Buffer.from(
    JSON.stringify({ model, stream: model !== 'json', messages: [{ role: 'user', content: 'z'.repeat(bytes) }] }),
  )

const SCENARIOS = [
  { name: 'JSON 1 kB', body: bodyOf('json', 900), concurrent: 32, warmUp: 30_000, requests: 8000, chunks: 1 },
  { name: 'JSON 32 kB', body: bodyOf('json', 32_000), concurrent: 32, warmUp: 4000, requests: 4000, chunks: 1 },
  {
    name: '300 requests/s, 1 kB',
    body: bodyOf('json', 900),
    concurrent: 64,
    rate: 300,
    warmUp: 1200,
    requests: 2400,
    chunks: 1,
  },
  {
    name: 'stream set-up (one chunk)',
    body: bodyOf('c1-d0', 900),
    concurrent: 32,
    warmUp: 15_000,
    requests: 6000,
    chunks: 1,
  },
  {
    name: 'chunk in bulk (200 at once)',
    body: bodyOf('c200-d0', 900),
    concurrent: 16,
    warmUp: 1000,
    requests: 600,
    chunks: 200,
  },
  {
    name: 'chunk alone (one each 5 ms)',
    body: bodyOf('c200-d5', 900),
    concurrent: 25,
    warmUp: 75,
    requests: 75,
    chunks: 200,
  },
]

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
const children = []
let postgres
try {
  const mock = await start(fork(lib('mock-provider.mjs')))
  const bare = await start(fork(lib('bare-proxy.mjs'), [String(mock.port)]))
  const millrace = await startMillrace(folder, mockConfig(mock.port, MODELS, { maxOutputTokens: 4096 }))
  children.push(millrace.child)
  const targets = [
    { name: 'bare', ...bare, headers: {} },
    { name: 'millrace', ...millrace },
  ]
  if (options.postgres) targets.push({ name: 'postgres', ...(await startOnPostgres(mock.port)) })
  console.log(`# http: ${describeMachine()}`)
  console.log(
    `${ROUNDS} rounds in rotation, scale ${SCALE}, each target warmed up by ${SCENARIOS.map(({ warmUp }) => Math.round(warmUp * SCALE)).join(' / ')} requests; CPU of the server process, median; us per request, or per chunk in the last two\n`,
  )
  const more = options.postgres ? [' on PostgreSQL us | over SQLite |', '---|---|'] : ['', '']
  console.log(`| scenario | bare us | millrace us | ratio | first byte p50 ms, bare / millrace | failures |${more[0]}`)
  console.log(`|---|---|---|---|---|---|${more[1]}`)
  for (const scenario of SCENARIOS) console.log(await compare(targets, scenario))
} finally {
  for (const child of children) child.kill()
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

async function compare(targets, scenario) {
  const runs = new Map(targets.map((target) => [target.name, []]))
  for (const target of targets) await run(target, scenario, scenario.warmUp)
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? targets : [...targets].reverse()
    for (const target of order) runs.get(target.name).push(await run(target, scenario, scenario.requests))
  }
  const of = (name, what) => median(runs.get(name).map((result) => result[what]))
  const failures = [...runs.values()].flat().reduce((sum, result) => sum + result.failures, 0)
  const [bare, millrace] = [of('bare', 'cpu'), of('millrace', 'cpu')]
  const waits = `${of('bare', 'p50').toFixed(2)} / ${of('millrace', 'p50').toFixed(2)}`
  const row = `| ${scenario.name} | ${bare.toFixed(2)} | ${millrace.toFixed(2)} | ${(millrace / bare).toFixed(2)} | ${waits} | ${failures} |`
  if (!runs.has('postgres')) return row
  const node = of('postgres', 'cpu')
  return `${row} ${node.toFixed(2)} | ${(node / millrace).toFixed(2)} |`
}

async function startOnPostgres(upstreamPort) {
  postgres = await startPostgres(findPostgresPrograms(), { fsync: true })
  const admin = new pg.Client({ host: postgres.host, user: postgres.user, database: 'postgres' })
  await admin.connect()
  await admin.query('CREATE DATABASE bench')
  await admin.end()
  const url = `postgres://${postgres.user}@localhost/bench?host=${postgres.host}`
  const config = `${mockConfig(upstreamPort, MODELS, { maxOutputTokens: 4096 })}storage: { database: "${url}" }\n`
  const place = join(folder, 'node')
  mkdirSync(place)
  const node = await startMillrace(place, config, {
    environment: { MILLRACE_SECRET_KEY: 'the-secret-of-the-node-of-this-bench' },
  })
  children.push(node.child)
  return node
}

async function run(target, { body, concurrent, chunks, rate }, requests) {
  const count = Math.max(concurrent, Math.round(requests * SCALE))
  const before = cpuMicros(target.pid)
  const result = await load({ port: target.port, headers: target.headers, body, concurrent, rate, requests: count })
  return { ...result, cpu: (cpuMicros(target.pid) - before) / (count * chunks) }
}

function lib(name) {
  return fileURLToPath(new URL(`./lib/${name}`, import.meta.url))
}

function start(child) {
  children.push(child)
  return new Promise((resolve) => child.once('message', ({ port }) => resolve({ pid: child.pid, port })))
}
