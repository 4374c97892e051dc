// Proves that the suites beside the code would see the faults they are there for. See README.md.
//
//   node test/mutants/run.mjs [--only NAME]
import { parseArgs } from 'node:util'
import { copySource } from '../program/copies.mjs'
import { endInOrder } from '../program/options.mjs'
import { createTally } from '../program/tally.mjs'
import { MUTANTS } from './lib/mutations.mjs'
import { runSuites } from './lib/run-suites.mjs'

const { only } = parseArgs({ options: { only: { type: 'string' } } }).values
const chosen = MUTANTS.filter(({ name }) => only === undefined || name === only)
if (chosen.length === 0)
  throw new Error(`there is no mutant ${only}; there are ${MUTANTS.map(({ name }) => name).join(', ')}`)

endInOrder()
const tally = createTally()
const startedAt = performance.now()
await proveControl(copySource())
const waiting = [...chosen]
// Each in a copy of its own; a suite alone keeps hardly more than one core busy.
await Promise.all([proveThoseWaiting(copySource()), proveThoseWaiting(copySource())])
console.log(`${chosen.length} mutants in ${Math.round((performance.now() - startedAt) / 1000)} s`)
tally.close()

/** Suites that fail on the code as it is would catch anything. */
async function proveControl(copy) {
  const suites = [...new Set(chosen.flatMap(({ caughtBy }) => caughtBy))]
  const { failed, output } = await runSuites(copy.folder, suites)
  tally.check(failed.length === 0, `the code as it is: ${suites.length} suites, ${failed.length} failed`)
  if (failed.length > 0) console.log(output)
}

async function proveThoseWaiting(copy) {
  for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) await prove(copy, mutant)
}

async function prove(copy, { name, says, replacements, caughtBy }) {
  const restore = copy.replace(replacements)
  try {
    const { failed, output } = await runSuites(copy.folder, caughtBy)
    const slept = caughtBy.filter((suite) => !failed.includes(suite))
    const seen = failed.length > 0 ? `caught by ${failed.join(', ')}` : 'caught by nothing'
    tally.check(slept.length === 0, `mutant ${name} (${says}): ${seen}`)
    if (slept.length > 0) console.log(`not caught by ${slept.join(', ')}\n${output}`)
  } finally {
    restore()
  }
}
