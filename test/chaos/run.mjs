// kill -9 under load, audited from what the clients saw. See README.md.
//
//   node test/chaos/run.mjs [--kills 20] [--clients 40] [--seed N] [--seconds-max 300] [--slack-ms 400]
//                           [--mutant settle-after-end] [--dist FOLDER]
import { setTimeout as sleep } from 'node:timers/promises'
import { INVARIANTS } from './lib/audit.mjs'
import { auditCredits } from './lib/audit-books.mjs'
import { millrace, verifyBooks } from './lib/cli.mjs'
import { startClients } from './lib/clients.mjs'
import { printFigures, printViolations, quantile } from './lib/figures.mjs'
import { finish } from './lib/finish.mjs'
import { openGround } from './lib/ground.mjs'
import { chooseMutants } from './lib/mutations.mjs'
import { readOptions } from './lib/options.mjs'
import { proveMutants } from './lib/prove-mutants.mjs'
import { readMetrics } from './lib/read-metrics.mjs'
import { MARK_INTERVAL_MS } from './lib/scene.mjs'
import { createStage } from './lib/stage.mjs'

const LIFE_MS = { from: 250, to: 950 }
/** How many starts are killed too, and how long after they have begun to resolve what was left open. */
const STUMBLES = 0.4
const STUMBLE_MS_MAX = 30
/** After the last kill the server must serve as if nothing had been. */
const CALM_MS = 1500
/** Every so many lives somebody adds money, and the kill may fall into that too. */
const LIVES_A_CREDIT = 3
/** The exit code of a command whose server broke off in the middle. */
const EXIT_SERVER_BROKE_OFF = 5

const options = readOptions({ kills: 20, clients: 40, 'seconds-max': 300, mutant: '' })
console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
const ground = await openGround(options)
if (options.mutant === '') await killAndAudit()
else await proveMutants(ground, chooseMutants(options.mutant))
ground.tally.close()

async function killAndAudit() {
  const { trueDist, template, accounts, random, slackMs, tally } = ground
  const stage = await createStage({ dist: trueDist, template, random })
  await stage.start()
  const clients = startClients({ stage, accounts, random, count: options.clients })
  const credits = await liveAndDie(stage)
  await sleep(CALM_MS)
  const underLoad = await verifyBooks(stage.place)
  await clients.stop()
  const commits = await readMetrics(stage.metricsPort)
  const result = await finish({ stage, trueDist, slackMs })
  const violations = [...result.violations, ...auditCredits(result.books, credits)]

  const { kills, starts } = stage
  const stumbles = { all: stage.stumbles.length, inRecovery: countInRecovery(stage.stumbles, result.books) }
  const cut = credits.reduce((sum, { tries }) => sum + tries - 1, 0)
  printFigures(result.figures, { kills: kills.length, starts, stumbles, credits: credits.length, cut, commits })
  printViolations(violations)
  for (const [invariant, says] of Object.entries(INVARIANTS)) {
    tally.check(!violations.some((violation) => violation.invariant === invariant), `${invariant}: ${says}`)
  }
  tally.check(underLoad.ok, 'db verify finds nothing while the clients go on')
  tally.check(result.exit === 0, `the server ends by itself when it is asked to (${result.exit})`)
  const errors = stage
    .readLog()
    .split('\n')
    .filter((line) => /"level":"?(error|fatal|50|60)/.test(line))
  tally.check(errors.length === 0, `the server logged ${errors.length} errors`)
  tally.check(kills.length === options.kills, `${kills.length} of ${options.kills} kills were done in time`)
  const forgivenMs = quantile(result.figures.forgivenMs, 0.5)
  tally.check(
    forgivenMs <= MARK_INTERVAL_MS,
    `half of the kills' answers forgave no more than the last ${forgivenMs} ms`,
  )
  checkCoverage(result.figures, tally)
  if (violations.length === 0 && errors.length === 0) stage.clear()
  else console.log(`The data folder and the log of the server are in ${stage.folder}`)
}

/** Kills at random moments, and starts again on what is left. Returns the credits that must be in the books. */
async function liveAndDie(stage) {
  const until = performance.now() + options['seconds-max'] * 1000
  const credits = []
  for (let life = 0; life < options.kills && performance.now() < until; life++) {
    const credit = life % LIVES_A_CREDIT === 0 ? addCredit(stage, credits) : undefined
    await sleep(ground.random.between(LIFE_MS.from, LIFE_MS.to))
    stage.kill()
    await stage.died()
    // A command that finds no server opens the books itself; the next server must find them free.
    await credit
    if (ground.random.chance(STUMBLES)) await stage.stumble(ground.random.between(0, STUMBLE_MS_MAX))
    await stage.start()
  }
  return credits
}

/** How many killed starts had resolved some of what was left open, and not all of it. */
function countInRecovery(stumbles, { receipts }) {
  const recovered = receipts.filter(({ outcome }) => outcome === 'recovered')
  const isCut = ({ from, to }) =>
    recovered.some(({ closed_at }) => closed_at >= from && closed_at <= to) &&
    recovered.some(({ opened_at, closed_at }) => opened_at < from && closed_at > to)
  return stumbles.filter(isCut).length
}

/** The reference makes it safe to try until it is acknowledged. */
async function addCredit(stage, credits) {
  const credit = { ref: `top-${credits.length + 1}`, amount: '0.05', tries: 0 }
  credits.push(credit)
  const words = ['wallet', 'credit', 'modest@localhost', credit.amount, '--reason', 'chaos', '--ref', credit.ref]
  for (;;) {
    credit.tries += 1
    try {
      return await millrace(stage.place, ...words)
    } catch (error) {
      if (error.code !== EXIT_SERVER_BROKE_OFF) throw error
    }
  }
}

/** A run that saw none of these has proved nothing about them. */
function checkCoverage(figures, tally) {
  const seen = {
    completions: figures.completed >= 10 * options.kills,
    'partial answers': figures.partial >= options.kills,
    'hang-ups': figures.underAborted.length > 0,
    'recovered free and charged': figures.recoveredFree > 0 && figures.recoveredCharged > 0,
    'refusals 402 and 404': figures.denied[402] > 0 && figures.denied[404] > 0,
  }
  for (const [what, enough] of Object.entries(seen)) tally.check(enough, `the load had ${what}`)
}
