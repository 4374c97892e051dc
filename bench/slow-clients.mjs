// Clients that are slow on purpose. What 500 that stop reading cost in memory; and what 1,000 idle connections and 200 that
// send a byte a second take from the rate of honest requests, in windows with and without them by turns.
//
//   npm run bench -- slow-clients [--stopped 500] [--idle 1000] [--dripping 200] [--rounds 3] [--seconds 12]
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { askFor, withPinnedServer } from './lib/edge-bench.mjs'
import { ask } from './lib/load.mjs'
import { cpuMicros, median } from './lib/measure.mjs'
import { memoryMb } from './lib/memory.mjs'
import { readMetric } from './lib/read-metric.mjs'
import { drip, idle, openSockets, stopReading } from './lib/slow-sockets.mjs'

const names = { stopped: '500', idle: '1000', dripping: '200', rounds: '3', seconds: '12' }
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
/** A client that takes nothing is given up after a minute; the last may have begun late. */
const STANDING_MS_MAX = 420_000

const honest = [
  askFor('chat', 'chat-c20-d0'),
  askFor('chat', 'chat-json', { stream: false }),
  askFor('responses', 'responses-c20-d0'),
  askFor('chat', 'anthropic-c20-d0'),
  askFor('responses', 'anthropic-c20-d0'),
]
const endless = [
  askFor('chat', `chat-${ENDLESS}`),
  askFor('responses', `responses-${ENDLESS}`),
  askFor('chat', `anthropic-${ENDLESS}`),
  askFor('responses', `anthropic-${ENDLESS}`),
]

await withPinnedServer({ name: 'slow clients', answers: [...HONEST, ENDLESS] }, async (server) => {
  await honestRate(server, WARM_UP_SECONDS)
  await compareRates(server)
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
      const answer = await ask({ agent, port, headers, ...honest[turn % honest.length] })
      if (answer.status !== 200 || !answer.whole) throw new Error(`an honest request got ${answer.status}`)
      whole += 1
    }
  }
  const began = performance.now()
  const cpuBefore = cpuMicros(pid)
  await Promise.all(Array.from({ length: CONCURRENT }, (_, number) => client(number)))
  agent.destroy()
  const cpuSeconds = (cpuMicros(pid) - cpuBefore) / 1e6
  return { rate: whole / ((performance.now() - began) / 1000), perCpuSecond: whole / cpuSeconds }
}

async function stopAndMeasure(server) {
  const before = memoryMb(server.pid)
  const began = performance.now()
  const play = stopReading(endless, server.headers)
  const stopped = openSockets({ port: server.port, count: options.stopped, play, returns: false })
  let [most, mostAtOnce] = [before, 0]
  while (stopped.size > 0 && performance.now() - began < STANDING_MS_MAX) {
    most = Math.max(most, memoryMb(server.pid))
    mostAtOnce = Math.max(mostAtOnce, await readMetric(server.metricsPort, 'millrace_holds_open'))
    await sleep(SAMPLE_MS)
  }
  const seconds = Math.round((performance.now() - began) / 1000)
  console.log(
    `\nPss ${before.toFixed(1)} MB before, at most ${most.toFixed(1)} with ${options.stopped} clients that read nothing (${mostAtOnce} open at once), ${memoryMb(server.pid).toFixed(1)} when ${stopped.thrownOut} had been given up after ${seconds} s`,
  )
  judge(most - before < GROWTH_MB_MAX, `it grew by ${(most - before).toFixed(1)} MB (less than ${GROWTH_MB_MAX})`)
  judge(stopped.thrownOut === options.stopped, 'none of them is kept for ever')
  stopped.close()
}

function judge(holds, says) {
  console.log(`${holds ? 'pass' : 'FAIL'}  ${says}`)
  if (!holds) process.exitCode = 1
}
