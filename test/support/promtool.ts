import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const RULES = fileURLToPath(new URL('../../deploy/prometheus/rules.yml', import.meta.url))
export const RULES_TEST = fileURLToPath(new URL('../../deploy/prometheus/rules.test.yml', import.meta.url))

const run = promisify(execFile)

/** Debian has it in the package `prometheus`. */
export const hasPromtool = spawnSync('promtool', ['--version']).status === 0
if (!hasPromtool) console.log('promtool is not installed: the tests of alert rules are skipped')

/** What it prints; an exit code other than zero is thrown, with what it prints. */
export async function promtool(...args: readonly string[]): Promise<string> {
  try {
    const { stdout, stderr } = await run('promtool', args)
    return stdout + stderr
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`promtool ${args.join(' ')}:\n${stdout}${stderr}`, { cause: error })
  }
}
