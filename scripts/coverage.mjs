import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fail } from './bootstrap/failure.mjs'
import { filesBelow } from './bootstrap/fingerprint.mjs'
import { bootstrap, ROOT } from './bootstrap.mjs'
import { judgeFile } from './counting/judge-file.mjs'
import { sumRuns } from './counting/sum-runs.mjs'

// npm run coverage [-- src/ledger test/e2e/plans]: line and branch coverage of src/ by the unit, e2e, long and postgres suites, or by
// the named files. `--of src/gateway` lists the lines that no test ran; `--again` reads the last run.
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { of: { type: 'string' }, again: { type: 'boolean', default: false } },
})
const FOLDER = join(ROOT, '.cache', 'coverage')
const DIST = join(ROOT, 'dist')
const SUITES = ['unit', 'e2e', 'long', 'postgres', 'e2e-postgres']
const SHOWN = 30

await bootstrap().catch(fail)
if (!options.again) {
  rmSync(FOLDER, { recursive: true, force: true })
  process.exitCode = await runSuites()
}
const ran = sumRuns(coverageResults(), DIST)
const files = filesBelow(DIST)
  .filter((path) => path.endsWith('.js') && !/^(?:console|docs|packages)\//.test(path))
  .map((path) => judgeFile(join(DIST, path), ran.get(path)))
  .filter(({ lines }) => lines.all > 0)
if (options.of === undefined) report(files)
else for (const file of files.filter(({ path }) => path.startsWith(options.of))) printMissing(file)

function runSuites() {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  const projects = SUITES.flatMap((name) => ['--project', name])
  const args = [vitest, 'run', ...projects, '--reporter=dot', ...positionals]
  const env = { ...process.env, NODE_ENV: 'test', MILLRACE_COVERAGE: FOLDER }
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit', env })
  return new Promise((resolve) => child.once('close', (code) => resolve(code ?? 1)))
}

/** One after the other, because all at once need too much memory. */
function* coverageResults() {
  for (const name of readdirSync(FOLDER)) yield JSON.parse(readFileSync(join(FOLDER, name), 'utf8')).result
}

function report(files) {
  const byFolder = new Map()
  for (const file of files) {
    const folder = file.path.split('/').slice(0, 2).join('/')
    byFolder.set(folder, [...(byFolder.get(folder) ?? []), file])
  }
  console.log('\n| folder | files | lines | branches |\n|---|---|---|---|')
  for (const [folder, own] of byFolder) console.log(row(folder, own))
  console.log(row('**src**', files))
  const missing = files.toSorted((one, other) => missed(other) - missed(one)).slice(0, SHOWN)
  console.log('\nLeast covered (lines, branches not run):')
  for (const { path, lines, branches } of missing) {
    console.log(
      `${String(lines.all - lines.run).padStart(4)} ${String(branches.all - branches.run).padStart(4)}  ${path}`,
    )
  }
}

function missed({ lines, branches }) {
  return lines.all - lines.run + branches.all - branches.run
}

function row(name, files) {
  return `| ${name} | ${files.length} | ${share(files, 'lines')} | ${share(files, 'branches')} |`
}

function share(files, what) {
  const [run, all] = ['run', 'all'].map((which) => files.reduce((sum, file) => sum + file[what][which], 0))
  return all === 0 ? 'none' : `${((100 * run) / all).toFixed(1)} % of ${all}`
}

function printMissing({ path, lines, branches }) {
  if (lines.missing.length + branches.missing.length === 0) return
  console.log(
    `${path}: lines ${lines.missing.join(', ') || 'all run'}; branches at ${branches.missing.join(', ') || 'all run'}`,
  )
}
