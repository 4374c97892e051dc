// What the proof of the books costs those who pay meanwhile, at any number of accounts: requests at a fixed rate alone, beside
// the whole proof (db verify) and beside the hourly one; how long its slices are, what blocks the main loop, and the memory.
//
//   npm run bench -- verify [--accounts 100000] [--receipts 500000] [--rate 20] [--seconds 30]
//
// A tenth of the accounts are on a plan with two windows, a tenth have keys with spend caps.
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Kysely } from 'kysely'
import { createStoreDialect } from '../dist/db/kysely-dialect.js'
import { openDatabase } from '../dist/db/open-database.js'
import { oneReadAtATime } from '../dist/db/sqlite/open-sqlite.js'
import { systemClock } from '../dist/lib/clock.js'
import { fillLedger, payerOf } from './lib/fill-books.mjs'
import { openBenchLedger, sendRequest } from './lib/ledger-load.mjs'
import { describeMachine } from './lib/measure.mjs'

const { values } = parseArgs({
  options: {
    accounts: { type: 'string', default: '100000' },
    receipts: { type: 'string', default: '500000' },
    rate: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '30' },
  },
})
const [ACCOUNTS, RECEIPTS, RATE, SECONDS] = [values.accounts, values.receipts, values.rate, values.seconds].map(Number)

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
try {
  await run()
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

async function run() {
  const path = join(folder, 'ledger.db')
  const began = performance.now()
  await fill(path)
  const database = await openDatabase({ path, clock: systemClock })
  console.log(`# verify: ${describeMachine()}, load ${loadavg()[0].toFixed(1)}`)
  console.log(
    `${ACCOUNTS} accounts, ${RECEIPTS} receipts: ${Math.round(statSync(path).size / 1e6)} MB, filled in ${since(began)} s; ` +
      `${RATE} requests a second\n`,
  )
  const slices = []
  const ledger = await openBenchLedger({ ...database, lowPriorityDb: timedDb(database.file, slices) })
  // The first phase would otherwise pay for code that has not run yet and for pages that are not in the cache.
  await measure(ledger, slices, () => sleep(Math.min(5, SECONDS) * 1000))
  const phases = {
    alone: await measure(ledger, slices, () => sleep(SECONDS * 1000)),
    whole: await measure(ledger, slices, () => prove(ledger, { whole: true })),
    'alone again': await measure(ledger, slices, () => sleep(SECONDS * 1000)),
    hourly: await measure(ledger, slices, () => prove(ledger, { whole: false })),
  }
  say(phases)
  await ledger.close()
  await database.close()
}

async function fill(path) {
  const database = await openDatabase({ path, clock: systemClock })
  await fillLedger(database, { accounts: ACCOUNTS, receipts: RECEIPTS })
  await database.close()
}

/** As the proof asks, with how long each of its questions took, from being asked on. */
function timedDb(file, slices) {
  const timed = {
    ...file,
    async all(sql, parameters) {
      const began = performance.now()
      try {
        return await file.all(sql, parameters)
      } finally {
        slices.push(performance.now() - began)
      }
    },
  }
  return new Kysely({ dialect: createStoreDialect(oneReadAtATime(timed, systemClock)) })
}

async function prove(ledger, options) {
  const report = await ledger.audit(options)
  if (!report.ok) throw new Error(`the books do not hold: ${JSON.stringify(report.checks)}`)
}

/** Requests come when they come, however long the ones before them take. */
async function measure(ledger, slices, work) {
  slices.length = 0
  const loop = monitorEventLoopDelay({ resolution: 1 })
  const memory = { before: process.memoryUsage.rss(), peak: 0 }
  const watch = setInterval(() => {
    memory.peak = Math.max(memory.peak, process.memoryUsage.rss())
  }, 50)
  const cpu = process.cpuUsage()
  const began = performance.now()
  loop.enable()
  let isWorking = true
  const working = work().finally(() => {
    isWorking = false
  })
  const sent = []
  for (let number = 0; isWorking; number++) {
    await sleep(Math.max(0, began + (number * 1000) / RATE - performance.now()))
    sent.push(timed(ledger, 1 + ((number * 7919) % ACCOUNTS)))
  }
  await working
  const seconds = (performance.now() - began) / 1000
  loop.disable()
  clearInterval(watch)
  const { user, system } = process.cpuUsage(cpu)
  const requests = await Promise.all(sent)
  return { seconds, requests, slices: [...slices], blocked: loop.max / 1e6, memory, cpu: (user + system) / 1e6 }
}

async function timed(ledger, account) {
  const began = performance.now()
  await sendRequest(ledger, { ...payerOf(account), key: account })
  return performance.now() - began
}

function say(phases) {
  console.log(
    '| | seconds | CPU s | request p50 ms | p99 | slices | slice p50 ms | p99 | max | loop blocked ms | RSS before MB | peak |',
  )
  console.log(`|${'---|'.repeat(12)}`)
  for (const [name, { seconds, cpu, requests, slices, blocked, memory }] of Object.entries(phases)) {
    const cells = [
      ...[seconds.toFixed(1), cpu.toFixed(1)],
      ...[at(requests, 0.5), at(requests, 0.99), slices.length, at(slices, 0.5), at(slices, 0.99), at(slices, 1)],
      ...[blocked.toFixed(1), (memory.before / 1e6).toFixed(0), (memory.peak / 1e6).toFixed(0)],
    ]
    console.log(`| ${name} | ${cells.join(' | ')} |`)
  }
  const alone = [...phases.alone.requests, ...phases['alone again'].requests]
  for (const name of ['whole', 'hourly']) {
    const ratio = Number(at(phases[name].requests, 0.99)) / Number(at(alone, 0.99))
    console.log(`${name}: p99 of requests ${ratio.toFixed(2)} x that without`)
  }
}

function at(list, share) {
  const sorted = list.toSorted((one, other) => one - other)
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1)
}

function since(began) {
  return ((performance.now() - began) / 1000).toFixed(0)
}
