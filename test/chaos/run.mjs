// kill -9 under load, audited from what the clients saw. See README.md.
//
//   node test/chaos/run.mjs [--kills 20] [--clients 40] [--seed N] [--seconds-max 300] [--slack-ms 400]
//                           [--mutant settle-after-end] [--dist FOLDER]
import { setTimeout as sleep } from 'node:timers/promises'
import { readOptions } from '../program/options.mjs'
import { verifyLedger } from '../program/program.mjs'
import { copyWreck, readLedgerRows } from '../program/read-ledger.mjs'
import { auditWreck, INVARIANTS } from './lib/audit.mjs'
import { auditCredits } from './lib/audit-rows.mjs'
import { startClients } from './lib/clients.mjs'
import { printFigures, printViolations, quantile } from './lib/figures.mjs'
import { finish } from './lib/finish.mjs'
import { chooseMutants } from './lib/mutations.mjs'
import { createOperator } from './lib/operator.mjs'
import { proveMutants } from './lib/prove-mutants.mjs'
import { createCommitStatistics, readMetrics } from './lib/read-metrics.mjs'
import { MARK_INTERVAL_MS } from './lib/scene.mjs'
import { createStage } from './lib/stage.mjs'
import { openStageContext } from './lib/workspace.mjs'

const LIFE_MS = { from: 250, to: 950 }
/** Now and then one that is long enough for a provider's silence to be noticed. */
const LONG_LIFE_MS = { from: 1800, to: 2400 }
const LIVES_A_LONG_ONE = 5
/** How many lives stand still for a while, and how many die in it. Shorter than the silence of a provider. */
const PAUSES = 0.3
const DEATHS_IN_PAUSE = 0.15
const PAUSE_MS = { from: 30, to: 300 }
/** How many starts are killed too, and how long after they have begun to resolve what was left open. */
const STUMBLES = 0.4
const STUMBLE_MS_MAX = 30
/** After the last kill the server must serve as if nothing had been. */
const CALM_MS = 1500
/** In so many lives the operator changes something, and the kill may fall into that too. */
const ACTS = 0.5
/** Of the kills into which nothing of the operator's fell, so many leave books that are read as they are. */
const WRECKS = 0.6

const options = readOptions({ kills: 20, clients: 40, 'seconds-max': 300, mutant: '' })
console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
const stageContext = await openStageContext(options)
const { random, tally } = stageContext
const statistics = createCommitStatistics()
const wrecks = { count: 0, open: 0, violations: [] }
if (options.mutant === '') await killAndAudit()
else await proveMutants(stageContext, chooseMutants(options.mutant))
tally.close()

async function killAndAudit() {
  const { trueDist, template, accounts, slackMs, providerPort } = stageContext
  const stage = await createStage({ dist: trueDist, template, random, providerPort })
  await stage.start()
  const clients = startClients({ stage, accounts, random, count: options.clients })
  const operator = createOperator({ stage, accounts, random })
  await liveAndDie(stage, operator)
  await sleep(CALM_MS)
  const underLoad = await verifyLedger(stage.place)
  await clients.stop()
  statistics.add(await readMetrics(stage.metricsPort))
  const result = await finish({ stage, trueDist, slackMs })
  const violations = [...result.violations, ...auditCredits(result.ledgerRows, operator.credits), ...wrecks.violations]

  const { kills, pauses, starts } = stage
  const stumbles = { all: stage.stumbles.length, inRecovery: countInRecovery(stage.stumbles, result.ledgerRows) }
  const commits = statistics.summary()
  const reported = {
    kills: kills.length,
    pauses: pauses.length,
    starts,
    stumbles,
    wrecks,
    actions: operator.done,
    commits,
  }
  printFigures(result.figures, reported)
  printViolations(violations)
  for (const [invariant, says] of Object.entries(INVARIANTS)) {
    const count = violations.filter((violation) => violation.invariant === invariant).length
    tally.check(count === 0, `${invariant}: ${says} (${count} violations)`)
  }
  tally.check(underLoad.ok, 'db verify finds nothing while the clients go on')
  tally.check(result.exit === 0, `the server ends by itself when it is asked to (${result.exit})`)
  const errors = stage.checkLog(tally)
  tally.check(kills.length === options.kills, `${kills.length} of ${options.kills} kills were done in time`)
  const forgivenMs = quantile(result.figures.forgivenMs, 0.5)
  tally.check(
    forgivenMs <= MARK_INTERVAL_MS,
    `half of the kills' answers forgave no more than the last ${forgivenMs} ms`,
  )
  checkCoverage(result, operator.done)
  if (violations.length === 0 && errors.length === 0) stage.clear()
  else console.log(`The data folder and the log of the server are in ${stage.folder}`)
}

/** Kills at random moments, and starts again on what is left. */
async function liveAndDie(stage, operator) {
  const until = performance.now() + options['seconds-max'] * 1000
  for (let life = 0; life < options.kills && performance.now() < until; life++) {
    const acting = random.chance(ACTS) ? operator.act() : undefined
    await live(stage, life)
    stage.kill()
    await stage.died()
    if (!acting && random.chance(WRECKS)) await readWreck(stage)
    // A command that finds no server opens the books itself; the next server must find them free.
    await acting
    if (random.chance(STUMBLES)) await stage.stumble(random.between(0, STUMBLE_MS_MAX))
    await stage.start()
  }
}

async function live(stage, life) {
  const span = life % LIVES_A_LONG_ONE === LIVES_A_LONG_ONE - 1 ? LONG_LIFE_MS : LIFE_MS
  const first = random.between(0, span.from)
  await sleep(first)
  if (random.chance(PAUSES)) await stage.pause(random.between(PAUSE_MS.from, PAUSE_MS.to))
  await sleep(random.between(span.from, span.to) - first)
  statistics.add(await readMetrics(stage.metricsPort))
  await sleep(random.between(0, MARK_INTERVAL_MS))
  if (!random.chance(DEATHS_IN_PAUSE)) return
  void stage.pause(PAUSE_MS.to)
  await sleep(random.between(0, PAUSE_MS.to))
}

async function readWreck({ place }) {
  const { data, clear } = copyWreck(place.data)
  const ledgerRows = await readLedgerRows({ dist: stageContext.trueDist, data })
  clear()
  wrecks.count += 1
  wrecks.open += ledgerRows.receipts.filter(({ state }) => state === 'open').length
  wrecks.violations.push(...auditWreck(ledgerRows))
}

/** How many killed starts had resolved some of what was left open, and not all of it. */
function countInRecovery(stumbles, { receipts }) {
  const recovered = receipts.filter(({ outcome }) => outcome === 'recovered')
  const isCut = ({ from, to }) =>
    recovered.some(({ closed_at }) => closed_at >= from && closed_at <= to) &&
    recovered.some(({ opened_at, closed_at }) => opened_at < from && closed_at > to)
  return stumbles.filter(isCut).length
}

/** A run that saw none of these has proved nothing about them. */
function checkCoverage({ figures, ledgerRows }, actions) {
  const denied = (...codes) =>
    codes.every((code) => Object.keys(figures.denied).some((emitted) => emitted.endsWith(code)))
  const settledOn = (kind) =>
    ledgerRows.receipts.some((receipt) => receipt.kind === kind && receipt.state === 'settled')
  const seen = {
    completions: figures.completed >= 10 * options.kills,
    'partial answers': figures.partial >= options.kills,
    'hang-ups': figures.underAborted.length > 0,
    'answers that their provider broke off': figures.failedInside > 0,
    'recovered free and charged': figures.recoveredFree > 0 && figures.recoveredCharged > 0,
    'charges to wallets and to plans': settledOn('wallet') && settledOn('builder'),
    'windows that were opened': ledgerRows.transfers.some(({ kind, unit }) => kind === 'grant' && unit === 'quota'),
    'refusals for want of money': denied('insufficient_balance', 'key_spend_cap_reached', 'allowance_exhausted'),
    'runs that used up their budget': denied('run_budget_exceeded'),
    'refusals of providers': denied('server_is_overloaded') && (denied('upstream_busy') || denied('upstream_timeout')),
    'answers given again, in progress and with another body':
      figures.replays > 0 && figures.reused > 0 && denied('idempotency_in_progress'),
    'keys whose answer a kill cut': denied('idempotency_not_replayable'),
    'acts of the operator': actions.credit > 0 && actions.plan > 0,
    'open holds in the books that kills left': wrecks.open > 0,
  }
  for (const [what, enough] of Object.entries(seen)) tally.check(enough, `the load had ${what}`)
}
