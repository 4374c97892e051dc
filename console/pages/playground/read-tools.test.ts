import { expect, it } from 'vitest'
import { EXAMPLE_TOOLS, readTools } from './read-tools.ts'

it('accepts the tools of both protocols', () => {
  const bare = { name: 'f', description: 'd', parameters: { type: 'object' }, strict: true }
  const wanted = { kind: 'tools', tools: [bare] }
  expect(readTools(JSON.stringify([{ type: 'function', ...bare }]))).toEqual(wanted)
  expect(readTools(JSON.stringify([{ type: 'function', function: bare }]))).toEqual(wanted)
  expect(readTools('  ')).toEqual({ kind: 'tools', tools: [] })
  expect(readTools(EXAMPLE_TOOLS).kind).toBe('tools')
})

it.each([
  ['[', { kind: 'not-json' }],
  ['{}', { kind: 'not-a-list' }],
  ['[{"type":"web_search"}]', { kind: 'wrong-tool', number: 1, why: 'no-function' }],
  ['[{"name":"f"},{"name":"not a name"}]', { kind: 'wrong-tool', number: 2, why: 'no-name' }],
  ['[{"name":"f","parameters":[]}]', { kind: 'wrong-tool', number: 1, why: 'parameters' }],
  ['[{"name":"f"},{"name":"f"}]', { kind: 'same-name', name: 'f' }],
])('reports %s', (text, outcome) => {
  expect(readTools(text)).toMatchObject(outcome)
})
