// Proves that the audit would see the faults it is there for. See README.md.
//
//   node test/chaos/mutants.mjs [--only NAME,NAME] [--seed N] [--slack-ms N] [--dist FOLDER]
import { readOptions } from '../program/options.mjs'
import { chooseMutants } from './lib/mutations.mjs'
import { proveMutants } from './lib/prove-mutants.mjs'
import { openStageContext } from './lib/workspace.mjs'

const options = readOptions({ only: '' })
console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
const stageContext = await openStageContext(options)
await proveMutants(stageContext, chooseMutants(options.only))
stageContext.tally.close()
