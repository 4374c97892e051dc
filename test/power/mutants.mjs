// Proves that the audit after a power cut would see the faults it is there for. See README.md.
//
//   node test/power/mutants.mjs [--only NAME,NAME] [--cuts 16] [--seconds 3] [--seed N] [--dist FOLDER]
import { copyDist } from '../program/copies.mjs'
import { readOptions } from '../program/options.mjs'
import { createTally } from '../program/tally.mjs'
import { MUTANTS } from './lib/mutations.mjs'
import { losePower } from './lib/power.mjs'
import { missingForRecording } from './lib/recorder.mjs'

const options = readOptions({ only: '', cuts: 16, seconds: 3 })
const tally = createTally()
const missing = missingForRecording()
if (missing === undefined) await prove()
else console.log(`Skipped: ${missing}.`)
tally.close()

async function prove() {
  console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
  const { cuts, seconds, seed } = options
  const { dist: trueDist } = copyDist(options.dist)
  const wanted = options.only === '' ? MUTANTS : options.only.split(',').map(named)
  for (const { name, says, kinds, caughtBy, replacements } of wanted) {
    const { dist, clear } = copyDist(options.dist, replacements)
    const power = await losePower({ dist, trueDist, seconds, cuts, seed, slackMs: options['slack-ms'], kinds })
    clear()
    power.clear()
    const caught = power.cuts.filter(({ violations }) => violations.length > 0).length
    const counts = new Map()
    for (const { invariant } of power.violations) counts.set(invariant, (counts.get(invariant) ?? 0) + 1)
    const seen = [...counts].map(([invariant, count]) => `${invariant} (${count})`).join(', ') || 'nothing'
    const passed = caughtBy.every((invariant) => counts.has(invariant))
    tally.check(passed, `mutant ${name} (${says}): caught in ${caught} of ${cuts} cuts, by ${seen}`)
  }
}

function named(wanted) {
  const found = MUTANTS.find(({ name }) => name === wanted)
  if (found) return found
  throw new Error(`there is no mutant ${wanted}; there are ${MUTANTS.map(({ name }) => name).join(', ')}`)
}
