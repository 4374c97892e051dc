// A day in production, played in minutes: traffic of many kinds, and all that goes wrong on one day; then everything must agree. See
// README.md.
//
//   node test/day/run.mjs [--database postgres|sqlite] [--minutes 20] [--seed N] [--short] [--dist FOLDER]
import { setTimeout as sleep } from 'node:timers/promises'
import { auditKeys } from '../chaos/lib/audit-keys.mjs'
import { auditCredits, auditRest, auditRows } from '../chaos/lib/audit-rows.mjs'
import { NEXT_BUILD } from '../cluster/lib/next-build.mjs'
import { readRows } from '../cluster/lib/read-rows.mjs'
import { copyDist } from '../program/copies.mjs'
import { readOptions } from '../program/options.mjs'
import { verifyLedger } from '../program/program.mjs'
import { createRandom } from '../program/random.mjs'
import { readLedgerRows } from '../program/read-ledger.mjs'
import { createTally } from '../program/tally.mjs'
import { openAccounts, openPeople } from './lib/accounts.mjs'
import { startActors } from './lib/actors.mjs'
import { auditAlerts, auditMetrics } from './lib/audit-metrics.mjs'
import { auditLeak, auditMember, auditNotes, auditRenewal } from './lib/audit-notes.mjs'
import { auditPages, readPages } from './lib/audit-pages.mjs'
import { findMidnight, monthBefore, openClock } from './lib/clock.mjs'
import { auditCopy, createBackup } from './lib/copy.mjs'
import { createEvents, orderEvents, playEvents } from './lib/events.mjs'
import { checkCoverage, printFigures, tellViolations } from './lib/figures.mjs'
import { planScene } from './lib/scene.mjs'
import { openSite, startProviders } from './lib/site.mjs'

const MINUTE_MS = 60_000
const SHORT_MINUTES = 1.2
/** How many samples of the metrics there are of a day of eight hours: one each two minutes. */
const SAMPLES = 240
const REST_MS_MAX = 90_000
const HOURS_BEFORE = 14
/** More than the first start and the sign-ups take on any machine. */
const PREPARED_MS = 30 * MINUTE_MS

const isShort = process.argv.includes('--short')
process.argv = process.argv.filter((word) => word !== '--short')
const options = readOptions({ database: 'sqlite', minutes: 20 })
const isCluster = options.database === 'postgres'
if (!isCluster && options.database !== 'sqlite') throw new Error('--database is postgres or sqlite')
console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own), ${options.database}`)
const runMs = (isShort ? SHORT_MINUTES : options.minutes) * MINUTE_MS

const tally = createTally()
const day = await openDay()
if (day !== undefined) {
  const played = await playDay(day)
  await judge(day, played)
  await day.site.close()
  tally.close()
}
process.exit()

/** All that there is before the day: servers, accounts whose plan began a month ago, and a price that is managed. */
async function openDay() {
  const random = createRandom(options.seed)
  const clock = openClock({ postgres: isCluster })
  if (clock === undefined) {
    console.log('There is no C compiler (cc), which puts the clock of PostgreSQL forward: nothing is tried.')
    console.log('0 passed, 0 failed')
    return undefined
  }
  const { dist } = copyDist(options.dist)
  const scene = planScene(random.fork(1))
  const providers = await startProviders(['alpha', 'beta'], random.fork(2))
  const sections = () => scene.sections(providers)
  const sampleMs = runMs / SAMPLES
  const site = await openSite({
    ...{ size: isCluster ? 3 : 1, random, dist, tally, sampleMs, sections: sections() },
    ...{ environment: clock.environment, ofPostgres: clock.ofPostgres },
  })
  if (site === undefined) return undefined
  const midnight = findMidnight()
  clock.forwardTo(monthBefore(midnight) + HOURS_BEFORE * 60 * MINUTE_MS)
  // So small that strangers reach it before midnight, and after it again.
  const leakCap = (random.between(0.8, 1.2) * (0.002 + 0.002 * (runMs / MINUTE_MS))).toFixed(9)
  const opened = await openAccounts(site, { leakCap })
  await opened.call('POST', 'managed', { models: [scene.modelOf(scene.managed)] })
  await site.stop(site.nodes[0])
  site.lives.length = 0
  return { ...opened, random, clock, dist, scene, providers, sections, sampleMs, site, midnight, leakCap }
}

async function playDay(setting) {
  const { site, clock, dist, random, midnight, accounts, call } = setting
  // The servers read the clock once: how long they take to start is known from a start before.
  clock.forwardTo(midnight - runMs / 2 - PREPARED_MS)
  const began = performance.now()
  await Promise.all(site.nodes.map(site.start))
  const startMs = performance.now() - began
  await openPeople(site, { accounts, call })
  await Promise.all(site.nodes.map(site.stop))
  site.lives.length = 0
  clock.forwardTo(midnight - runMs / 2 - startMs)
  await Promise.all(site.nodes.map(site.start))
  const nextBuild = copyDist(dist, NEXT_BUILD).dist
  const backUp = createBackup(setting)
  const script = createEvents({ ...setting, random: random.fork(3), runMs, tally, nextBuild, backUp })
  const order = orderEvents(script.events, random.fork(4))
  const from = Date.now()
  console.log(`order: ${order.join(', ')}`)
  console.log(`midnight after ${Math.round((midnight - from) / 1000)} s; brown-out of ${setting.scene.brown}`)
  const stopSampling = site.startSampling()
  const actors = startActors({ ...setting, random: random.fork(5), share: isShort ? 0.5 : 1 })
  // One server that restarts for long could serve nothing before midnight.
  while (!site.notes.some(isUsedUp) && Date.now() < midnight - 1000) await sleep(100)
  await playEvents({ ...script, order, runMs, from })
  await sleep(Math.max(0, midnight + runMs * 0.05 - Date.now()))
  await actors.stop()
  await untilRest(site)
  await stopSampling()
  const restAt = Date.now()
  await sleep(500)
  await site.sampleAll()
  const pages = await readPages(setting, midnight)
  for (const node of site.alive()) await site.stop(node)
  console.log(`${site.notes.length} requests in ${Math.round((restAt - from) / 1000)} s`)
  return { ...script, pages, restAt, from, operator: actors.operator }
}

/** The small allowance, by one who draws on it. */
function isUsedUp({ sendTurn, code }) {
  return sendTurn.actor === 'small' && code === 'allowance_exhausted'
}

/** Until nothing is held any more: also not for requests of a node that is dead. */
async function untilRest(site) {
  const until = performance.now() + REST_MS_MAX
  while (performance.now() < until) {
    const all = await Promise.all(site.alive().map((node) => site.metricsOf(node)))
    if (all.every((series) => series.get('millrace_holds_open') === 0)) return
    await sleep(250)
  }
}

async function judge(setting, played) {
  const { site, accounts, scene, dist, midnight, sampleMs, leakCap } = setting
  const { notes, lives, disturbances } = site
  const { moments, pages } = played
  const [{ place }] = site.nodes
  const rows = isCluster ? await readRows(dist, site.storageOn(site.postgres).database) : await readLedgerRows(place)
  const receipts = new Map(rows.receipts.map((receipt) => [receipt.request_id, receipt]))
  const prepared = Object.values(accounts)
  const found = []
  const report = (invariant, id, says) => found.push({ invariant, id, says })

  auditRows(rows, report, prepared)
  auditRest(rows, report)
  for (const { email, credits } of prepared) {
    const { row } = rows.accounts.find((account) => account.email === email)
    const transfers = rows.transfers.filter(({ account }) => account === row)
    found.push(...auditCredits({ transfers }, credits))
  }
  const facts = { notes, rows, scene, moments, disturbances, receipts, isCluster }
  const figures = auditNotes(facts, report)
  const keys = { keys: 0, replays: 0, reused: 0 }
  auditKeys({ notes, ledgerRows: rows, receipts, figures: keys }, report)
  const paged = auditPages({ pages, rows, accounts }, report)
  const metered = auditMetrics({ lives, notes, rows, restAt: played.restAt }, report)
  const verify = await verifyLedger(place)

  printFigures({ figures, keys, paged, metered, rows, operator: played.operator })
  tellViolations({ found, receipts, disturbances }, tally)
  tally.check(verify.ok, `db verify finds nothing (${verify.violations})`)
  auditLeak({ ...facts, accounts, leakCap }, tally)
  auditMember(facts, tally)
  auditRenewal({ notes, midnight }, tally)
  await auditCopy({ backup: moments.backup, notes, receipts, prepared }, tally)
  auditAlerts(
    {
      lives,
      folder: site.folder,
      from: played.from,
      sampleMs,
      alerts: ['MillraceFailover', 'MillraceLaneFailing', 'MillraceReloadRefused'],
    },
    tally,
  )
  checkCoverage({ site, scene, played, figures, keys, isCluster }, tally)
}
