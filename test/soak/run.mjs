// Hours of mixed traffic in minutes: does anything grow, and is everything given back? See README.md.
//
//   node test/soak/run.mjs [--minutes 30] [--streams 300] [--seed N] [--dist FOLDER]
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describeMachine } from '../../bench/lib/measure.mjs'
import { memoryMb } from '../../bench/lib/memory.mjs'
import { copyDist } from '../program/copies.mjs'
import { findFreePort } from '../program/free-port.mjs'
import { readOptions } from '../program/options.mjs'
import { placeIn, startServer, verifyLedger } from '../program/program.mjs'
import { createRandom } from '../program/random.mjs'
import { readLedgerRows } from '../program/read-ledger.mjs'
import { createTally } from '../program/tally.mjs'
import { auditLedger } from './lib/audit.mjs'
import { startClients } from './lib/clients.mjs'
import { boundsFor, checkGrowth } from './lib/growth.mjs'
import { openLiveHeap } from './lib/live-heap.mjs'
import { checkCoverage, printDelivered } from './lib/report.mjs'
import { readHandles, startSampling } from './lib/sample.mjs'
import { configText, prepareAccounts } from './lib/scene.mjs'

const EXIT_WITHIN_MS = 40_000
/** Connections to providers and clients that are kept for the next request close by themselves within these. */
const QUIET_WITHIN_MS = 100_000
const POLL_MS = 500
/** In the last two thirds of a run: in the long form one a minute. */
const COLLECTIONS = 20
/** Pages that a collection has emptied go back to the system a moment later. */
const RETURNED_MS = 500
const READINGS = 3

const options = readOptions({ minutes: 30, streams: 300 })
const random = createRandom(options.seed)
const tally = createTally()
const folder = mkdtempSync(join(tmpdir(), 'millrace-soak-'))
const logPath = join(folder, 'server.log')
const place = placeIn(folder, copyDist(options.dist))
console.log(`# soak: ${describeMachine()}`)
console.log(
  `${options.minutes} minutes, ${options.streams} at a time, seed ${options.seed} (choices only: what the kernel schedules is its own)`,
)

const provider = fork(fileURLToPath(new URL('lib/provider.mjs', import.meta.url)))
const [{ port: providerPort }] = await once(provider, 'message')
const [metricsPort, inspectorPort] = [await findFreePort(random), await findFreePort(random)]
writeFileSync(place.config, configText({ metricsPort, providerPort }))
const accounts = await prepareAccounts(place)
const server = startServer(place, { logPath, nodeFlags: [`--inspect-port=127.0.0.1:${inspectorPort}`] })
const { port } = new URL(await server.ready)
const heap = await openLiveHeap(server.pid, inspectorPort)
await soak()
provider.disconnect()
tally.close()
if (process.exitCode === 0) rmSync(folder, { recursive: true, force: true })
else console.log(`The data folder and the log of the server are in ${folder}`)

async function soak() {
  await sleep(1000)
  const before = await readHandles(metricsPort)
  const idleMb = await heap.readMb()
  const sampling = startSampling({ pid: server.pid, metricsPort })
  const clients = startClients({ port, accounts, random, count: options.streams, minutes: options.minutes })
  const collected = await readWhileItRuns()
  await sampling.stop()
  await clients.stop()
  const after = await waitForQuiet(before)
  const quietMb = await heap.readMb()
  heap.close()

  const { reported } = clients
  printDelivered(reported, options.minutes)
  checkGrowth(tally, { samples: sampling.samples, collected, bounds: boundsFor(options.minutes) })
  console.log(`reachable in the heap: ${idleMb.toFixed(1)} MB before, ${quietMb.toFixed(1)} MB when all was over`)
  console.log(`handles before ${JSON.stringify(before)}\nhandles after  ${JSON.stringify(after)}`)
  tally.check(after.holds === 0, `${after.holds} holds are open at the end`)
  // The sweeper ends what a turn has forgotten, and so would hide that it did.
  tally.check(after.recovered === 0, `${after.recovered} holds had been left to the sweeper`)
  tally.check(
    after.files <= before.files,
    `${after.files} files and sockets are open at the end, ${before.files} before`,
  )
  tally.check(after.handles <= before.handles, `${after.handles} handles are open at the end, ${before.handles} before`)
  for (const note of reported.wrong.slice(0, 5)) console.log(`  ${JSON.stringify(note)}`)
  tally.check(reported.wrong.length === 0, `${reported.wrong.length} answers were not what they had to be`)
  checkCoverage(tally, reported, options)
  await checkLedger(reported)
}

/**
 * Everybody is there: from a third on, when all that fills itself has begun to, garbage is collected every so often, and what
 * is reachable then and the memory of the process are read.
 */
async function readWhileItRuns() {
  const minutes = options.minutes
  await sleep((minutes * 60_000) / 3)
  const collected = [await readCollected(minutes / 3)]
  for (let turn = 1; turn <= COLLECTIONS; turn++) {
    const x = minutes / 3 + ((minutes * 2) / 3) * (turn / COLLECTIONS)
    await sleep((minutes * 60_000 * 2) / 3 / COLLECTIONS - RETURNED_MS * READINGS)
    collected.push(await readCollected(x))
  }
  return collected
}

/**
 * The least of a few: what a hundred requests hold at the moment goes up and down by more than a leak would add in minutes.
 */
async function readCollected(x) {
  const readings = []
  for (let number = 0; number < READINGS; number++) {
    const live = await heap.readMb()
    await sleep(RETURNED_MS)
    readings.push({ live, pss: memoryMb(server.pid) })
  }
  const least = (of) => Math.min(...readings.map(of))
  return { x, live: least(({ live }) => live), pss: least(({ pss }) => pss) }
}

async function waitForQuiet(before) {
  const until = performance.now() + QUIET_WITHIN_MS
  for (;;) {
    const now = await readHandles(metricsPort)
    const isBack = now.holds === 0 && now.files <= before.files && now.handles <= before.handles
    if (isBack || performance.now() > until) return now
    await sleep(POLL_MS)
  }
}

async function checkLedger({ charges }) {
  const underWay = await verifyLedger(place)
  tally.check(underWay.ok, 'db verify finds nothing while the server runs')
  server.kill('SIGTERM')
  const late = setTimeout(() => server.kill('SIGKILL'), EXIT_WITHIN_MS)
  const { code: exit } = await server.ended
  clearTimeout(late)
  tally.check(exit === 0, `the server ends by itself when it is asked to (${exit})`)
  const ledgerRows = await readLedgerRows(place)
  const faults = auditLedger({ ledgerRows, charges })
  for (const fault of faults.slice(0, 5)) console.log(`  ${fault}`)
  tally.check(
    faults.length === 0,
    `${ledgerRows.receipts.length} receipts and ${charges.size} charges that were told make the balances (${faults.length} faults)`,
  )
  tally.check((await verifyLedger(place)).ok, 'db verify finds nothing at rest')
  const errors = readFileSync(logPath, 'utf8')
    .split('\n')
    .filter((line) => /"level":"?(error|fatal|50|60)/.test(line))
  for (const line of errors.slice(0, 3)) console.log(`  ${line.slice(0, 500)}`)
  tally.check(errors.length === 0, `the server logged ${errors.length} errors`)
}
