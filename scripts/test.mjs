import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from './bootstrap/failure.mjs'
import { textOf } from './bootstrap/fingerprint.mjs'
import {
  closingLine,
  countResults,
  neededLine,
  projectsLeftOut,
  skippedNames,
  suiteLines,
} from './bootstrap/test-results.mjs'
import { bootstrap, ROOT } from './bootstrap.mjs'

const SKIPPED_SHOWN = 40
/** Tests make thousands of small databases. Where they lie in memory, no test waits for a disk. */
const IN_MEMORY = '/dev/shm'
const MEMORY_MIN_BYTES = 4 * 1024 ** 3
/** Each version of a source file leaves one. */
const TRANSFORMED_MAX = 20_000

// Tests load the database worker from dist/, so the build must match the sources.
await bootstrap().catch(fail)
const chosen = process.argv.slice(2)
// The longer suites run when they are named, and in `npm run test:all`.
const LONGER = ['long', 'browser', 'e2e-postgres']
const SUITES = ['conventions', 'unit', 'console', 'e2e', 'postgres', 'sdks']
const args = chosen.length > 0 ? chosen : SUITES.map((suite) => `--project=${suite}`)
const resultsFile = join(ROOT, '.cache', `test-results-${process.pid}.json`)
const transformed = join(ROOT, '.cache', 'transformed')
mkdirSync(transformed, { recursive: true })
if (readdirSync(transformed).length > TRANSFORMED_MAX) rmSync(transformed, { recursive: true })
const temporary = folderInMemory()
const began = performance.now()
const code = await runVitest(args)
if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true, maxRetries: 5 })
const seconds = Math.round((performance.now() - began) / 1000)
const text = textOf(resultsFile)
rmSync(resultsFile, { force: true })
const results = text === undefined ? undefined : JSON.parse(text)
const counts = countResults(results, code)

for (const name of skippedNames(results).slice(0, SKIPPED_SHOWN)) console.log(`skipped: ${name}`)
for (const line of suiteLines(results)) console.log(line)
const left = chosen.length > 0 ? projectsLeftOut(args) : LONGER
const needed = left && neededLine(results, left)
if (needed) console.log(needed)
if (chosen.length === 0)
  console.log(
    `Not run: ${LONGER.join(', ')}. Run them with npm test -- --project NAME, or everything with npm run test:all.`,
  )
console.log(`Took ${seconds} s in total.`)
console.log(closingLine(counts))
process.exitCode = counts.failed > 0 ? code || 1 : 0

function runVitest(userArgs) {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  const ours = `--reporter=${join(ROOT, 'scripts', 'bootstrap', 'results-reporter.mjs')}`
  const shown = userArgs.some((arg) => arg.startsWith('--reporter')) ? [] : ['--reporter=default']
  const child = spawn(process.execPath, [vitest, 'run', ...shown, ours, ...userArgs], {
    cwd: ROOT,
    stdio: 'inherit',
    env: {
      ...process.env,
      NODE_ENV: 'test',
      MILLRACE_TEST_RESULTS: resultsFile,
      ...(temporary && { TMPDIR: temporary }),
    },
  })
  // Ctrl+C reaches the child directly. This process stays alive to report the results so far.
  process.on('SIGINT', () => {}).on('SIGTERM', (signal) => child.kill(signal))
  return new Promise((resolve) => {
    child.once('error', fail)
    child.once('close', (status) => resolve(status ?? 1))
  })
}

/** For temporary files; undefined where this machine has no memory for them, or has been told where they belong. */
function folderInMemory() {
  if (process.env.TMPDIR !== undefined) return undefined
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY)
    return bavail * bsize < MEMORY_MIN_BYTES ? undefined : mkdtempSync(join(IN_MEMORY, 'millrace-'))
  } catch {
    return undefined
  }
}
