// How far the estimate of a cancelled turn is from what was produced: every recording is cut after each of its chunks, and
// what the code would charge is compared with the truth. A lane learns from its other recordings, never from the one that is
// judged. See ../acceptance/README.md.
//
//   node test/recordings/estimates.mjs [--id REGEX] [--each yes] [--dist FOLDER]
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { copyAcceptance } from '../acceptance/acceptance-folder.mjs'
import { readOptions } from '../program/options.mjs'
import { createTally } from '../program/tally.mjs'
import { errorsOf } from './lib/cut-recordings.mjs'
import { placeOf } from './lib/distribution.mjs'
import { loadExchanges } from './lib/recorded-exchanges.mjs'
import { readHow } from './lib/seen-work.mjs'

const WIRES = ['openai-chat', 'openai-responses', 'anthropic', 'gemini']
const TARGET = { median: 0.1, p90: 0.3 }

const options = readOptions({ id: '', each: 'no' })
const tally = createTally()
const copy = copyAcceptance('recordings')
if (copy) await judge(copy)
tally.close()

async function judge(folder) {
  const load = (file) => import(pathToFileURL(join(options.dist, file)).href)
  const readers = await readHow(load)
  const { LaneEstimator } = await load('pricing/lane-estimators.js')
  const { estimateUsage } = await load('gateway/ending.js')
  const exchanges = await loadExchanges(folder, WIRES)
  const recordings = exchanges.filter(({ id }) => new RegExp(options.id).test(id)).map((one) => readers.read(one))
  const errors = errorsOf(recordings, { LaneEstimator, estimateUsage })
  const lanes = new Set(recordings.map(({ lane }) => lane)).size
  console.log(`\n${recordings.length} recordings of ${lanes} lanes, cut ${errors.length} times\n`)
  console.log(`${'kind'.padEnd(52)}${'n'.padStart(6)}${'median'.padStart(9)}${'p90'.padStart(9)}  within 10 % and 30 %`)
  const kinds = new Map()
  const add = (kind, error) => kinds.set(kind, [...(kinds.get(kind) ?? []), error])
  for (const { id, kind, others, error, output = 0 } of errors) {
    add(kind, error)
    if (kind.startsWith('output') && !kind.includes('thinned'))
      add(`output, all, ${others === 0 ? 'nothing learned' : 'others of the lane learned'}`, error)
    if (kind.startsWith('output') && !kind.includes('thinned')) add('output, all', error)
    if (kind.startsWith('output') && output >= 20) add(`${kind}, 20 tokens or more`, error)
    if (kind.startsWith('output') && !kind.includes('thinned') && output >= 20)
      add('output, all, 20 tokens or more', error)
    if (options.each === 'yes') add(`  ${id}, ${kind}`, error)
  }
  for (const [kind, list] of [...kinds].sort(([one], [other]) => one.localeCompare(other))) print(kind, list)
  // What no estimate may do, however little is known.
  const wild = errors.filter(({ error }) => !Number.isFinite(error))
  tally.check(wild.length === 0 && errors.length > 0, `${errors.length} estimates, all of them numbers`)
}

function print(kind, errors) {
  const [median, p90] = [placeOf(errors, 0.5), placeOf(errors, 0.9)]
  const percent = (value) => `${(100 * value).toFixed(1)} %`.padStart(9)
  const met = `${median <= TARGET.median ? 'yes' : 'no'}, ${p90 <= TARGET.p90 ? 'yes' : 'no'}`
  console.log(`${kind.padEnd(52)}${String(errors.length).padStart(6)}${percent(median)}${percent(p90)}  ${met}`)
}
