import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const PROGRAM = fileURLToPath(new URL('../../../bench/values.mjs', import.meta.url))
/** The attack in its short form: what the old door kept of each of these bodies would be six megabytes of heap. */
const SHORT = ['--short', '--streams', '6', '--values', '150000', '--heap', '256', '--kinds', 'empty arrays']

it('streams with huge bodies do not retain parsed values, and other requests are served meanwhile', {
  timeout: 300_000,
}, () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...SHORT], { encoding: 'utf8' })
  expect(status, stdout + stderr).toBe(0)
  expect(stdout).toContain('no faults')
})
