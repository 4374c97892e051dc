// Backups at random moments under load, each restored elsewhere and held against what the clients had seen by then. See README.md.
//
//   node test/chaos/backup.mjs [--times 20] [--clients 40] [--seed N] [--slack-ms 400] [--go-on 3] [--dist FOLDER]
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readOptions } from '../program/options.mjs'
import { millrace, placeIn, verifyLedger } from '../program/program.mjs'
import { copyWreck, readLedgerRows } from '../program/read-ledger.mjs'
import { notesAsOf } from './lib/as-of.mjs'
import { audit, auditWreck, INVARIANTS } from './lib/audit.mjs'
import { auditCredits } from './lib/audit-rows.mjs'
import { startClients } from './lib/clients.mjs'
import { printViolations } from './lib/figures.mjs'
import { finish } from './lib/finish.mjs'
import { sendUntilAnswered } from './lib/keyed-client.mjs'
import { createOperator } from './lib/operator.mjs'
import { MARK_INTERVAL_MS } from './lib/scene.mjs'
import { createStage } from './lib/stage.mjs'
import { openStageContext } from './lib/workspace.mjs'

/**
 * A backup is verified on the same machine: on two cores it and forty clients make every timer late. Neither the shedding of
 * load nor the silence of a provider is the subject here.
 */
const SETTING = { more: { overload: { loop_delay: 'off' } }, idle: '4s' }
/** Before each backup, and how long the load goes on after the last one. */
const BETWEEN_MS = { from: 100, to: 900 }
const AFTER_MS = 500
/** How long clients go on with a restored server. */
const GO_ON_MS = 1500
/** A restored server's clients choose other things than those of the live one: the same keys would come with other bodies. */
const OTHER_CHOICES = 1_000_000
/** So many of the requests with a key that a backup has are sent again to its restored server. */
const REPEATED_MAX = 60

const options = readOptions({ times: 20, clients: 40, 'go-on': 3 })
console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
const stageContext = await openStageContext(options)
const { random, tally, trueDist, template, accounts, providerPort, slackMs } = stageContext
const folder = mkdtempSync(join(tmpdir(), 'millrace-chaos-backup-'))
const violations = []
const figures = { open: 0, journaled: 0, bytes: 0, recoveredCharged: 0, recoveredFree: 0, requests: 0, tookMs: [] }

const stage = await createStage({ dist: trueDist, template, random, providerPort, ...SETTING })
const backups = await backUpUnderLoad()
for (const [index, backup] of backups.entries()) await judge(backup, index >= backups.length - options['go-on'])
report()

async function backUpUnderLoad() {
  await stage.start()
  const clients = startClients({ stage, accounts, random, count: options.clients })
  const operator = createOperator({ stage, accounts, random })
  const made = []
  for (let index = 0; index < options.times; index++) {
    await sleep(random.between(BETWEEN_MS.from, BETWEEN_MS.to))
    // An act of the operator falls into some of them.
    const acting = random.chance(0.5) ? operator.act() : undefined
    const to = join(folder, `backup-${index}`)
    const from = performance.now()
    const told = await millrace(stage.place, 'db', 'backup', '--to', to)
    figures.tookMs.push(performance.now() - from)
    await acting
    made.push({ index, to, told, at: Date.parse(told.taken_at) })
  }
  await sleep(AFTER_MS)
  await clients.stop()
  const live = await finish({ stage, trueDist, slackMs })
  const found = [...live.violations, ...auditCredits(live.ledgerRows, operator.credits)]
  violations.push(...found.map((violation) => ({ ...violation, says: `the live server: ${violation.says}` })))
  tally.check(live.exit === 0, `the server that was backed up ends by itself (${live.exit})`)
  stage.checkLog(tally)
  const receipts = new Map(live.ledgerRows.receipts.map((receipt) => [receipt.request_id, receipt]))
  return made.map((backup) => ({ ...backup, live: receipts }))
}

/** Restores a backup, and audits it before and after its open requests are ended; then a server may go on with it. */
async function judge({ index, to, told, at, live }, goesOn) {
  const own = join(folder, `restored-${index}`)
  mkdirSync(own)
  cpSync(stage.place.config, join(own, 'millrace.yaml'))
  const place = placeIn(own, { dist: trueDist })
  await millrace(place, 'db', 'restore', '--from', to)
  const report = (found) =>
    violations.push(...found.map((violation) => ({ ...violation, says: `backup ${index}: ${violation.says}` })))

  const copy = copyWreck(place.data)
  const asCopied = await readLedgerRows({ dist: trueDist, data: copy.data })
  copy.clear()
  report(auditWreck(asCopied))
  report(auditAgainstLive(asCopied, live))
  const open = asCopied.receipts.filter(({ state }) => state === 'open').length
  if (open !== told.counts.open_requests) report([counted('open requests', open, told.counts.open_requests)])
  if (asCopied.receipts.length !== told.counts.receipts)
    report([counted('receipts', asCopied.receipts.length, told.counts.receipts)])

  const verify = await verifyLedger(place)
  const ledgerRows = await readLedgerRows(place)
  const notes = notesAsOf(stage.notes, at)
  const facts = { kills: [at], pauses: [], intervalMs: MARK_INTERVAL_MS, slackMs }
  const audited = audit({ ...facts, notes, ledgerRows, verify })
  report(audited.violations)
  figures.open += open
  figures.journaled += told.counts.ends_in_journal
  figures.bytes = Math.max(figures.bytes, told.bytes)
  figures.requests += notes.length
  figures.recoveredFree += audited.figures.recoveredFree
  figures.recoveredCharged += audited.figures.recoveredCharged
  if (goesOn) report(await goOn({ own, notes, at, random: random.fork(OTHER_CHOICES + index) }))
  rmSync(own, { recursive: true, force: true })
}

const counted = (what, found, said) => ({
  invariant: 'verify',
  id: 'manifest',
  says: `${found} ${what}, it says ${said}`,
})

/** A charge in the copy is the charge of the live books, to the nano-dollar. */
function auditAgainstLive({ receipts }, live) {
  return receipts.flatMap(({ request_id: id, state, charge_nano, outcome }) => {
    const same = live.get(id)
    if (!same) return [{ invariant: 'owned', id, says: 'is not in the live books' }]
    if (state === 'open' || (same.state === state && same.charge_nano === charge_nano && same.outcome === outcome))
      return []
    return [
      { invariant: 'I5', id, says: `is ${state} with ${charge_nano}, and live ${same.state} with ${same.charge_nano}` },
    ]
  })
}

/**
 * A server begins on the restored folder. Its clients know what they had seen by the backup, and send again what they had sent
 * with a key: what the copy has is given again or refused, and nothing is charged a second time.
 */
async function goOn({ own, notes, at, random }) {
  const next = await createStage({ dist: trueDist, template: own, random, providerPort, ...SETTING })
  next.notes.push(...notes)
  next.kills.push(at)
  await next.start()
  const clients = startClients({ stage: next, accounts, random, count: options.clients })
  const keyed = new Map(
    notes.flatMap(({ sendTurn }) => (sendTurn.once && !sendTurn.isOther ? [[sendTurn.once, sendTurn]] : [])),
  )
  const repeated = [...keyed.values()].slice(-REPEATED_MAX)
  await Promise.all(repeated.map((sendTurn) => sendUntilAnswered(next, sendTurn, random)))
  figures.repeated = (figures.repeated ?? 0) + repeated.length
  await sleep(GO_ON_MS)
  await clients.stop()
  const result = await finish({ stage: next, trueDist, slackMs })
  tally.check(result.exit === 0, `a server on a restored folder ends by itself (${result.exit})`)
  const errors = next.checkLog(tally)
  figures.replays = (figures.replays ?? 0) + result.figures.replays
  if (result.violations.length === 0 && errors.length === 0) next.clear()
  else console.log(`The data folder and the log of the server are in ${next.folder}`)
  return result.violations
}

function report() {
  const took = figures.tookMs.sort((a, b) => a - b)
  console.log(`requests that backups were held against: ${figures.requests}`)
  console.log(
    `open requests in ${backups.length} backups: ${figures.open}; recovered ${figures.recoveredFree} free, ${figures.recoveredCharged} charged`,
  )
  console.log(`ends that only a journal had: ${figures.journaled}`)
  console.log(
    `keys sent again to restored servers: ${figures.repeated ?? 0}; answers given again ${figures.replays ?? 0}`,
  )
  console.log(
    `a backup took ${took[took.length >> 1]?.toFixed(0)} ms (median), at most ${took.at(-1)?.toFixed(0)}; the largest has ${(figures.bytes / 2 ** 20).toFixed(1)} MiB`,
  )
  printViolations(violations)
  for (const [invariant, says] of Object.entries(INVARIANTS)) {
    const count = violations.filter((violation) => violation.invariant === invariant).length
    tally.check(count === 0, `${invariant}: ${says} (${count} violations)`)
  }
  tally.check(backups.length === options.times, `${backups.length} of ${options.times} backups were made and restored`)
  tally.check(figures.open > 0, `the backups had open requests (${figures.open})`)
  tally.check(figures.replays > 0, `restored servers gave answers again (${figures.replays})`)
  const left = readdirSync(folder).filter((name) => name.includes('.partial'))
  tally.check(left.length === 0, `no unfinished backup is left (${left.length})`)
  const isOpenToOthers = backups.some(({ to }) => (statSync(to).mode & 0o077) !== 0)
  tally.check(!isOpenToOthers, 'a backup is readable for its owner alone')
  if (violations.length === 0) {
    stage.clear()
    rmSync(folder, { recursive: true, force: true })
  } else console.log(`The backups are in ${folder}, the live books in ${stage.folder}`)
  tally.close()
}
