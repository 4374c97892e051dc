// Fills a data folder with a year of one account, for screenshots and measurements of the console. Everything goes through the
// real ledger in real batches with a simulated clock, and the script verifies the ledger at the end. With `--accounts` there are
// more accounts, which make half of the requests; `--keys` are those of all: half of them the first account's, with 200 people
// and 20 teams.
//
//   node test/browser/seed-year.mjs FOLDER [--receipts 1000000] [--accounts 1] [--keys 5] [--seed 1] [--organisation]
//
// With --organisation the account has 200 people, 20 teams and 1,000 keys with caps.
// FOLDER gets millrace.yaml, data/ and seed.json (the address and the keys), and is served by
// `millrace serve --config FOLDER/millrace.yaml --data FOLDER/data`. Needs a build (npm run build).
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createUsageKeeper } from '../../dist/admin/count-usage.js'
import { planWindow } from '../../dist/catalog/catalog.js'
import { findAccountByEmail } from '../../dist/db/accounts.js'
import { capsOfKeys } from '../../dist/db/caps.js'
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
import { addOrganisation, KEYS_OF_ORGANISATION } from './lib/organisation.mjs'
import { drawIndex, drawRequest, drawTags, isBusy, MODELS } from './lib/year-of-requests.mjs'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    organisation: { type: 'boolean', default: false },
    ...Object.fromEntries(
      Object.entries({ receipts: '1000000', accounts: '1', keys: '5', seed: '1' }).map(([name, value]) => [
        name,
        { type: 'string', default: value },
      ]),
    ),
  },
})
const [folder] = positionals
if (folder === undefined) throw new Error('Usage: node test/browser/seed-year.mjs FOLDER')
const [RECEIPTS, ACCOUNTS, MORE_KEYS] = [options.receipts, options.accounts, options.keys].map(Number)
const { below } = createRandom(Number(options.seed))

const HOUR = 3_600_000
const DAY = 24 * HOUR
const EMAIL = options.organisation ? 'owner@example.com' : 'year@localhost'
const FEW_KEYS = [
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
/** Requests that run at once. */
const BURST = options.organisation ? { least: 1, spread: 8, mean: 4.5 } : { least: 10, spread: 22, mean: 20 }
const CREDIT = (options.organisation ? 400n : 20_000n) * USD

const place = placeIn(folder)
const { data } = place
mkdirSync(folder, { recursive: true })
writeFileSync(place.config, configText())
await createBareAccount(place, EMAIL)
const keys = []
if (options.organisation) await addOrganisation(place, { email: EMAIL, receipts: RECEIPTS, below })
for (const key of options.organisation ? [] : FEW_KEYS)
  keys.push({ ...key, secret: (await createKey(place, { email: EMAIL, ...key })).key })
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
  if (ACCOUNTS > 1) await addOthers(file, begin)
  const account = (await findAccountByEmail(db, EMAIL)).row
  const keys = (await listWholeKeys(db, undefined, { before: Number.MAX_SAFE_INTEGER, limit: 100_000 })).reverse()
  const caps = options.organisation ? await capsOfKeys(db, keys) : []
  const all = keys.map(({ row, kind, account }, index) => ({
    ...{ row, kind, account, caps: [...(caps[index]?.own ?? []), ...(caps[index]?.shared ?? [])] },
  }))
  const rows = all.filter((key) => key.account === account)
  const others = all.filter((key) => key.account !== account)
  const prices = new Map()
  for (const { id } of MODELS) prices.set(id, await loadPrice(db, id, 1))
  const observer = { batchRecorded() {}, batchFailed: rethrow, recovered() {}, accountUnbalanced() {} }
  const ledger = await openLedger({ db, lowPriorityDb, file, journal, clock, markIntervalMs: 60_000, observer })
  await ledger.assignPlan({ account, plan: 'builder', windows: WINDOWS, endsAt: undefined })
  const run = {
    ledger,
    account,
    rows,
    others,
    prices,
    clock,
    counts: { requests: 0, refused: 0, failed: 0, released: 0 },
  }
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
    const step = ((end - at) * BURST.mean * busy) / steps / (RECEIPTS - counts.requests)
    at = Math.min(at + below(Math.ceil(step * 2) + 1), end)
    steps += 1
    if (at < end && !isBusy(at, below)) continue
    busy += 1
    clock.at = Math.max(clock.at, at)
    const thisMonth = new Date(at).getUTCMonth()
    if (thisMonth !== month) await credit(run, at)
    month = thisMonth
    await burst(run, Math.min(BURST.least + below(BURST.spread), RECEIPTS - counts.requests))
  }
}

async function credit({ ledger, account, others }, at) {
  const ref = `top-up ${new Date(at).toISOString().slice(0, 10)}`
  const payers = new Set([account, ...others.map((key) => key.account)])
  const orders = [...payers].map((payer) => ({ account: payer, kind: 'credit', amount: CREDIT, reason: 'top-up', ref }))
  await Promise.all(orders.map((order) => ledger.credit(order)))
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

async function admit({ ledger, rows, others, prices, clock, counts }) {
  const isOther = others.length > 0 && below(2) === 0
  const own = rows[options.organisation ? drawIndex(below, rows.length) : below(below(2) === 0 ? 2 : rows.length)]
  const key = isOther ? others[below(others.length)] : own
  const drawn = drawRequest(below, options.organisation ? 4 : 1)
  const price = prices.get(drawn.model)
  const admitted = await ledger.admit({
    ...{
      requestId: mintRequestId(clock.at, secureRandom),
      account: key.account,
      key: key.row,
      kind: key.kind,
      model: drawn.model,
    },
    ...{ priceVersion: 1, terms: holdTermsFor(price, drawn.inputBound, 1), clientCap: drawn.cap, modelCap: 8192 },
    ...{ chosenCap: { sharePercent: 25, tokensMin: 1024 }, choices: 1, inputEstimate: drawn.inputBound },
    ...{ cachedEstimate: 0, limits: [], claim: undefined, plan: key.kind === 'builder' ? 'builder' : undefined },
    allowances: key.kind === 'builder' ? [...WINDOWS, ...key.caps] : key.caps,
    ...(options.organisation && { tags: drawTags(below) }),
    ...(others.length > 0 && { tags: JSON.stringify([`branch:b${drawn.cap % 50}`, `repo:r${drawn.cap % 7}`]) }),
  })
  if (admitted.kind === 'admitted') return { admitted, drawn, price, openedAt: clock.at }
  counts.refused += 1
  // An exhausted window stays exhausted for hours, so the clock must advance. The caps of an organisation leave other keys to draw.
  if (!options.organisation) clock.at += below(HOUR / 4)
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

/** Accounts with a wallet, people and teams of the first account, and keys of all. */
async function addOthers(file, at) {
  const ofFirst = Math.floor(MORE_KEYS / 2)
  const people = Math.min(200, ofFirst)
  const teams = Math.min(20, ofFirst)
  const numbers = (from, to) => `WITH RECURSIVE n (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM n WHERE n < ${to})`
  const statements = [
    `INSERT INTO accounts (row, id, email, status, created_at) ${numbers(2, ACCOUNTS)}
      SELECT n, printf('acct_%026d', n), printf('account-%d@localhost', n), 'active', ${at} FROM n`,
    `INSERT INTO buckets (row, unit, kind, account, subject) ${numbers(2, ACCOUNTS)}
      SELECT 1000 + n, 'usd', 'wallet', n, 'wallet' FROM n`,
    `INSERT INTO people (row, id, email, role, account, password, created_at, password_changed_at) ${numbers(1, people)}
      SELECT 1000 + n, printf('usr_%026d', n), printf('person-%d@localhost', n), 'member', 1, 'hash', ${at}, ${at} FROM n`,
    `INSERT INTO teams (row, id, account, name, created_at) ${numbers(1, teams)}
      SELECT n, printf('team_%026d', n), 1, printf('team %d', n), ${at} FROM n`,
    `INSERT INTO keys (row, id, account, kind, name, digest, shown, created_at, person, team) ${numbers(1, ofFirst)}
      SELECT 1000 + n, printf('key_%026d', n), 1, 'wallet', printf('key %d', n), randomblob(32), 'mr_wallet_ab...yz', ${at},
        CASE WHEN n % 3 > 0 THEN 1001 + n % ${people} END, CASE WHEN n % 3 = 0 THEN 1 + n % ${teams} END FROM n`,
    `INSERT INTO keys (row, id, account, kind, name, digest, shown, created_at) ${numbers(ofFirst + 1, MORE_KEYS)}
      SELECT 1000 + n, printf('key_%026d', n), 2 + n % ${ACCOUNTS - 1}, 'wallet', printf('key %d', n), randomblob(32),
        'mr_wallet_ab...yz', ${at} FROM n`,
  ]
  await file.atomic(statements.map((sql) => ({ sql, rows: [[]] })))
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
  const limits = options.organisation ? `limits: { keys_per_account: ${KEYS_OF_ORGANISATION} }\n` : ''
  return `upstreams: [{ id: demo, wire: demo }]
${limits}models:
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
