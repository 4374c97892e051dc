// Fills a data folder with a year of one account, for screenshots and measurements of the console. Everything goes through the
// real ledger in real batches with a simulated clock, and the script verifies the ledger at the end.
//
//   node test/browser/seed-year.mjs FOLDER [--receipts 1000000] [--seed 1]
//
// FOLDER gets millrace.yaml, data/ and seed.json (the address and the keys), and is served by
// `millrace serve --config FOLDER/millrace.yaml --data FOLDER/data`. Needs a build (npm run build).
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createUsageKeeper } from '../../dist/admin/count-usage.js'
import { planWindow } from '../../dist/catalog/catalog.js'
import { findAccountByEmail } from '../../dist/db/accounts.js'
import { openContent } from '../../dist/db/content/open-content.js'
import { listWholeKeys } from '../../dist/db/keys.js'
import { openDatabase } from '../../dist/db/open-database.js'
import { openLedger } from '../../dist/ledger/open-ledger.js'
import { loadPrice } from '../../dist/ledger/prices.js'
import { systemClock } from '../../dist/lib/clock.js'
import { secureRandom } from '../../dist/lib/random-id.js'
import { mintRequestId } from '../../dist/model/ids.js'
import { holdTermsFor, priceUsage } from '../../dist/pricing/price.js'
import { createBareAccount, createKey, placeIn, verifyLedger } from '../program/program.mjs'
import { createRandom } from '../program/random.mjs'
import { drawRequest, isBusy, MODELS } from './lib/year-of-requests.mjs'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { receipts: { type: 'string', default: '1000000' }, seed: { type: 'string', default: '1' } },
})
const [folder] = positionals
if (folder === undefined) throw new Error('Usage: node test/browser/seed-year.mjs FOLDER')
const RECEIPTS = Number(options.receipts)
const { below } = createRandom(Number(options.seed))

const HOUR = 3_600_000
const DAY = 24 * HOUR
const EMAIL = 'year@localhost'
const KEYS = [
  { name: 'laptop', kind: 'wallet' },
  { name: 'nightly jobs', kind: 'wallet' },
  { name: '=SUM(A1)', kind: 'wallet' },
  { name: 'editor', kind: 'builder' },
  { name: 'agents', kind: 'builder' },
]
const USD = 1_000_000_000n
const WINDOWS = [
  planWindow({ kind: 'anchored', ms: 5 * HOUR }, 40n * USD),
  planWindow({ kind: 'month', day: 'billing' }, 4000n * USD),
]
const CREDIT = 20_000n * USD

const place = placeIn(folder)
const { data } = place
mkdirSync(folder, { recursive: true })
writeFileSync(place.config, configText())
await createBareAccount(place, EMAIL)
const keys = []
for (const key of KEYS) keys.push({ ...key, secret: (await createKey(place, { email: EMAIL, ...key })).key })
writeFileSync(join(folder, 'seed.json'), JSON.stringify({ email: EMAIL, keys }, null, 2))

const began = performance.now()
const counts = await fillLedger()
log(`filled in ${seconds(began)} s: ${JSON.stringify(counts)}`)
const counted = performance.now()
await countUsage()
log(`usage counted from the first receipt in ${seconds(counted)} s`)
log(JSON.stringify(await verifyLedger(place)))

async function fillLedger() {
  const end = systemClock.now() - 60_000
  const begin = end - 365 * DAY
  const clock = { at: begin, now: () => clock.at, nowMicros: () => clock.at * 1000 }
  const database = await openDatabase({ path: join(data, 'ledger.db'), clock })
  const { db, lowPriorityDb, file, journal } = database
  await datedBack(file, begin)
  const account = (await findAccountByEmail(db, EMAIL)).row
  const keys = await listWholeKeys(db, account, { before: Number.MAX_SAFE_INTEGER, limit: 1000 })
  const rows = keys.reverse().map(({ row, kind }) => ({ row, kind }))
  const prices = new Map()
  for (const { id } of MODELS) prices.set(id, await loadPrice(db, id, 1))
  const observer = { batchRecorded() {}, batchFailed: rethrow, recovered() {}, accountUnbalanced() {} }
  const ledger = await openLedger({ db, lowPriorityDb, file, journal, clock, markIntervalMs: 60_000, observer })
  await ledger.assignPlan({ account, plan: 'builder', windows: WINDOWS, endsAt: undefined })
  const run = { ledger, account, rows, prices, clock, counts: { requests: 0, refused: 0, failed: 0, released: 0 } }
  await liveThrough(run, begin, end)
  await ledger.close()
  await database.close()
  return run.counts
}

/** Simulates hour after hour, busy by day, with a few bursts of concurrent requests per hour. */
async function liveThrough(run, begin, end) {
  const { clock, counts } = run
  let [steps, busy] = [1, 1]
  for (let at = begin, month = -1; counts.requests < RECEIPTS; ) {
    // Spread the remaining requests over the rest of the year.
    const step = ((end - at) * 20 * busy) / steps / (RECEIPTS - counts.requests)
    at = Math.min(at + below(Math.ceil(step * 2) + 1), end)
    steps += 1
    if (at < end && !isBusy(at, below)) continue
    busy += 1
    clock.at = Math.max(clock.at, at)
    const thisMonth = new Date(at).getUTCMonth()
    if (thisMonth !== month) await credit(run, at)
    month = thisMonth
    await burst(run, Math.min(10 + below(22), RECEIPTS - counts.requests))
  }
}

function credit({ ledger, account }, at) {
  const ref = `top-up ${new Date(at).toISOString().slice(0, 10)}`
  return ledger.credit({ account, kind: 'credit', amount: CREDIT, reason: 'top-up', ref })
}

async function burst(run, count) {
  const { clock, ledger } = run
  const turns = []
  for (let request = 0; request < count; request++) {
    clock.at += below(200)
    const turn = await admit(run)
    if (turn !== undefined) turns.push(turn)
  }
  await Promise.all(turns.map(({ admitted }) => admitted.durable))
  clock.at += 800 + below(9000)
  await Promise.all(turns.map((turn) => end(run, turn)))
  if (run.counts.requests % 1000 < count) await ledger.sweep()
}

async function admit({ ledger, account, rows, prices, clock, counts }) {
  const key = rows[below(below(2) === 0 ? 2 : rows.length)]
  const drawn = drawRequest(below)
  const price = prices.get(drawn.model)
  const admitted = await ledger.admit({
    ...{ requestId: mintRequestId(clock.at, secureRandom), account, key: key.row, kind: key.kind, model: drawn.model },
    ...{ priceVersion: 1, terms: holdTermsFor(price, drawn.inputBound, 1), clientCap: drawn.cap, modelCap: 8192 },
    ...{ chosenCap: { sharePercent: 25, tokensMin: 1024 }, choices: 1, inputEstimate: drawn.inputBound },
    ...{ cachedEstimate: 0, limits: [], claim: undefined, plan: key.kind === 'builder' ? 'builder' : undefined },
    allowances: key.kind === 'builder' ? WINDOWS : [],
  })
  if (admitted.kind === 'admitted') return { admitted, drawn, price, openedAt: clock.at }
  counts.refused += 1
  // An exhausted window stays exhausted for hours, so the clock must advance.
  clock.at += below(HOUR / 4)
  return undefined
}

async function end({ clock, counts }, { admitted, drawn, price, openedAt }) {
  const lane = `demo/${drawn.model}`
  const totalMs = clock.at - openedAt
  const attempts = [
    { lane, outcome: drawn.usage ? 'finished' : 'refused', status: drawn.usage ? 200 : 503, ms: totalMs },
  ]
  const ended = { outcome: drawn.outcome, totalMs, attempts, compaction: undefined, kept: false }
  counts.requests += 1
  if (drawn.outcome !== 'completed') counts.failed += 1
  if (drawn.usage === undefined) {
    counts.released += 1
    await admitted.settle({ ...ended, owed: undefined, lane: undefined, firstByteMs: undefined })
  } else {
    const owed = { usage: drawn.usage, ...priceUsage(price, drawn.usage) }
    await admitted.settle({ ...ended, owed, lane, firstByteMs: Math.min(totalMs, 300) })
  }
  admitted.detach()
}

/** Backdates the keys by a year. Durability does not matter here, so writes do not wait for the disk. */
async function datedBack(file, at) {
  await file.all('PRAGMA synchronous = OFF', [])
  const set = (sql) => ({ sql, rows: [[at]] })
  await file.atomic([
    set('UPDATE accounts SET created_at = ?'),
    set('UPDATE keys SET created_at = ?'),
    set('UPDATE prices SET since = ?'),
  ])
}

/** Counts the usage as a server does that finds its content database lost. */
async function countUsage() {
  const database = await openDatabase({ path: join(data, 'ledger.db'), clock: systemClock })
  const content = await openContent({ path: join(data, 'content.db'), clock: systemClock })
  const keeper = createUsageKeeper({
    db: database.db,
    content,
    clock: systemClock,
    intervalMs: 500,
    onFailure: rethrow,
  })
  await keeper.catchUp()
  await keeper.close()
  await content.close()
  await database.close()
}

function configText() {
  const models = MODELS.map(
    ({ id, price }) => `  - id: ${id}
    context_tokens: 400000
    max_output_tokens: 8192
    price: ${price}
    lanes: [{ upstream: demo, model: demo }]`,
  )
  return `upstreams: [{ id: demo, wire: demo }]
models:
${models.join('\n')}
plans:
  - id: builder
    models: ["*"]
    windows:
      - { every: 5h, allowance: "40.00" }
      - { every: month, allowance: "4000.00" }
`
}

function rethrow(error) {
  throw error
}

function seconds(since) {
  return ((performance.now() - since) / 1000).toFixed(1)
}

function log(text) {
  console.log(text)
}
