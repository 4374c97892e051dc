import { expect, it } from 'vitest'
import { requestOf } from '../../../test/fixtures/protocols/chat/translate.ts'
import { conversationIn } from '../../../test/fixtures/protocols/conversation-in.ts'

const many = <Value>(count: number, make: (at: number) => Value): Value[] =>
  Array.from({ length: count }, (_, at) => make(at))

const called = (calls: readonly object[]) => ({ role: 'assistant', tool_calls: calls })
const result = (fields: object = {}) => ({ role: 'tool', content: '', ...fields })

/** As much as a body may hold: quadratic comparisons or spreading them as arguments would not finish. */
it.each([
  ['calls that say nothing', [called(many(200_000, () => ({})))]],
  ['results without an id', [called(many(80_000, () => ({}))), ...many(30_000, () => result())]],
  [
    'results by their names',
    [
      called(many(15_000, (at) => ({ function: { name: `f${at}` } }))),
      ...many(15_000, (at) => result({ name: `f${at}` })),
    ],
  ],
  [
    'calls with the same id',
    [called(many(30_000, () => ({ id: 'a' }))), ...many(20_000, () => result({ tool_call_id: 'a' }))],
  ],
  ['results of no call', [called(many(80_000, () => ({}))), ...many(30_000, () => result({ tool_call_id: 'x' }))]],
])('as many %s as the door lets in are read', (_name, messages) => {
  const { items } = conversationIn(requestOf({ messages: [{ role: 'user', content: 'q' }, ...messages] }))
  expect(items.length).toBeGreaterThan(25_000)
})
