import { expect, it } from 'vitest'
import { commandLine } from '../../test/fixtures/cli/run-cli.ts'

it('knows what it was told of a dialect, and says which there are of one that it does not know', async () => {
  const known = commandLine()
  expect(await known.run('catalog --known openai --json')).toBe(0)
  const { models } = JSON.parse(known.said.out)
  expect(models.length).toBeGreaterThan(10)
  for (const line of ['catalog --known acme', 'catalog --propose acme/one']) {
    const { said, asked, run } = commandLine()
    expect(await run(line)).toBe(1)
    expect(said.err).toMatch(/Nothing is known of the dialect "acme"; there is .*openai/)
    expect(asked).toEqual([])
  }
})

it('is asked for one thing at a time', async () => {
  const { said, run } = commandLine()
  expect(await run('catalog demo --known openai')).toBe(2)
  expect(said.err).toContain('one of them')
})
