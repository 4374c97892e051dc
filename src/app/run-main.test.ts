import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createTestTerminal } from '../../test/fixtures/cli/terminal.ts'
import { isMissingPart, MissingPart } from '../lib/files.ts'
import { runMain } from './run-main.ts'

it('ends with a sentence, not a stack, after an unexpected failure', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-run-'))
  const terminal = createTestTerminal()
  await writeFile(join(folder, 'keyring.json'), 'garbage')
  const process = { faults: { take: () => () => {} }, endServer() {} }
  const context = { environment: { HOME: folder }, cwd: folder, program: 'millrace', terminal, ...process }
  expect(await runMain(context, ['accounts', 'list', '--data', folder])).toBe(1)
  expect(terminal.emitted.err).toMatch(/^error: .*keyring\.json is not a key ring.*\n$/)
  expect(terminal.emitted.out).toBe('')
  await rm(folder, { recursive: true })
})

it('knows a missing optional part through every cause', () => {
  const missing = new MissingPart('no libsql')
  expect(isMissingPart(new Error('a', { cause: new Error('b', { cause: missing }) }))).toBe(true)
  expect(isMissingPart(new Error('a', { cause: 'b' }))).toBe(false)
})
