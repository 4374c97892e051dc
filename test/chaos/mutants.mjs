// Proves that the audit would see the faults it is there for. See README.md.
//
//   node test/chaos/mutants.mjs [--only NAME,NAME] [--seed N] [--slack-ms N] [--dist FOLDER]
import { readOptions } from '../program/options.mjs'
import { openGround } from './lib/workspace.mjs'
import { chooseMutants } from './lib/mutations.mjs'
import { proveMutants } from './lib/prove-mutants.mjs'

const options = readOptions({ only: '' })
console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
const ground = await openGround(options)
await proveMutants(ground, chooseMutants(options.only))
ground.tally.close()
