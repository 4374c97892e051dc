// The power fails under load, audited from what the clients saw. See README.md.
//
//   node test/power/run.mjs [--cuts 20] [--seconds 4] [--seed N] [--slack-ms 400] [--dist FOLDER]

import { INVARIANTS } from '../chaos/lib/audit.mjs'
import { copyDist } from '../program/copies.mjs'
import { readOptions } from '../program/options.mjs'
import { createTally } from '../program/tally.mjs'
import { checkCoverage, printFigures, printViolations } from './lib/figures.mjs'
import { losePower } from './lib/power.mjs'
import { missingForRecording } from './lib/recorder.mjs'

const options = readOptions({ cuts: 20, seconds: 4 })
const tally = createTally()
const missing = missingForRecording()
if (missing === undefined) await run()
else console.log(`Skipped: ${missing}.`)
tally.close()

async function run() {
  console.log(`seed ${options.seed} (choices only: what the kernel schedules is its own)`)
  const { dist } = copyDist(options.dist)
  const { cuts, seconds, seed } = options
  const power = await losePower({ dist, trueDist: dist, seconds, cuts, seed, slackMs: options['slack-ms'] })
  printFigures(power)
  printViolations(power.violations)
  for (const [invariant, says] of Object.entries(INVARIANTS)) {
    const count = power.violations.filter((violation) => violation.invariant === invariant).length
    tally.check(count === 0, `${invariant}: ${says} (${count} violations)`)
  }
  checkCoverage(power, tally)
  if (power.violations.length === 0) power.clear()
  else console.log(`The logs are in ${power.recording.folder}, what the cuts left beside it`)
}
