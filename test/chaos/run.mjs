// kill -9 under load, audited from what the clients saw. See README.md.
//
//   node test/chaos/run.mjs [--kills 20] [--clients 40] [--seed N] [--seconds-max 300] [--slack-ms 150]
//                           [--mutant settle-after-end] [--dist FOLDER]
import { setTimeout as sleep } from 'node:timers/promises'
import { INVARIANTS } from './lib/audit.mjs'
import { auditCredits } from './lib/audit-books.mjs'
import { millrace, verifyBooks } from './lib/cli.mjs'
import { startClients } from './lib/clients.mjs'
import { printFigures, printViolations } from './lib/figures.mjs'
import { finish } from './lib/finish.mjs'
import { openGround } from './lib/ground.mjs'
import { MUTANTS } from './lib/mutations.mjs'
import { readOptions } from './lib/options.mjs'
import { proveMutants } from './lib/prove-mutants.mjs'
import { readMetrics } from './lib/read-metrics.mjs'
import { createStage } from './lib/stage.mjs'

const LIFE_MS = { from: 250, to: 950 }
/** After the last kill the server must serve as if nothing had been. */
const CALM_MS = 1500
/** Every so many lives somebody adds money, and the kill may fall into that too. */
const LIVES_A_CREDIT = 3

const options = readOptions({ kills: 20, clients: 40, 'seconds-max': 300, mutant: '' })
console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
const ground = await openGround(options)
if (options.mutant === '') await killAndAudit()
else
  await proveMutants(
    ground,
    MUTANTS.filter(({ name }) => name === options.mutant),
  )
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

  printFigures(result.figures, { kills: stage.kills.length, starts: stage.starts, commits })
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
  tally.check(stage.kills.length === options.kills, `${stage.kills.length} of ${options.kills} kills were done in time`)
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
    await stage.start()
  }
  return credits
}

/** The reference makes it safe to try until it is acknowledged. */
async function addCredit(stage, credits) {
  const credit = { ref: `top-${credits.length + 1}`, amount: '0.05' }
  credits.push(credit)
  const words = ['wallet', 'credit', 'modest@localhost', credit.amount, '--reason', 'chaos', '--ref', credit.ref]
  for (;;) {
    try {
      return await millrace(stage.place, ...words)
    } catch (error) {
      if (!isKilledInTheMiddle(error)) throw error
    }
  }
}

/** The exit code of a command whose server broke off. */
const isKilledInTheMiddle = ({ code }) => code === 5

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
