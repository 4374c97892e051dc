// Proves that the audit would see the faults it is there for. See README.md.
//
//   node test/chaos/mutants.mjs [--only NAME] [--seed N] [--slack-ms N] [--dist FOLDER]
import { openGround } from './lib/ground.mjs'
import { MUTANTS } from './lib/mutations.mjs'
import { readOptions } from './lib/options.mjs'
import { proveMutants } from './lib/prove-mutants.mjs'

const options = readOptions({ only: '' })
const chosen = MUTANTS.filter(({ name }) => options.only === '' || name === options.only)
if (chosen.length === 0)
  throw new Error(`there is no mutant ${options.only}: ${MUTANTS.map(({ name }) => name).join(', ')}`)
console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
const ground = await openGround(options)
await proveMutants(ground, chosen)
ground.tally.close()
