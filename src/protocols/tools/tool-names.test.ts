import { expect, it } from 'vitest'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'
import type { ToolDefinition, ToolName } from '../../model/conversation.ts'
import { createArgumentsReader, createToolNames, toolNameOf } from './tool-names.ts'

const tool = (name: string, namespace?: string, type: 'function' | 'custom' = 'function') =>
  ({ type, name, namespace, description: undefined }) as ToolDefinition
const named = (name: string, namespace?: string, kind: ToolName['tool'] = 'function'): ToolName => ({
  name,
  namespace,
  tool: kind,
})
const FLAT = { custom: 'as-function', namespace: 'flat' } as const
const FINE = /^[A-Za-z0-9_-]{1,64}$/

it('a name that is fine stays as it is, and a namespace becomes its beginning', () => {
  const names = createToolNames([tool('get-weather_2'), tool('wait', 'agents')], FLAT)
  expect(names.upstreamName(named('get-weather_2'))).toBe('get-weather_2')
  expect(names.upstreamName(named('wait', 'agents'))).toBe('agents__wait')
  expect(names.clientName('agents__wait')).toEqual(named('wait', 'agents'))
  expect(names.clientName('invented')).toBeUndefined()
})

it('a fine name stays even where another before it would be flattened into it', () => {
  const names = createToolNames([tool('wait', 'agents'), tool('agents__wait')], FLAT)
  expect(names.clientName('agents__wait')).toEqual(named('agents__wait'))
  const other = names.upstreamName(named('wait', 'agents'))
  expect(other).toMatch(/^agents__wait_[0-9a-f]{8}$/)
  expect(names.clientName(other)).toEqual(named('wait', 'agents'))
})

it('a long name is cut and made unique by a hash', () => {
  const [one, two] = [`${'x'.repeat(70)}1`, `${'x'.repeat(70)}2`]
  const names = createToolNames([tool(one), tool(two)], FLAT)
  expect(names.upstreamName(named(one))).toMatch(FINE)
  expect(names.upstreamName(named(one))).toHaveLength(64)
  expect(names.upstreamName(named(one))).not.toBe(names.upstreamName(named(two)))
  expect(names.clientName(names.upstreamName(named(two)))).toEqual(named(two))
})

it('where a name has to begin with a letter, one that does not gets a line in front, and finds its way back', () => {
  const names = createToolNames([tool('2nd'), tool('_2nd'), tool('-x'), tool('fine')], { ...FLAT, begins: 'letter' })
  expect(['_2nd', '-x', 'fine'].map((name) => names.upstreamName(named(name)))).toEqual(['_2nd', '_-x', 'fine'])
  const other = names.upstreamName(named('2nd'))
  expect(other).toMatch(/^_2nd_[0-9a-f]{8}$/)
  expect(names.clientName(other)).toEqual(named('2nd'))
})

it('a tool that is only in the history gets a name that no declared one has, and finds its way back', () => {
  const names = createToolNames([tool('a_b')], FLAT)
  const past = names.upstreamName(named('a.b'))
  expect(past).toMatch(/^a_b_[0-9a-f]{8}$/)
  expect(names.clientName(past)).toEqual(named('a.b'))
})

it('where namespaces are known to the lane, the same name may be in two of them', () => {
  const names = createToolNames([tool('wait', 'one', 'custom'), tool('wait', 'two')], { ...FLAT, namespace: 'native' })
  expect(names.upstreamName(named('wait', 'one', 'custom'))).toBe('wait')
  expect(names.upstreamName(named('wait', 'two'))).toBe('wait')
  expect(names.clientName('wait', 'one')).toEqual(named('wait', 'one', 'custom'))
  expect(names.clientName('wait', 'two')).toEqual(named('wait', 'two'))
})

it('every name is valid, unique, and the same the next time, whatever the tools are called', () => {
  const seed = 7
  const random = randomFrom(seed)
  const letters = ['a', 'B', '_', '-', '.', '/', 'é', '__', 'x'.repeat(40), ' ', '漢', '__proto__']
  const word = () => Array.from({ length: random(5) }, () => letters[random(letters.length)]).join('')
  let changed = 0
  for (let round = 0; round < 300; round++) {
    const kinds = ['function', 'custom'] as const
    const tools = Array.from({ length: 8 }, () => tool(word(), random(2) ? word() : undefined, kinds[random(2)]))
    const names = createToolNames(tools, FLAT)
    const again = createToolNames(tools, FLAT)
    const given = new Map(tools.map((each) => [JSON.stringify(toolNameOf(each)), names.upstreamName(toolNameOf(each))]))
    expect(new Set(given.values()).size).toBe(given.size)
    for (const each of tools) {
      const upstream = names.upstreamName(toolNameOf(each))
      expect(upstream).toMatch(FINE)
      expect(again.upstreamName(toolNameOf(each))).toBe(upstream)
      expect(names.clientName(upstream)).toEqual(toolNameOf(each))
      if (upstream !== each.name) changed++
    }
  }
  console.log(`tool names: seed ${seed}, 300 requests, ${changed} names changed`)
  expect(changed).toBeGreaterThan(500)
})

it('the arguments of past calls are bounded together, and beyond that go as they are', () => {
  const values = (count: number) => `{"a":[${'{},'.repeat(count - 1)}{}]}`
  const read = (text: string, with_ = createArgumentsReader()) => Object.keys(with_({ tool: 'function', text }))
  expect(read(values(100_000))).toEqual(['a'])
  expect(read(values(300_000))).toEqual(['_raw'])
  const readMore = createArgumentsReader()
  const kinds = Array.from({ length: 40 }, () => read(values(10_000), readMore)[0])
  expect(kinds.indexOf('_raw')).toBeGreaterThan(15)
  expect(new Set(kinds.slice(kinds.indexOf('_raw')))).toEqual(new Set(['_raw']))
  expect(read('{"b":1}', readMore)).toEqual(['b'])
})
