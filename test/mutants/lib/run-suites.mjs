import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const VITEST = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url))
/** Enough for the property to meet every fault that is listed here, many times. */
const OPERATIONS = '10000'

/** Runs the test files in the folder, and says which of them failed. All must have run, whatever their result. */
export async function runSuites(folder, suites) {
  const report = join(folder, 'report.json')
  rmSync(report, { force: true })
  const projects = ['--project', 'unit', '--project', 'console']
  const args = ['run', '--root', folder, ...projects, '--reporter=json', `--outputFile=${report}`, ...suites]
  const output = await outputOf([VITEST, ...args], {
    cwd: folder,
    env: { ...process.env, BOOKS_OPERATIONS: OPERATIONS },
  })
  const { testResults } = readReport(report, output)
  const results = suites.map((suite) => {
    const found = testResults.find(({ name }) => name.replaceAll('\\', '/').endsWith(suite))
    if (!found || found.assertionResults.length === 0) throw new Error(`${suite} did not run:\n${output}`)
    return { suite, failed: found.status !== 'passed' }
  })
  return { failed: results.filter(({ failed }) => failed).map(({ suite }) => suite), output }
}

function readReport(path, output) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new Error(`the suites did not run to their end:\n${output}`, { cause: error })
  }
}

function outputOf(args, options) {
  const child = spawn(process.execPath, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const pieces = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => pieces.push(piece))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', () => resolve(Buffer.concat(pieces).toString()))
  })
}
