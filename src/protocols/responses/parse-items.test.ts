import { describe, expect, it } from 'vitest'
import type { Fields } from '../../lib/types.ts'
import { createItemEventReader } from './read-stream.ts'

const event = (type: string, fields: Fields = {}): Fields => ({ type: `response.${type}`, ...fields })
const message = (id: string, text: string): Fields => ({
  id,
  type: 'message',
  content: [{ type: 'output_text', text }],
})
const refusal = (id: string, refusal: string): Fields => ({
  id,
  type: 'message',
  content: [{ type: 'refusal', refusal }],
})
const call = (id: string, name: string): Fields => ({ id, type: 'function_call', name, arguments: '{}' })
const thought = (id: string, text: string): Fields => ({
  id,
  type: 'reasoning',
  summary: [{ type: 'summary_text', text }],
})
const added = (item: Fields, index: number): Fields =>
  event('output_item.added', { output_index: index, item: { ...item, content: [], summary: [], arguments: '' } })
const done = (item: Fields, index: number): Fields => event('output_item.done', { output_index: index, item })
const say = (id: string, index: number, delta: string): Fields =>
  event('output_text.delta', { item_id: id, output_index: index, content_index: 0, delta })
const args = (id: string, index: number, delta: string): Fields =>
  event('function_call_arguments.delta', { item_id: id, output_index: index, delta })
const think = (id: string, delta: string): Fields =>
  event('reasoning_summary_text.delta', { item_id: id, output_index: 0, summary_index: 0, delta })
const refused = (id: string, words: string): Fields =>
  event('content_part.done', { item_id: id, content_index: 0, part: { type: 'refusal', refusal: words } })
const end = (status: 'completed' | 'incomplete', ...output: Fields[]): Fields =>
  event(status, { response: { status, output } })

function parse(...events: Fields[]) {
  const reader = createItemEventReader('lane')
  const itemEvents = events.flatMap((each) => reader.read(Buffer.from(`data: ${JSON.stringify(each)}\n\n`)))
  const words = itemEvents.flatMap((itemEvent) => (itemEvent.type === 'delta' ? [itemEvent.text] : []))
  return { invalid: reader.state.invalid, words, itemEvents }
}

const DISAGREES = 'the end of an item does not match what came before it'
const [one, other] = [message('a', 'one'), message('b', 'other')]

describe('an answer whose end', () => {
  it.each<readonly [string, readonly Fields[]]>([
    ['lacks an item', [done(one, 0), done(other, 1), end('completed', other)]],
    ['has its items in another order', [done(other, 1), done(one, 0), end('completed', one, other)]],
    ['calls another tool', [done(call('a', 'look'), 0), end('completed', call('a', 'find'))]],
    [
      'has another call to the same tool',
      [
        added({ ...call('a', 'look'), call_id: 'c1' }, 0),
        end('completed', thought('t', 'so'), { ...call('b', 'look'), call_id: 'c2', arguments: '' }),
      ],
    ],
    ['is followed by its call to another tool', [done(call('a', 'look'), 0), added(call('a', 'find'), 0)]],
    [
      'of the arguments calls another tool',
      [
        added(call('a', 'look'), 0),
        event('function_call_arguments.done', { item_id: 'a', name: 'find', arguments: '{}' }),
      ],
    ],
    ['of an item calls another tool', [added(call('a', 'look'), 0), done(call('a', 'find'), 0), end('completed')]],
    ['has text of an item that was no message', [added({ ...one, type: 'unknown' }, 0), end('completed', one)]],
    ['has a part that its item did not have', [done(one, 0), end('completed', refusal('a', 'No.'))]],
    ['is an end of a part that its item did not have', [done(one, 0), refused('a', 'No.'), end('completed', one)]],
    ['lacks the text of a part', [done(one, 0), refused('b', 'No.'), end('completed', one)]],
    ['lacks a part', [added(refusal('a', ''), 0), say('a', 0, 'one'), done(refusal('a', 'No.'), 0)]],
    ['is an end of an item that was over', [done(one, 0), done(refusal('a', 'No.'), 0), end('completed', one)]],
  ])('%s is invalid', (_, events) => {
    expect(parse(...events).invalid).toBe(DISAGREES)
  })

  it.each<readonly [string, readonly Fields[], readonly string[]]>([
    [
      'renumbers its calls at shifted places, as vLLM does',
      [
        added(message('m', ''), 0),
        done({ ...message('m', ''), content: [] }, 0),
        added({ ...call('f', 'look'), call_id: 'call_a' }, 1),
        args('f', 1, '{"l":1}'),
        done({ ...call('f', 'look'), call_id: 'call_a', arguments: '{"l":1}' }, 1),
        end('completed', { ...call('z', 'look'), call_id: 'call_z', arguments: '{"l":1}' }),
      ],
      ['{"l":1}'],
    ],
    [
      'corrects the name of a call that has not started',
      [
        added(call('a', 'look'), 0),
        added(call('b', 'fi'), 1),
        done(call('b', 'find'), 1),
        done(call('a', 'look'), 0),
        end('completed', call('a', 'look'), call('b', 'find')),
      ],
      ['{}', '{}'],
    ],
    [
      'names its calls by call_id alone, as llama.cpp did before June 2026',
      [
        event('output_item.added', { item: { type: 'function_call', call_id: 'fc_1', name: 'look', arguments: '' } }),
        event('function_call_arguments.delta', { item_id: 'fc_1', delta: '{"a":' }),
        event('function_call_arguments.delta', { item_id: 'fc_1', delta: '1}' }),
        event('output_item.done', {
          item: { type: 'function_call', call_id: 'fc_1', name: 'look', arguments: '{"a":1}' },
        }),
        end('completed', { type: 'function_call', call_id: 'fc_1', name: 'look', arguments: '{"a":1}' }),
      ],
      ['{"a":', '1}'],
    ],
  ])('%s is whole', (_, events, words) => {
    expect(parse(...events)).toMatchObject({ invalid: undefined, words })
  })

  it('lists an item twice contains it once', () => {
    expect(parse(end('completed', one, one))).toMatchObject({ invalid: undefined, words: ['one'] })
  })

  it('lists two equal items contains both', () => {
    const [first, second] = [call('a', 'look'), call('b', 'look')]
    expect(parse(done(first, 0), done(second, 1), end('completed', first, second)).words).toEqual(['{}', '{}'])
    expect(parse(done(second, 1), end('completed', first, second)).invalid).toBe(DISAGREES)
  })

  it('has a call without a name is invalid, also where it was cut', () => {
    for (const status of ['completed', 'incomplete'] as const)
      expect(parse(end(status, call('a', ''))).invalid).toBe('a tool call without a name')
  })

  it('may cut the arguments of its last call, but not break any', () => {
    const [whole, cut, spoiled] = ['{"a":1}', '{"a":', '{"a":}'].map((words) => ({
      ...call(words, 'look'),
      arguments: words,
    }))
    expect(parse(end('incomplete', whole!, cut!)).invalid).toBeUndefined()
    for (const items of [[spoiled], [cut, whole]])
      expect(parse(end('incomplete', ...(items as Fields[]))).invalid).toBe('the arguments of a tool call are not JSON')
  })

  it('disagrees leaves the content as it was', () => {
    const begun = [added(one, 0), say('a', 0, 'on')]
    const { invalid, itemEvents } = parse(...begun, done(other, 1), end('completed', one, message('b', 'else')))
    expect(invalid).toBe(DISAGREES)
    const parts = new Set(itemEvents.flatMap((itemEvent) => (itemEvent.type === 'delta' ? [itemEvent.part] : [])))
    expect([...parts].map(({ text }) => text)).toEqual(['on'])
  })
})

it('text behind the end of its part is invalid, and is dropped where it is reasoning', () => {
  const whole = event('output_text.done', { item_id: 'a', output_index: 0, content_index: 0, text: 'one' })
  expect(parse(added(one, 0), whole, say('a', 0, 'one')).invalid).toBe('content after the end of its item')
  const late = [added(thought('r', ''), 0), think('r', 'Hm')]
  expect(parse(done(thought('r', 'Hm'), 0), ...late, end('completed', thought('r', 'Hm')))).toMatchObject({
    ...{ invalid: undefined, words: ['Hm'] },
  })
})
