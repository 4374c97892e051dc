// Proves that the suites beside the code would see the faults they are there for. See README.md.
//
//   node test/mutants/run.mjs [--only NAME,NAME] [--part 1/2]
import { parseArgs } from 'node:util'
import { copySource } from '../program/copies.mjs'
import { endInOrder } from '../program/options.mjs'
import { createTally } from '../program/tally.mjs'
import { apart } from './lib/apart.mjs'
import { MUTANTS } from './lib/mutations.mjs'
import { runSuites } from './lib/run-suites.mjs'

const { only, part } = parseArgs({
  options: { only: { type: 'string' }, part: { type: 'string', default: '1/1' } },
}).values
const [which, parts] = part.split('/').map(Number)
const chosen = MUTANTS.filter(({ name }) => only === undefined || only.split(',').includes(name)).filter(
  (_, at) => at % parts === which - 1,
)
if (chosen.length === 0)
  throw new Error(`there is no mutant ${only}; there are ${MUTANTS.map(({ name }) => name).join(', ')}`)

endInOrder()
const tally = createTally()
const startedAt = performance.now()
await proveControl(copySource())
const waiting = apart(chosen)
const runs = waiting.length
// Each in a copy of its own; the suites of one keep hardly more than one core busy.
await Promise.all([proveThoseWaiting(copySource()), proveThoseWaiting(copySource())])
const seconds = Math.round((performance.now() - startedAt) / 1000)
console.log(`${chosen.length} mutants in ${runs} runs, ${seconds} s`)
tally.close()

/** Suites that fail on the code as it is would catch anything. */
async function proveControl(copy) {
  const suites = suitesOf(chosen)
  const { failed, output } = await runSuites(copy.folder, suites)
  tally.check(failed.length === 0, `the code as it is: ${suites.length} suites, failed: ${failed.join(', ') || 'none'}`)
  if (failed.length > 0) console.log(output)
}

async function proveThoseWaiting(copy) {
  for (let mutants = waiting.shift(); mutants; mutants = waiting.shift()) await prove(copy, mutants)
}

async function prove(copy, mutants) {
  const restore = copy.replace(mutants.flatMap(({ replacements }) => replacements))
  try {
    const { failed, output } = await runSuites(copy.folder, suitesOf(mutants))
    for (const { name, says, caughtBy } of mutants) {
      const slept = caughtBy.filter((suite) => !failed.includes(suite))
      const seen = slept.length === 0 ? `caught by ${caughtBy.join(', ')}` : `not caught by ${slept.join(', ')}`
      tally.check(slept.length === 0, `mutant ${name} (${says}): ${seen}`)
      if (slept.length > 0) console.log(output)
    }
  } finally {
    restore()
  }
}

function suitesOf(mutants) {
  return [...new Set(mutants.flatMap(({ caughtBy }) => caughtBy))]
}
