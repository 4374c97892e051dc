// Does overload cost goodput? A closed loop finds the peak of whole answers in time, and how many clients make it. Then by
// turns: that closed loop, and an open loop in which twice as many requests arrive as it has just answered, however many
// clients still wait. Each round compares with the windows before and after it: on a machine with other work the peak
// itself moves.
//
//   npm run bench -- goodput [--rounds 3] [--seconds 20] [--times 2] [--within 2000] [--scale 1]
//
// With a smaller scale all windows are as much shorter, which shows that it runs; the share is judged at 1 only.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { requestBytes, withPinnedServer } from './lib/edge-bench.mjs'
import { cpuMicros, median } from './lib/measure.mjs'
import { memoryMb } from './lib/memory.mjs'
import { createOpenClients } from './lib/open-clients.mjs'

const names = { rounds: '3', seconds: '20', times: '2', within: '2000', scale: '1' }
const { values } = parseArgs({
  options: Object.fromEntries(Object.entries(names).map(([name, value]) => [name, { type: 'string', default: value }])),
})
const { rounds, seconds, times, within, scale } = Object.fromEntries(
  Object.entries(values).map(([name, value]) => [name, Number(value)]),
)

const SHARE_MIN = 0.85
/** Dear for the server and cheap for provider and clients, who share a core: the server must be what is full first. */
const ANSWER = 'c200-d0'
const CONCURRENCIES = [8, 16, 32, 64, 128]
const WARM_UP_SECONDS = 8
const CLOSED_SECONDS = 8
const REST_SECONDS = 15
/** Shedding looks at the last seconds before it acts. */
const SETTLED_AFTER = 1 / 3

const asks = [
  requestBytes('chat', `chat-${ANSWER}`),
  requestBytes('responses', `responses-${ANSWER}`),
  requestBytes('chat', `anthropic-${ANSWER}`),
  requestBytes('responses', `anthropic-${ANSWER}`),
]

await withPinnedServer({ name: 'goodput', answers: [ANSWER] }, async (server) => {
  console.log(
    `good: a whole answer within ${within} ms of when its request was due; four roads by turns, 200 frames each\n`,
  )
  console.log(
    '| load | arrivals/s | good/s | late/s | shed/s | failed/s | p50 ms | p99 ms | server CPU | clients CPU | Pss MB |',
  )
  console.log('|---|---|---|---|---|---|---|---|---|---|---|')
  const concurrent = await findPeak(server)
  const shares = { all: [], settled: [], perCpu: [] }
  let before = await closed(server, concurrent)
  for (let round = 0; round < rounds; round++) {
    const over = await offer(server, before.good * times)
    // What had been let in goes on for a while after the last client has left: the peak is measured at rest.
    await sleep(REST_SECONDS * scale * 1000)
    const after = await closed(server, concurrent)
    const peak = (before.good + after.good) / 2
    shares.all.push(over.good / peak)
    shares.settled.push(over.settled / peak)
    shares.perCpu.push((2 * (over.good / over.cpu)) / (before.good / before.cpu + after.good / after.cpu))
    before = after
  }
  const told = (name) =>
    `${median(shares[name]).toFixed(2)} (${shares[name].map((share) => share.toFixed(2)).join(', ')})`
  console.log(
    `\nat ${times} times the peak, goodput over that of the peak: ${told('all')}; after the first third ${told('settled')}`,
  )
  console.log(`the same per CPU second of the server: ${told('perCpu')}`)
  if (scale < 1) return
  const holds = median(shares.all) >= SHARE_MIN
  console.log(`${holds ? 'pass' : 'FAIL'}  at least ${SHARE_MIN} of the peak`)
  if (!holds) process.exitCode = 1
})

/** How many clients in a closed loop get the most. */
async function findPeak(server) {
  await run(server, WARM_UP_SECONDS, (clients, until) => clients.closedLoop({ concurrent: 32, until }))
  let best = { good: 0, concurrent: CONCURRENCIES[0] }
  for (const concurrent of CONCURRENCIES) {
    const { good } = await closed(server, concurrent)
    if (good > best.good) best = { good, concurrent }
  }
  return best.concurrent
}

async function closed(server, concurrent) {
  const result = await run(server, CLOSED_SECONDS, (clients, until) => clients.closedLoop({ concurrent, until }))
  print(`closed, ${concurrent} at a time`, result)
  return result
}

async function offer(server, rate) {
  const result = await run(server, seconds, (clients, until) => clients.openLoop({ rate, until }))
  print('open', result)
  return result
}

/** One window: what came back within it and in the patience after it counts, by the second in which it was due. */
async function run(server, wholeSeconds, load) {
  const seconds = wholeSeconds * scale
  const clients = createOpenClients({ ...server, asks, patienceMs: within * 5 })
  const before = { server: cpuMicros(server.pid), own: process.cpuUsage() }
  const began = performance.now()
  await load(clients, began + seconds * 1000)
  const spent = performance.now() - began
  const cpu = (cpuMicros(server.pid) - before.server) / 1000 / spent
  const own = process.cpuUsage(before.own)
  const answers = await clients.close()
  const isGood = ({ ended, ms }) => ended === 'whole' && ms <= within
  const rate = (counts) => answers.filter(counts).length / (spent / 1000)
  const settledFrom = began + spent * SETTLED_AFTER
  const waits = answers
    .filter(({ ended }) => ended === 'whole')
    .map(({ ms }) => ms)
    .sort((a, b) => a - b)
  return {
    arrivals: rate(() => true),
    good: rate(isGood),
    settled: rate((answer) => isGood(answer) && answer.due >= settledFrom) / (1 - SETTLED_AFTER),
    late: rate(({ ended, ms }) => ended === 'whole' && ms > within),
    shed: rate(({ ended }) => ended === 'shed'),
    failed: rate(({ ended }) => ended === 'failed'),
    p50: waits[waits.length >> 1] ?? Number.NaN,
    p99: waits[Math.floor(waits.length * 0.99)] ?? Number.NaN,
    cpu,
    own: (own.user + own.system) / 1000 / spent,
    pss: memoryMb(server.pid),
  }
}

function print(name, { arrivals, good, late, shed, failed, p50, p99, cpu, own, pss }) {
  const rates = [arrivals, good, late, shed, failed, p50, p99].map((rate) => rate.toFixed(0))
  console.log(`| ${[name, ...rates, cpu.toFixed(2), own.toFixed(2), pss.toFixed(0)].join(' | ')} |`)
}
