import { expect, it } from 'vitest'
import { countedIds } from '../../../test/fixtures/protocols/responses/encoder.ts'
import { requestOf, withItems } from '../../../test/fixtures/protocols/responses/read-request.ts'
import { framedSummary } from '../shared/summary.ts'
import { keptItems } from './compaction.ts'

const kept = (...items: readonly object[]) =>
  keptItems(requestOf(withItems(...items)), countedIds()).map(({ role, content }) => [role, content])

const long = (words: string, length: number) => words.repeat(Math.ceil(length / words.length))
const rest = { role: 'assistant', content: long('and so on ', 20_000) }
const text = (words: string) => [{ type: 'input_text', text: words }]

it('system messages stay at any place and of any length', () => {
  const system = long('Be kind. ', 50_000)
  expect(kept({ role: 'system', content: system }, rest, { role: 'developer', content: text('Be short') })).toEqual([
    ['system', text(system)],
    ['developer', text('Be short')],
  ])
})

it('the last user messages stay up to the size limit, in order', () => {
  const users = ['first', 'second', 'third'].map((words) => ({ role: 'user', content: long(words, 12_000) }))
  const messages = kept(...users, rest, { role: 'user', content: 'last' })
  expect(messages.map(([, content]) => (content as { text: string }[])[0]?.text.slice(0, 4))).toEqual(['thir', 'last'])
})

it('at most a quarter of a short conversation stays', () => {
  expect(kept({ role: 'user', content: 'We launch on Tuesday.' }, { role: 'assistant', content: 'Noted.' })).toEqual([])
})

it('no calls, reasoning or answers stay', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }
  expect(kept(call, { type: 'function_call_output', call_id: 'c', output: 'r' }, rest)).toEqual([])
})

it('an earlier summary does not stay, because the new one contains it', () => {
  const summary = { role: 'user', content: text(framedSummary('The gate opens with code 4711.')) }
  expect(kept(summary, rest, { role: 'user', content: 'Go on.' })).toEqual([['user', text('Go on.')]])
})

it('kept messages are whole items', () => {
  const [item] = keptItems(requestOf(withItems({ role: 'system', content: 'Be kind' }, rest)), countedIds())
  expect(item).toEqual({ id: 'msg_1', type: 'message', role: 'system', status: 'completed', content: text('Be kind') })
})
