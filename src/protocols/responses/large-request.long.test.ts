import { expect, it } from 'vitest'
import { conversationOf, requestOf } from '../../../test/fixtures/protocols/responses/read-request.ts'

/** A body may have a hundred thousand names. */
const NAMES = 95_000
const many = <Value>(namesEach: number, make: (at: number) => Value): Value[] =>
  Array.from({ length: Math.floor(NAMES / namesEach) }, (_, at) => make(at))

const custom = (at: number) => ({ type: 'custom', name: `t${at}` })
const inNamespace = (tools: readonly object[]) => [{ type: 'namespace', name: 'n', tools }]
const user = (content: unknown) => [{ role: 'user', content }]
const allOfThem = { type: 'namespace', name: 'n' }

/** As much as a body may hold: code that compares each with each, or spreads them as arguments, would not end. */
it.each([
  ['tools', { tools: many(2, custom) }],
  ['tools in a namespace', { tools: inNamespace(many(2, custom)) }],
  ['hosted tools', { tools: many(1, (at) => ({ type: `hosted${at}` })) }],
  ['hosted tools in a namespace', { tools: inNamespace(many(1, () => ({ type: 'mcp' }))) }],
  [
    'tools that are all allowed',
    {
      tools: inNamespace(many(4, custom)),
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: many(4, custom).reverse() },
    },
  ],
  [
    'allowances of the same namespace',
    {
      tools: inNamespace(many(4, custom)),
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: many(4, () => allOfThem) },
    },
  ],
  ['messages', { input: many(2, () => ({ role: 'user', content: 'x' })) }],
  ['parts', { input: user(many(2, () => ({ type: 'text', text: '' }))) }],
  ['parts of a reasoning', { input: [{ type: 'reasoning', summary: many(2, () => ({ type: 'text', text: '' })) }] }],
  ['parts that are not text', { input: user(many(2, () => ({ type: 'input_image', image_url: 'http://a' }))) }],
  [
    'calls with their outputs',
    {
      input: [
        ...many(6, (at) => ({ type: 'function_call', call_id: `c${at}`, name: 'f' })),
        ...many(6, (at) => ({ type: 'function_call_output', call_id: `c${at}`, output: '' })),
      ],
    },
  ],
  [
    'lists of added tools',
    {
      input: [{ role: 'user', content: 'x' }, ...many(4, (at) => ({ type: 'additional_tools', tools: [custom(at)] }))],
    },
  ],
])('the maximum number of %s is read', (_name, fields) => {
  const request = { model: 'demo', input: 'x', ...fields }
  const { inputSize, ignoredTools, otherInputs } = requestOf(request)
  const { items, tools } = conversationOf(request)
  const inside: unknown[] = items.flatMap<unknown>((item) => {
    if (item.type === 'reasoning') return item.summary
    return item.type === 'message' ? item.content : []
  })
  const lengths = [items, inside, tools, ignoredTools, otherInputs].map(({ length }) => length)
  expect(Math.max(...lengths)).toBeGreaterThan(20_000)
  expect(inputSize.tools).toBeGreaterThanOrEqual(tools.length)
})
