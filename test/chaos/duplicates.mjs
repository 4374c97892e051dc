// The same requests many times at once, with hang-ups and kills: one charge a key, and the same bytes for everybody.
//
//   node test/chaos/duplicates.mjs [--keys 250] [--copies 4] [--kills 4] [--seed N] [--seconds-max 150]
import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { readOptions } from '../program/options.mjs'
import { verifyLedger } from '../program/program.mjs'
import { readLedgerRows } from '../program/read-ledger.mjs'
import { sendKeyed } from './lib/keyed-request.mjs'
import { nanoOf } from './lib/price.mjs'
import { createStage } from './lib/stage.mjs'
import { openStageContext } from './lib/workspace.mjs'

const LIFE_MS = { from: 300, to: 1300 }
const HANG_UPS = 0.3
const AGAIN_MS = { from: 30, to: 300 }
const WORDS_MAX = 25
/** What a client may be told while it must only come back. */
const PASSING = new Set(['idempotency_in_progress', 'server_draining', 'ledger_unavailable', 'server_is_overloaded'])

const options = readOptions({ keys: 250, copies: 4, kills: 4, 'seconds-max': 150 })
console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
const stageContext = await openStageContext(options)
const { random, tally, accounts, trueDist, template } = stageContext
const deadline = performance.now() + options['seconds-max'] * 1000
const stage = await createStage({ dist: trueDist, template, random, providerPort: stageContext.providerPort })
const agent = new Agent({ keepAlive: true })
const counts = {}
/** Of each request that was told of a running one: whether status and advice were right. */
const inProgress = []
const count = (what) => {
  counts[what] = (counts[what] ?? 0) + 1
}

await stage.start()
const apiKeys = accounts[0].keys
const requests = Array.from({ length: options.keys }, (_, index) => planRequest(index))
const killing = killNowAndThen()
const outcomes = await Promise.all(requests.map((receivedRequest, index) => runCopies(receivedRequest, index)))
await killing
const underLoad = await verifyLedger(stage.place)
const late = await Promise.all(requests.map((receivedRequest) => sendOnce(receivedRequest, undefined)))
const refusals = await sendWrongly()
const exit = await stage.stop()
const ledgerRows = await readLedgerRows({ ...stage.place, dist: trueDist })
const verify = await verifyLedger({ ...stage.place, dist: trueDist })
judge()
agent.destroy()
tally.close()

function planRequest(index) {
  const stream = random.chance(0.7)
  const body = {
    model: random.pick(['paced', 'fast', 'either']),
    messages: [{ role: 'user', content: `count to ${1 + random.below(WORDS_MAX)}` }],
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
  }
  return { idempotencyKey: `key-${index}`, apiKey: random.pick(apiKeys), body: JSON.stringify(body) }
}

function sendOnce(receivedRequest, abortAfterMs) {
  return sendKeyed({ port: stage.port, agent, ...receivedRequest, abortAfterMs })
}

/** The same keys with another body, and headers that are no key: what each was told, by how often. */
async function sendWrongly() {
  const other = await Promise.all(
    requests.map((receivedRequest) => sendOnce({ ...receivedRequest, body: ` ${receivedRequest.body}` })),
  )
  const [receivedRequest] = requests
  const wrong = ['', 'two words', '"open', 'x'.repeat(256), ['one', 'two'], ['same', 'same']]
  const odd = await Promise.all(wrong.map((idempotencyKey) => sendOnce({ ...receivedRequest, idempotencyKey })))
  const reported = {}
  for (const { status, code } of [...other, ...odd])
    reported[`${status} ${code}`] = (reported[`${status} ${code}`] ?? 0) + 1
  return reported
}

/** All copies of one request at once, each until it has been told something that will not change. */
function runCopies(receivedRequest, index) {
  const copies = Array.from({ length: options.copies }, (_, copy) => random.fork(index * 100 + copy))
  return Promise.all(copies.map((luck) => sendUntilAnswered(receivedRequest, luck)))
}

async function sendUntilAnswered(receivedRequest, luck) {
  for (let tries = 0; performance.now() < deadline; tries++) {
    await stage.gate.passed()
    const hangsUp = luck.chance(HANG_UPS) && tries < 3
    const note = await sendOnce(receivedRequest, hangsUp ? luck.between(0, 400) : undefined)
    if (note.code === 'idempotency_in_progress') inProgress.push(note.status === 409 && note.retryAfter === '2')
    count(note.code ?? (note.replayed ? 'replayed' : note.ended))
    if (note.ended === 'whole' || note.ended === 'failed') return note
    if (note.ended === 'refused' && !PASSING.has(note.code)) return note
    await sleep(luck.between(AGAIN_MS.from, AGAIN_MS.to))
  }
  return { ended: 'out of time' }
}

async function killNowAndThen() {
  for (let kills = 0; kills < options.kills; kills++) {
    await sleep(random.between(LIFE_MS.from, LIFE_MS.to))
    stage.kill()
    await stage.died()
    await stage.start()
  }
}

function judge() {
  const violations = []
  const receipts = new Map(ledgerRows.receipts.map((receipt) => [receipt.request_id, receipt]))
  const kept = { whole: 0, lost: 0 }
  for (const [index, notes] of outcomes.entries()) {
    const reported = [...notes, late[index]]
    const object = (says) => violations.push(`${requests[index].idempotencyKey}: ${says}`)
    const whole = reported.filter(({ ended }) => ended === 'whole')
    if (new Set(whole.map(({ digest }) => digest)).size > 1) object('not everybody got the same bytes')
    if (new Set(whole.map(({ original }) => original)).size > 1) object('the answers are those of several requests')
    for (const { ended, code } of reported) {
      if (ended !== 'whole' && code !== 'idempotency_not_replayable') object(`was told ${code ?? ended}`)
    }
    if (whole.length === 0) kept.lost += 1
    else kept.whole += 1
    if (whole.length > 0) judgeCharge(receipts.get(whole[0].original), whole[0], object)
    // Who has read a whole answer has been charged; a copy that came late finds the same or that it is not kept.
    if (late[index].ended === 'whole' && !late[index].replayed) object('ran again')
  }
  const settled = ledgerRows.receipts.filter(({ state }) => state === 'settled')
  const claimed = new Map(ledgerRows.claims.map((claim) => [claim.receipt, claim]))
  const unclaimed = settled.filter(({ row }) => !claimed.has(row))
  const lost = settled.filter(({ row }) => claimed.get(row)?.state === 'not-kept')
  const charged = settled.reduce((sum, { charge_nano }) => sum + charge_nano, 0n)
  const wallet = walletOf(accounts[0].email)

  console.log(JSON.stringify({ ...counts, receipts: ledgerRows.receipts.length, settled: settled.length, keys: kept }))
  for (const says of violations.slice(0, 20)) console.log(`  ${says}`)
  tally.check(violations.length === 0, `every copy of a key was told the same (${violations.length} violations)`)
  console.log(`wrong on purpose: ${JSON.stringify(refusals)}`)
  tally.check(
    refusals['422 idempotency_key_reused'] === options.keys &&
      refusals['400 idempotency_key_invalid'] === 4 &&
      refusals['400 duplicate_header'] === 2,
    'another body is 422, what is no key 400',
  )
  const statuses = outcomes.flat().filter(({ code }) => code === 'idempotency_not_replayable')
  tally.check(
    inProgress.every(Boolean) && statuses.every(({ status }) => status === 409),
    `running and not kept is 409, the first with retry-after (${inProgress.length}, ${statuses.length})`,
  )
  tally.check(settled.length === options.keys, `${settled.length} charges for ${options.keys} keys`)
  tally.check(
    ledgerRows.claims.length === options.keys && unclaimed.length === 0,
    'each charge has the one claim of its key',
  )
  tally.check(
    lost.every(({ outcome }) => outcome === 'recovered'),
    `only what a kill cut short cannot be given again (${lost.length})`,
  )
  tally.check(wallet === nanoOf(accounts[0].credit) - charged, 'the wallet is its credit less the charges')
  tally.check(
    ledgerRows.receipts.every(({ state }) => state !== 'open'),
    'nothing is left open',
  )
  tally.check(underLoad.ok && verify.ok, 'db verify finds nothing, while it serves and at rest')
  tally.check(exit === 0, `the server ends by itself when it is asked to (${exit})`)
  const seen = ['replayed', 'whole', 'aborted', 'broken', 'idempotency_in_progress'].filter((what) => !counts[what])
  tally.check(
    seen.length === 0 || options.kills === 0,
    `the load had everything (missing: ${seen.join(', ') || 'nothing'})`,
  )
  stage.checkLog(tally)
  if (violations.length === 0) stage.clear()
  else console.log(`The data folder and the log of the server are in ${stage.folder}`)
}

function judgeCharge(receipt, { reported }, object) {
  if (receipt?.state !== 'settled') return object(`was given whole, and its receipt is ${receipt?.state}`)
  if (receipt.charge_nano !== nanoOf(reported)) object(`was told ${reported}, was charged ${receipt.charge_nano}`)
}

function walletOf(email) {
  const { row } = ledgerRows.accounts.find((account) => account.email === email)
  return ledgerRows.buckets.find(({ account, kind }) => account === row && kind === 'wallet').posted_nano
}
