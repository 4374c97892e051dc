import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { AccountId } from '../model/ids.ts'

/** As it is shipped: `npm test` builds it first. */
const MODULE = new URL('../../dist/gateway/seals.js', import.meta.url).href
/** Answers a line of JSON with a line of JSON, in hex: newer Nodes take more than a line feed for the end of a line. */
const PROGRAM = `
  import { createInterface } from 'node:readline'
  import { createSeals } from ${JSON.stringify(MODULE)}
  const seals = createSeals(JSON.parse(process.argv[1]).map((secret) => ({ secret: Buffer.from(secret) })))
  for await (const line of createInterface({ input: process.stdin })) {
    const [does, ...how] = JSON.parse(Buffer.from(line, 'hex'))
    process.stdout.write(Buffer.from(JSON.stringify(seals[does](...how) ?? null)).toString('hex') + '\\n')
  }`

interface Node {
  readonly child: ChildProcess
  ask(does: 'seal' | 'open', ...how: readonly string[]): Promise<string | null>
}

function startNode(...sealingKeys: readonly string[]): Node {
  const args = ['--input-type=module', '--eval', PROGRAM, JSON.stringify(sealingKeys)]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })
  return {
    child,
    async ask(...question) {
      child.stdin.write(`${Buffer.from(JSON.stringify(question)).toString('hex')}\n`)
      const [line] = await once(lines, 'line')
      return JSON.parse(Buffer.from(line, 'hex').toString())
    },
  }
}

const [older, newer, another] = ['o', 'n', 'a'].map((letter) => letter.repeat(32)) as [string, string, string]
const owner = 'acct_one' as AccountId
const contents = {
  'a few words': 'words',
  'all of Unicode': 'ä漢🙂\0\u2028"\\',
  nothing: '',
  'a mebibyte': 'thought '.repeat(131_072),
}
const cases = Object.entries(contents)

let nodes: Record<'one' | 'two' | 'rotated' | 'stranger', Node>
beforeAll(() => {
  nodes = {
    one: startNode(older, newer),
    two: startNode(older, newer),
    rotated: startNode(newer, older),
    stranger: startNode(another),
  }
})
afterAll(async () => {
  for (const { child } of Object.values(nodes)) {
    child.stdin?.end()
    await once(child, 'exit')
  }
})

it.each(cases)(
  'two processes with one ring open each other’s envelopes, in both directions: %s',
  async (_, content) => {
    const { one, two, rotated } = nodes
    for (const [from, to] of [
      [one, two],
      [two, one],
      [one, rotated],
      [rotated, one],
    ] as const) {
      const envelope = await from.ask('seal', 'reasoning', owner, content)
      expect(await to.ask('open', 'reasoning', owner, envelope ?? '')).toBe(content)
    }
  },
)

it('a process with another ring opens none', async () => {
  const { one, stranger } = nodes
  const envelope = await one.ask('seal', 'reasoning', owner, 'words')
  expect(await stranger.ask('open', 'reasoning', owner, envelope ?? '')).toBe(null)
})
