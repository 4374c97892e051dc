// Do the benchmarks still run? Each in its smallest form: that it comes to its end is the test, its figures mean nothing here.
// Nothing else would notice that the program has changed beside what measures it. Left out: slow-clients, which waits for minutes
// until the server gives its clients up.
//
//   node test/benches/run.mjs
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DIST } from '../program/program.mjs'
import { createTally } from '../program/tally.mjs'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const WITHIN_MS = 120_000
/** Enough for every page of a report, and seeded in a second. */
const RECEIPTS = 3000

const tally = createTally()
const year = mkdtempSync(join(tmpdir(), 'millrace-year-'))
const OF_A_YEAR = [
  `test/browser/seed-year.mjs ${year} --receipts ${RECEIPTS} --accounts 5 --keys 50`,
  `bench/usage.mjs ${year} --rounds 1 --count`,
  `bench/reads-beside.mjs ${year} --rounds 1 --seconds 2 --people 2`,
  `bench/console-pages.mjs ${year} --rounds 1`,
]
const OTHERS = [
  'bench/first-paint.mjs --rounds 1',
  'bench/usage-beside.mjs --rounds 1 --requests 500 --accounts 5',
  'bench/ledger.mjs 500',
  'bench/ledger.mjs 500 --receipts 1000 --rounds 1 --verify',
  `bench/ledger.mjs 500 --beside ${ROOT} --accounts 10 --rounds 1`,
  'bench/postgres.mjs --rounds 1 --seconds 0.3 --open 10 --only spread,limited',
  'bench/http.mjs --rounds 1 --scale 0.02',
  'bench/footprint.mjs --requests 100 --warm-up 50',
  'bench/frames.mjs --rounds 1 --scale 0.01 --only stream',
  `bench/two-builds.mjs ${DIST} --rounds 1 --scale 0.01 --only stream`,
  'bench/streams.mjs --only bulk,stall --seconds 1 --scale 0.02',
  'bench/start.mjs --rounds 1',
  'bench/sizes.mjs --receipts 1000 --keys 100 --models 10 --accounts 100 --active 50 --rounds 1 --requests 100',
  'bench/replays.mjs --rounds 1 --seconds 1 --clients 4',
  'bench/bombs.mjs',
  'bench/large-bodies.mjs --mb 3 --rounds 1 --only cyrillic:one',
  'bench/verify.mjs --accounts 1000 --receipts 5000 --seconds 2',
  'bench/goodput.mjs --rounds 1 --scale 0.05',
]

try {
  // Two at once, because most of them wait for their seconds to pass. The reader of the year takes others when it has read it.
  await Promise.all([runAll(OTHERS), runAll(OF_A_YEAR).then(() => runAll(OTHERS))])
} finally {
  rmSync(year, { recursive: true, force: true, maxRetries: 5 })
}
tally.close()

async function runAll(waiting) {
  for (let bench = waiting.shift(); bench !== undefined; bench = waiting.shift()) {
    const began = performance.now()
    const { code, emitted } = await run(bench.split(' '))
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    const isWhole = code === 0 && emitted.trim() !== ''
    if (!isWhole) console.log(emitted.slice(-2000))
    tally.check(
      isWhole,
      `${bench.replaceAll(year, 'FOLDER').replaceAll(ROOT, '')} comes to its end (${code}, ${seconds} s)`,
    )
  }
}

function run(words) {
  const child = spawn(process.execPath, words, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  const late = setTimeout(() => child.kill('SIGKILL'), WITHIN_MS)
  let emitted = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      emitted += text
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      clearTimeout(late)
      resolve({ code: signal ?? code, emitted })
    })
  })
}
