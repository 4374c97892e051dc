import { spawn } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from './bootstrap/failure.mjs'
import { textOf } from './bootstrap/fingerprint.mjs'
import { closingLine, countResults, skippedNames } from './bootstrap/test-results.mjs'
import { bootstrap, ROOT } from './bootstrap.mjs'

const SKIPPED_SHOWN = 40

// The database worker is loaded from dist/, so the tests need the build that belongs to the sources they test.
await bootstrap().catch(fail)
const args = process.argv.slice(2)
const report = join(ROOT, '.cache', `test-report-${process.pid}.json`)
mkdirSync(join(ROOT, '.cache'), { recursive: true })
const code = await runVitest(args, report)
const text = textOf(report)
rmSync(report, { force: true })
const results = text === undefined ? undefined : JSON.parse(text)
const counts = countResults(results, code)

for (const name of skippedNames(results).slice(0, SKIPPED_SHOWN)) console.log(`skipped: ${name}`)
if (args.length === 0) console.log('No suite of this version needs Postgres or a browser: all of them ran here.')
console.log(closingLine(counts))
process.exitCode = counts.failed > 0 ? code || 1 : 0

function runVitest(userArgs, outputFile) {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  const reporters = userArgs.some((arg) => arg.startsWith('--reporter')) ? [] : ['--reporter=default']
  const child = spawn(
    process.execPath,
    [vitest, 'run', ...reporters, '--reporter=json', `--outputFile.json=${outputFile}`, ...userArgs],
    { cwd: ROOT, stdio: 'inherit', env: { ...process.env, NODE_ENV: 'test' } },
  )
  // A signal for the whole group reaches the child by itself; we only outlive it, to say how far it came.
  const passOn = (signal) => child.kill(signal)
  process.on('SIGINT', () => {}).on('SIGTERM', passOn)
  return new Promise((resolve) => {
    child.once('error', fail)
    child.once('close', (status) => resolve(status ?? 1))
  })
}
