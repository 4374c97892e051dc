// What users feel of streams, beside a bare node:http + undici proxy and the provider itself in one run. The server is on one core,
// provider and clients on another. Delays are what a target adds: its own less those of the provider alone.
//
//   npm run bench -- streams [--only delay,bulk,memory,tls,stall] [--seconds 6] [--scale 1] [--young 64]
//
// `delay` looks for the most streams (a chunk each 20 ms) whose chunks are delayed by less than 10 ms at p99. `memory` holds 1,000
// streams, then 5,000. `tls` is the time to the first chunk with a provider behind TLS. `stall` sends a body of 1 MB four times a
// second beside 25 streams. A smaller scale divides the counts: it shows that it runs. `--young` is the young
// generation of the server's heap in MB.
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { load } from './lib/load.mjs'
import { cpuMicros, describeMachine } from './lib/measure.mjs'
import { memoryMb } from './lib/memory.mjs'
import { mockConfig } from './lib/mock-config.mjs'
import { pin } from './lib/pin.mjs'
import { startMillrace } from './lib/start-millrace.mjs'
import { holdStreams, timeFirstChunks } from './lib/stream-clients.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'delay,bulk,memory,tls,stall' },
    seconds: { type: 'string', default: '6' },
    scale: { type: 'string', default: '1' },
    young: { type: 'string', default: '64' },
  },
})
const SECONDS = Number(values.seconds)
const SCALE = Number(values.scale)

const AT_20_MS = 'c100000-d20'
const AT_5_MS = 'c100000-d5'
const AT_100_MS = 'c100000-d100'
const AT_500_MS = 'c100000-d500'
const ONE = 'c1-d1'
const BULK = 'c200-d0'
const DELAY_MAX_MS = 10
const COUNTS = [50, 100, 200, 300, 400, 500, 600, 700, 800, 1000]
const SAMPLED = 25

const scaled = (count) => Math.max(2, Math.round(count * SCALE))
const file = (name) => fileURLToPath(new URL(`./lib/${name}`, import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
const children = []
try {
  console.log(`# streams: ${describeMachine()}`)
  const provider = await startFork('stamped-provider.mjs')
  const bulk = await startFork('mock-provider.mjs')
  const bare = await startFork('bare-proxy.mjs', [String(provider.port)])
  const bareBulk = await startFork('bare-proxy.mjs', [String(bulk.port)])
  const millrace = await startGateway('plain', provider.port)
  const millraceBulk = await startGateway('bulk', bulk.port)
  const direct = { name: 'provider', port: provider.port }
  const targets = [
    { name: 'bare', ...bare },
    { name: 'millrace', ...millrace },
  ]
  const others = [process.pid, provider.pid, bulk.pid]
  const pinned = [bare, bareBulk, millrace, millraceBulk].map(({ pid }) => pin({ server: pid, others }))
  console.log(pinned[0])
  const parts = {
    delay: () => findMostStreams(direct, targets),
    bulk: () =>
      priceBulk([
        { name: 'bare', ...bareBulk },
        { name: 'millrace', ...millraceBulk },
      ]),
    memory: () => weighStreams(targets),
    tls: () => timeTls(others),
    stall: () => stallStreams(direct, targets),
  }
  for (const part of values.only.split(',')) await parts[part]()
} finally {
  for (const child of children) child.kill()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

async function startFork(name, args = [], environment = {}) {
  const child = fork(file(name), args, { env: { ...process.env, ...environment } })
  children.push(child)
  const [{ port }] = await once(child, 'message')
  return { port, pid: child.pid }
}

async function startGateway(name, port, { origin = `http://127.0.0.1:${port}`, environment } = {}) {
  const place = join(folder, name)
  mkdirSync(place)
  const models = [AT_5_MS, AT_20_MS, AT_100_MS, AT_500_MS, ONE, BULK, 'json']
  const config = mockConfig(port, models, { maxOutputTokens: 100_000 }).replace(`http://127.0.0.1:${port}`, origin)
  const nodeFlags = [`--max-semi-space-size=${values.young}`]
  const millrace = await startMillrace(place, config, { environment, nodeFlags })
  children.push(millrace.child)
  return { port: millrace.port, pid: millrace.pid, headers: millrace.headers }
}

function cpuOf(pid) {
  return {
    atStart: () => cpuMicros(pid),
    atEnd: (before, seconds) => ({ core: (cpuMicros(pid) - before) / 1e6 / seconds }),
  }
}

async function findMostStreams(direct, targets) {
  console.log(
    `\n## streams on one core, a chunk each 20 ms, by p99 of what is added to a chunk (less than ${DELAY_MAX_MS} ms)\n`,
  )
  console.log('| streams | target | chunks/s | added p50 ms | added p99 ms | of its core | CPU us a chunk | failures |')
  console.log('|---|---|---|---|---|---|---|---|')
  const most = new Map()
  const out = new Set()
  for (const count of COUNTS.map(scaled)) {
    const run = (target) =>
      holdStreams({
        ...{ target, model: AT_20_MS, count, seconds: SECONDS, sampleEvery: Math.max(1, Math.floor(count / SAMPLED)) },
        ...(target.pid === undefined ? {} : cpuOf(target.pid)),
      })
    await run(targets[0])
    const base = await run(direct)
    for (const target of targets.filter(({ name }) => !out.has(name))) {
      const { p50, p99, chunksASecond, core, failures } = await run(target)
      const added = { p50: p50 - base.p50, p99: p99 - base.p99 }
      console.log(
        `| ${count} | ${target.name} | ${chunksASecond.toFixed(0)} | ${added.p50.toFixed(2)} | ${added.p99.toFixed(2)} | ${core.toFixed(2)} | ${((core * 1e6) / chunksASecond).toFixed(1)} | ${failures} |`,
      )
      if (added.p99 < DELAY_MAX_MS && failures === 0) most.set(target.name, { count, cpu: core / chunksASecond })
      else out.add(target.name)
      await sleep(1000)
    }
    if (out.size === targets.length) break
  }
  for (const [name, { count, cpu }] of most) {
    console.log(
      `\n${name}: ${count} streams; ${(cpu * 1e6).toFixed(0)} CPU seconds a million tokens that come one by one`,
    )
  }
}

async function priceBulk(targets) {
  console.log('\n## a stream of 200 chunks at once, 16 at a time\n')
  const body = Buffer.from(
    JSON.stringify({ model: BULK, stream: true, messages: [{ role: 'user', content: 'z'.repeat(900) }] }),
  )
  for (const { name, port, pid, headers = {} } of targets) {
    const run = (requests) => load({ port, headers, body, concurrent: 16, requests })
    await run(scaled(4000))
    const before = cpuMicros(pid)
    const requests = scaled(3000)
    const { failures } = await run(requests)
    const cpu = (cpuMicros(pid) - before) / requests
    console.log(
      `${name}: ${cpu.toFixed(0)} us a stream, ${(cpu / 200).toFixed(2)} CPU seconds a million tokens in bulk, ${failures} failures`,
    )
  }
}

async function weighStreams(targets) {
  console.log('\n## memory of an open stream\n')
  for (const [count, model] of [
    [1000, AT_100_MS],
    [5000, AT_500_MS],
  ]) {
    for (const target of targets) {
      const idle = memoryMb(target.pid)
      const { failures, mb, p50, p99 } = await holdStreams({
        ...{
          target,
          model,
          count: scaled(count),
          seconds: 2.5 * SECONDS,
          sampleEvery: Math.max(1, Math.floor(scaled(count) / SAMPLED)),
        },
        atEnd: () => ({ mb: memoryMb(target.pid) }),
      })
      const kb = ((mb - idle) * 1000) / scaled(count)
      console.log(
        `${target.name}, ${scaled(count)} streams: ${kb.toFixed(1)} kB a stream (Pss ${idle.toFixed(0)} MB, then ${mb.toFixed(0)}); chunks p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms; ${failures} failures`,
      )
      await sleep(3000)
    }
  }
}

async function timeTls(others) {
  console.log('\n## time to the first chunk, provider behind TLS, 25 streams at a time\n')
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  try {
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-keyout', keyFile]
    execFileSync('openssl', ['req', '-x509', '-nodes', '-days', '2', ...key, '-out', certFile, ...subject], {
      stdio: 'ignore',
    })
  } catch {
    console.log('not measured: no openssl here')
    return
  }
  const environment = { NODE_EXTRA_CA_CERTS: certFile }
  const provider = await startFork('stamped-provider.mjs', [keyFile, certFile])
  const origin = `https://localhost:${provider.port}`
  const bare = await startFork('bare-proxy.mjs', [origin], environment)
  const millrace = await startGateway('tls', provider.port, { origin, environment })
  for (const { pid } of [bare, millrace]) pin({ server: pid, others: [...others, provider.pid] })
  const ca = readFileSync(certFile)
  const targets = [
    { name: 'provider', port: provider.port, ca },
    { name: 'bare', ...bare },
    { name: 'millrace', ...millrace },
  ]
  const waits = new Map()
  for (const streams of [scaled(1500), scaled(3000)]) {
    for (const target of targets)
      waits.set(target.name, await timeFirstChunks({ target, model: ONE, count: Math.min(25, scaled(25)), streams }))
  }
  const base = waits.get('provider')
  for (const { name } of targets.slice(1)) {
    const { p50, p99 } = waits.get(name)
    console.log(`${name}: added p50 ${(p50 - base.p50).toFixed(2)} ms, p99 ${(p99 - base.p99).toFixed(2)} ms`)
  }
}

async function stallStreams(direct, targets) {
  console.log('\n## 25 streams, a chunk each 5 ms, and a body of 1 MB four times a second beside them\n')
  const count = Math.min(25, scaled(25))
  const run = (target) => holdStreams({ target, model: AT_5_MS, count, seconds: SECONDS })
  await run(targets[0])
  const base = await run(direct)
  for (const target of targets) {
    const quiet = await run(target)
    const body = Buffer.from(
      JSON.stringify({
        model: ONE,
        stream: true,
        messages: Array.from({ length: 500 }, () => ({ role: 'user', content: 'word "and" more\n'.repeat(110) })),
      }),
    )
    const bodies = load({ ...target, body, concurrent: 4, rate: 4, requests: 4 * (SECONDS + 3) })
    const beside = await run(target)
    const { failures } = await bodies
    console.log(
      `${target.name}: chunks added p50 ${(quiet.p50 - base.p50).toFixed(2)} ms, p99 ${(quiet.p99 - base.p99).toFixed(2)} ms; beside bodies of ${(body.length / 1e6).toFixed(2)} MB p50 ${(beside.p50 - base.p50).toFixed(2)} ms, p99 ${(beside.p99 - base.p99).toFixed(2)} ms (${failures} failures)`,
    )
  }
}
