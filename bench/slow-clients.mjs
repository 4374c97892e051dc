// Clients that are slow on purpose. What 500 that stop reading cost in memory; and what 1,000 idle connections and 200 that
// send a byte a second take from the rate of honest requests, in windows with and without them by turns.
//
//   npm run bench -- slow-clients [--stopped 500] [--idle 1000] [--dripping 200] [--rounds 3] [--seconds 12]
//                                [--road N]   of the clients that stop reading, only on one of the four roads
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { requestBytes, withPinnedServer } from './lib/edge-bench.mjs'
import { sendTurn } from './lib/load.mjs'
import { cpuMicros, median } from './lib/measure.mjs'
import { memoryMb } from './lib/memory.mjs'
import { readMetric } from './lib/read-metric.mjs'
import { drip, idle, openSockets, stopReading } from './lib/slow-sockets.mjs'

const names = { stopped: '500', idle: '1000', dripping: '200', rounds: '3', seconds: '12', route: '-1' }
const { values } = parseArgs({
  options: Object.fromEntries(Object.entries(names).map(([name, value]) => [name, { type: 'string', default: value }])),
})
const options = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]))

const GROWTH_MB_MAX = 300
const SHARE_MIN = 0.9
/** 9 MB, of which the kernel takes 2.5 to 4 before a client that reads nothing is felt. */
const ENDLESS = 'c30000-d0'
const HONEST = ['c20-d0', 'json']
const CONCURRENT = 16
const WARM_UP_SECONDS = 8
const SAMPLE_MS = 500
/** Connections to the provider are kept for the next request, and sockets need a moment to close. */
const KEPT_ALIVE_MAX = 20
const CLOSED_WITHIN_MS = 15_000
/** A client that takes nothing is given up after a minute; the last may have begun late. */
const STANDING_MS_MAX = 420_000

const honest = [
  requestBytes('chat', 'chat-c20-d0'),
  requestBytes('chat', 'chat-json', { stream: false }),
  requestBytes('responses', 'responses-c20-d0'),
  requestBytes('chat', 'anthropic-c20-d0'),
  requestBytes('responses', 'anthropic-c20-d0'),
]
const endless = [
  requestBytes('chat', `chat-${ENDLESS}`),
  requestBytes('responses', `responses-${ENDLESS}`),
  requestBytes('chat', `anthropic-${ENDLESS}`),
  requestBytes('responses', `anthropic-${ENDLESS}`),
]

await withPinnedServer({ name: 'slow clients', answers: [...HONEST, ENDLESS] }, async (server) => {
  await honestRate(server, WARM_UP_SECONDS)
  if (options.rounds > 0) await compareRates(server)
  await stopAndMeasure(server)
})

async function compareRates(server) {
  const without = [await honestRate(server, options.seconds)]
  const beside = []
  let thrownOut = 0
  for (let round = 0; round < options.rounds; round++) {
    const slow = await standBy(server)
    beside.push(await honestRate(server, options.seconds))
    thrownOut += leave(slow)
    await sleep(1000)
    without.push(await honestRate(server, options.seconds))
  }
  const ratios = (of) => beside.map((window, at) => of(window) / ((of(without[at]) + of(without[at + 1])) / 2))
  const [rates, perCpu] = [ratios(({ rate }) => rate), ratios(({ perCpuSecond }) => perCpuSecond)]
  const share = median(rates)
  console.log(
    `honest requests/s, ${CONCURRENT} at a time, ${options.seconds} s a window: without ${shown(without)}, with ${shown(beside)}`,
  )
  console.log(
    `beside ${options.idle} idle connections and ${options.dripping} slow senders (${thrownOut} thrown out, all came again): ${share.toFixed(3)} of the rate (rounds ${twoPlaces(rates)}), ${median(perCpu).toFixed(3)} of the requests per CPU second of the server (rounds ${twoPlaces(perCpu)})`,
  )
  // What slow clients cost is so much a second. A server that neighbours leave a quarter of a core pays it out of that quarter.
  const ofCore = median([...without, ...beside].map((window) => window.ofCore))
  console.log(
    `the server had ${ofCore.toFixed(2)} of its core: with less than 0.9 other work took the rest, and the share is too low`,
  )
  judge(share >= SHARE_MIN, `at least ${SHARE_MIN} of the rate`)
}

async function standBy({ port, headers }) {
  const slow = [
    openSockets({ port, count: options.idle, play: idle() }),
    openSockets({ port, count: options.dripping, play: drip(honest[0], headers) }),
  ]
  await sleep(1000)
  return slow
}

function leave(slow) {
  for (const sockets of slow) sockets.close()
  return slow.reduce((sum, { thrownOut }) => sum + thrownOut, 0)
}

function twoPlaces(ratios) {
  return ratios.map((ratio) => ratio.toFixed(2)).join(', ')
}

function shown(windows) {
  return windows.map(({ rate }) => Math.round(rate)).join(', ')
}

/** Whole answers a second, and per second that the server computed, in a closed loop. An answer that is not whole ends the run. */
async function honestRate({ port, headers, pid }, seconds) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENT })
  const until = performance.now() + seconds * 1000
  let whole = 0
  const client = async (number) => {
    for (let turn = number; performance.now() < until; turn++) {
      const answer = await sendTurn({ agent, port, headers, ...honest[turn % honest.length] })
      if (answer.status !== 200 || !answer.whole) throw new Error(`an honest request got ${answer.status}`)
      whole += 1
    }
  }
  const began = performance.now()
  const cpuBefore = cpuMicros(pid)
  await Promise.all(Array.from({ length: CONCURRENT }, (_, number) => client(number)))
  agent.destroy()
  const cpuSeconds = (cpuMicros(pid) - cpuBefore) / 1e6
  const passed = (performance.now() - began) / 1000
  return { rate: whole / passed, perCpuSecond: whole / cpuSeconds, ofCore: cpuSeconds / passed }
}

async function stopAndMeasure(server) {
  const read = (name) => readMetric(server.metricsPort, name)
  const before = { mb: memoryMb(server.pid), files: await read('process_open_fds') }
  const began = performance.now()
  const play = stopReading(options.route < 0 ? endless : [endless[options.route]], server.headers)
  const stopped = openSockets({ port: server.port, count: options.stopped, play, returns: false })
  const now = { mb: before.mb, open: 0 }
  const most = { mb: before.mb, open: 0 }
  do {
    await sleep(SAMPLE_MS)
    now.mb = memoryMb(server.pid)
    now.open = await read('millrace_holds_open')
    most.mb = Math.max(most.mb, now.mb)
    most.open = Math.max(most.open, now.open)
    // A socket that is not read does not learn of its end: the server's own count says who is still there.
  } while ((most.open === 0 || now.open > 0) && performance.now() - began < STANDING_MS_MAX)
  const seconds = Math.round((performance.now() - began) / 1000)
  const areClosed = await waitFor(async () => (await read('process_open_fds')) - before.files < KEPT_ALIVE_MAX)
  stopped.close()
  const grown = most.mb - before.mb
  console.log(
    `\nPss ${before.mb.toFixed(1)} MB before, at most ${most.mb.toFixed(1)} with ${options.stopped} clients that read nothing (${most.open} at once); after ${seconds} s ${now.open} were left, and ${memoryMb(server.pid).toFixed(1)} MB`,
  )
  judge(grown < GROWTH_MB_MAX, `it grew by ${grown.toFixed(1)} MB (less than ${GROWTH_MB_MAX})`)
  judge(now.open === 0 && areClosed, 'none of them is kept for ever')
}

async function waitFor(holds) {
  const until = performance.now() + CLOSED_WITHIN_MS
  while (performance.now() < until) {
    if (await holds()) return true
    await sleep(SAMPLE_MS)
  }
  return false
}

function judge(holds, says) {
  console.log(`${holds ? 'pass' : 'FAIL'}  ${says}`)
  if (!holds) process.exitCode = 1
}
