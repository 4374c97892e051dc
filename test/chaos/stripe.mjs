// Payments by card through deliveries of webhooks that are shuffled, repeated, delayed and lost, with kills of the server between: each
// payment is credited once, refunds and disputes end right, and the books hold. See README.md.
//
//   node test/chaos/stripe.mjs [--deliveries 10000] [--kills 20] [--seed N] [--dist FOLDER]
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readOptions } from '../program/options.mjs'
import { millrace, placeIn, startServer, verifyLedger } from '../program/program.mjs'
import { createRandom } from '../program/random.mjs'
import { deliver, startStripe } from '../program/stripe.mjs'
import { createTally } from '../program/tally.mjs'
import { auditPayments, readPaymentRows } from './lib/audit-payments.mjs'
import { openPayer } from './lib/payers.mjs'

/** Events of a payment and the copies of each, on average: how many payments make so many deliveries. */
const DELIVERIES_OF_PAYMENT = 9
const COPIES_MAX = 4
/** An account may have this many open payments. */
const PAYMENTS_OF_ACCOUNT = 18
const AT_ONCE = 24
const REFUNDED = 0.25
const REFUNDED_AGAIN = 0.3
const DISPUTED = 0.08
const WON = 0.5
/** Of these no delivery ever arrives: reconciliation finds them. */
const LOST = 0.02
/** Of these accounts the wallet is spent meanwhile, so that it cannot give everything back. */
const SPENDERS = 2
const UNANSWERED_MS = 100

const options = readOptions({ deliveries: 10_000, kills: 20 })
console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
const random = createRandom(options.seed)
const tally = createTally()
const stripe = await startStripe()
const folder = mkdtempSync(join(tmpdir(), 'millrace-chaos-stripe-'))
const place = placeIn(folder, { dist: options.dist })
mkdirSync(place.data)
writeFileSync(
  place.config,
  `${stripe.config()}server: { metrics_port: 0 }\ntelemetry: { log: { level: warn } }\noverload: { loop_delay: off }\n`,
)

let server
let url
let kills = 0
await start()
const payers = await openPayers()
const payments = await payAll()
const late = []
const queue = planDeliveries()
const told = { delivered: 0, repeated: 0, failed: 0 }
await storm()
const before = await millrace(place, 'payments', 'reconcile')
const after = await millrace(place, 'payments', 'reconcile')
server.kill('SIGTERM')
const { code } = await server.ended
const rows = await readPaymentRows(place)
const verify = await verifyLedger(place)
judge()
await stripe.close()
tally.close()

async function start() {
  server = startServer(place, { logPath: join(folder, 'server.log') })
  url = await server.ready
}

async function openPayers() {
  const wanted = Math.ceil(options.deliveries / DELIVERIES_OF_PAYMENT / PAYMENTS_OF_ACCOUNT) + SPENDERS
  const { secret } = await millrace(place, 'admin-keys', 'create', '--name', 'payers', '--scopes', 'admin')
  const opened = []
  for (let count = 0; count < wanted; count++) {
    opened.push(await openPayer({ url, secret, email: `payer${count}@example.com`, isSpender: count < SPENDERS }))
  }
  return opened
}

/** All is paid at the provider, and given back or disputed, before anything is delivered. */
async function payAll() {
  const paid = []
  for (const payer of payers) {
    for (let count = 0; count < PAYMENTS_OF_ACCOUNT; count++) {
      const cents = 500 + random.below(9500)
      const { payment, session } = await payer.startTopUp(cents)
      stripe.pay(session)
      const intent = stripe.sessions.get(session).payment_intent
      const back = random.chance(REFUNDED)
        ? refund(intent, cents)
        : random.chance(DISPUTED)
          ? dispute(intent, cents)
          : 0
      paid.push({
        payment,
        intent,
        cents,
        back,
        account: payer.account,
        isSpender: payer.isSpender,
        isLost: random.chance(LOST),
      })
    }
  }
  return paid
}

function refund(intent, cents) {
  const first = 1 + random.below(cents)
  stripe.refund(intent, first)
  if (first === cents || !random.chance(REFUNDED_AGAIN)) return first
  stripe.refund(intent, cents - first)
  return cents
}

function dispute(intent, cents) {
  const id = stripe.dispute(intent, cents)
  if (!random.chance(0.7)) return cents
  const isWon = random.chance(WON)
  stripe.closeDispute(id, isWon ? 'won' : 'lost')
  return isWon ? 0 : cents
}

function intentOf({ object, id, payment_intent: intent }) {
  return object === 'payment_intent' ? id : intent
}

/** Copies of all events but the lost ones, in any order. What spenders get back comes when all is spent. */
function planDeliveries() {
  const lost = new Set(payments.filter(({ isLost }) => isLost).map(({ intent }) => intent))
  const arriving = stripe.events.filter(({ data }) => !lost.has(intentOf(data.object)))
  const spent = new Set(payments.filter(({ isSpender }) => isSpender).map(({ intent }) => intent))
  const isLate = ({ type, data }) => type === 'charge.refunded' && spent.has(intentOf(data.object))
  late.push(...arriving.filter(isLate))
  const events = arriving.filter((event) => !isLate(event))
  const copies = events.flatMap((event) => Array.from({ length: 1 + random.below(COPIES_MAX) }, () => event))
  for (let count = copies.length; count < options.deliveries; count++) copies.push(random.pick(events))
  return shuffle(copies)
}

function shuffle(list) {
  for (let at = list.length - 1; at > 0; at--) {
    const other = random.below(at + 1)
    ;[list[at], list[other]] = [list[other], list[at]]
  }
  return list
}

/** Several deliveries at once, and a kill after so many. What was not taken comes again, as Stripe does it. */
async function storm() {
  const total = queue.length
  const killAt = Array.from({ length: options.kills }, (_, index) =>
    Math.floor(((index + random.next()) / options.kills) * total),
  )
  const spendAt = [0.3, 0.6, 0.9].map((share) => Math.floor(share * total))
  const seen = new Set()
  let killing = Promise.resolve()
  let spending = Promise.resolve()
  const work = async () => {
    for (;;) {
      const event = queue.pop()
      if (event === undefined) return
      const status = await deliver(url, event)
      if (status !== 200) {
        told.failed += 1
        queue.splice(random.below(queue.length + 1), 0, event)
        await sleep(UNANSWERED_MS)
        continue
      }
      told.delivered += 1
      if (seen.has(event.id)) told.repeated += 1
      seen.add(event.id)
      if (told.delivered >= killAt[kills]) {
        kills += 1
        killing = killing.then(killNow)
      }
      if (told.delivered >= spendAt[0]) {
        spendAt.shift()
        spending = spending.then(spend)
      }
    }
  }
  const workers = () => Promise.all(Array.from({ length: AT_ONCE }, work))
  await workers()
  await Promise.all([killing, spending])
  await spend(1)
  queue.push(...shuffle(late.flatMap((event) => [event, event])))
  await workers()
}

async function killNow() {
  await sleep(random.below(40))
  server.kill('SIGKILL')
  await server.ended
  await start()
}

/** Most of what the wallet has, as requests would. */
async function spend(share = 0.9) {
  for (const payer of payers.filter(({ isSpender }) => isSpender)) {
    // The server may be dead.
    await payer.spend({ url, share, ref: `spent-${random.below(1e9)}` }).catch(() => {})
  }
}

function judge() {
  const counted = { payments: payments.length, events: stripe.events.length, ...told, kills }
  console.log(
    Object.entries(counted)
      .map(([name, count]) => `${name} ${count}`)
      .join(', '),
  )
  const { violations, figures } = auditPayments({ payments, rows })
  console.log(
    Object.entries(figures)
      .map(([name, count]) => `${name} ${count}`)
      .join(', '),
  )
  for (const [invariant, found] of Object.entries(violations)) {
    for (const text of found.slice(0, 5)) console.log(`  ${text}`)
    tally.check(found.length === 0, `${invariant} (${found.length} violations)`)
  }
  const lost = payments.filter(({ isLost }) => isLost).length
  tally.check(
    before.differences.length >= lost,
    `reconciliation finds the ${lost} payments of which nothing arrived (${before.differences.length})`,
  )
  tally.check(after.differences.length === 0 && after.failures.length === 0, 'a second reconciliation finds nothing')
  tally.check(verify.ok, `the books hold (${verify.violations} violations)`)
  tally.check(code === 0, `the server ends by itself when it is asked to (${code})`)
  tally.check(
    told.delivered >= options.deliveries && kills >= options.kills,
    `${told.delivered} deliveries, ${kills} kills`,
  )
  tally.check(
    told.repeated > 0 && told.failed > 0,
    `${told.repeated} were repeated, and ${told.failed} met a dead server`,
  )
  tally.check(
    figures.owing > 0 && figures.refunded > 0 && figures.disputed > 0,
    'payments were refunded, disputed, and owed',
  )
  if (!tally.isPassed) console.log(`The data folder and the log of the server are in ${folder}`)
  else rmSync(folder, { recursive: true, force: true })
}
