import { expect, it } from 'vitest'
import { commandLine } from '../../test/fixtures/cli/run-cli.ts'

it('lists the known models of a dialect, and the dialects for an unknown one', async () => {
  const known = commandLine()
  expect(await known.run('catalog --known openai --json')).toBe(0)
  const { models } = JSON.parse(known.emitted.out)
  expect(models.length).toBeGreaterThan(10)
  for (const line of ['catalog --known acme', 'catalog --propose acme/one']) {
    const { emitted, asked, run } = commandLine()
    expect(await run(line)).toBe(1)
    expect(emitted.err).toMatch(/no known models of the dialect "acme"\. Dialects: .*openai/)
    expect(asked).toEqual([])
  }
})

it('accepts one selection at a time', async () => {
  const { emitted, run } = commandLine()
  expect(await run('catalog demo --known openai')).toBe(2)
  expect(emitted.err).toContain('only one of')
})
