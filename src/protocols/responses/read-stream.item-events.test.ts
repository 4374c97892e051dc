import { describe, expect, it } from 'vitest'
import type { ItemEvent } from './item-events.ts'
import { createItemEventReader } from './read-stream.ts'

const event = (type: string, fields: object = {}) =>
  Buffer.from(`data: ${JSON.stringify({ type: `response.${type}`, ...fields })}\n\n`)
const text = (id: string | undefined, index: number | undefined, delta: string, part?: number) =>
  event('output_text.delta', { item_id: id, output_index: index, content_index: part, delta })
const added = (item: object, index?: number) => event('output_item.added', { output_index: index, item })
const done = (item: object, index?: number) => event('output_item.done', { output_index: index, item })
const message = (id: string, words?: string) => ({
  ...{ id, type: 'message', content: words === undefined ? [] : [{ type: 'output_text', text: words }] },
})
const call = (id: string, args: string) => ({ id, type: 'function_call', name: 'go', call_id: 'c', arguments: args })
const end = (status = 'completed', output: unknown = undefined) => event(status, { response: { status, output } })

function itemEventsOf(frames: readonly Buffer[]) {
  const reader = createItemEventReader('lane')
  return frames.flatMap((frame) => [...reader.read(frame)])
}

/** The items with their texts and how they ended. */
function itemsOf(frames: readonly Buffer[]): unknown[] {
  const items = new Map<object, unknown[]>()
  for (const itemEvent of itemEventsOf(frames)) {
    if (itemEvent.type === 'item-start') items.set(itemEvent.item, [itemEvent.item.kind])
    if (itemEvent.type === 'delta') items.get(itemEvent.item)?.push(itemEvent.text)
    if (itemEvent.type === 'item-end') items.get(itemEvent.item)?.push(itemEvent.item.status)
  }
  return [...items.values()]
}
const typesOf = (itemEvents: readonly ItemEvent[]) => itemEvents.map(({ type }) => type)

const DISAGREES = 'the end of an item does not match what came before it'

describe('the item events of a stream', () => {
  it('order waiting items by their indexes, not by when they came', () => {
    expect(
      itemsOf([
        added(message('a'), 0),
        added(message('c'), 2),
        added(message('b'), 1),
        text('a', 0, 'first'),
        text('c', 2, 'third'),
        text('b', 1, 'second'),
        end(),
      ]),
    ).toEqual([
      ['message', 'first', 'completed'],
      ['message', 'second', 'completed'],
      ['message', 'third', 'completed'],
    ])
  })

  it('mark only the last item of a cut answer as incomplete', () => {
    const open = [added(message('a'), 0), text('a', 0, 'x'), added(message('b'), 1), text('b', 1, 'y')]
    const expected = [
      ['message', 'x', 'completed'],
      ['message', 'y', 'incomplete'],
    ]
    expect(itemsOf([...open, end('incomplete')])).toEqual(expected)
    expect(itemsOf([...open, end('incomplete', [message('a', 'x'), message('b', 'y')])])).toEqual(expected)
    expect(itemsOf([end('incomplete', [message('a', 'x'), message('b', 'y')])])).toEqual(expected)
  })

  it.each<[string, readonly Buffer[], string]>([
    [
      'an end of a text that says something else',
      [text('a', 0, 'abc'), event('output_text.done', { item_id: 'a', output_index: 0, text: 'abd' })],
      DISAGREES,
    ],
    ['an item that says something else', [text('a', 0, 'abc'), done(message('a', 'ab'), 0)], DISAGREES],
    [
      'a whole response that says something else',
      [text('a', 0, 'abc'), done(message('a', 'abc'), 0), end('completed', [message('a', 'xyz')])],
      DISAGREES,
    ],
    ['words that come twice', [text('a', 0, 'ab'), text('a', 0, 'ab'), done(message('a', 'ab'), 0)], DISAGREES],
    ['words that are missing', [text('a', 0, 'a'), text('a', 0, 'c'), done(message('a', 'abc'), 0)], DISAGREES],
    [
      'arguments that say something else',
      [
        added(call('f', ''), 0),
        event('function_call_arguments.delta', { item_id: 'f', output_index: 0, delta: '{"a":1}' }),
        done(call('f', '{"a":2}'), 0),
      ],
      DISAGREES,
    ],
    [
      'content after the end of its item',
      [text('a', 0, 'x'), done(message('a', 'x'), 0), text('a', 0, 'late')],
      'content after the end of its item',
    ],
    ['a second beginning', [event('created'), text('a', 0, 'x'), event('created')], 'a second response.created'],
    [
      'arguments that are no JSON',
      [added(call('f', ''), 0), done(call('f', '{"a"'), 0), end()],
      'the arguments of a tool call are not JSON',
    ],
    ['a call without a name', [done({ ...call('f', '{}'), name: '' }, 0), end()], 'a tool call without a name'],
  ])('%s: the answer is invalid', (_, frames, invalid) => {
    const reader = createItemEventReader('lane')
    for (const frame of frames) reader.read(frame)
    expect([reader.state.invalid, reader.state.finished, reader.ending()]).toEqual([invalid, false, undefined])
  })

  it.each([
    ['trimmed', ' abc\n', 'abc'],
    ['left out', 'abc', ''],
  ])('keep the deltas where the whole is %s', (_, words, whole) => {
    expect(
      itemsOf([text('a', 0, words), done(message('a', whole), 0), end('completed', [message('a', whole)])]),
    ).toEqual([['message', words, 'completed']])
  })

  it('accept arguments that are reformatted at their end, and those of a cut answer', () => {
    const delta = event('function_call_arguments.delta', { item_id: 'f', output_index: 0, delta: '{"a": 1}' })
    expect(itemsOf([added(call('f', ''), 0), delta, done(call('f', '{"a":1}'), 0), end()])).toEqual([
      ['function_call', '{"a": 1}', 'completed'],
    ])
    const cut = { ...call('f', '{"a'), status: 'incomplete' }
    expect(itemsOf([added(call('f', ''), 0), end('incomplete', [cut])])).toEqual([
      ['function_call', '{"a', 'incomplete'],
    ])
  })

  it('contain a part once whose end comes late or again', () => {
    const whole = (part: number, words: string) =>
      event('output_text.done', { item_id: 'a', output_index: 0, content_index: part, text: words })
    const frames = [text('a', 0, 'one', 0), text('a', 0, 'two', 1), whole(0, 'one'), whole(1, 'two'), whole(1, 'two')]
    expect(itemsOf([...frames, done(message('a')), whole(0, 'one'), end()])).toEqual([
      ['message', 'one', 'two', 'completed'],
    ])
    expect(typesOf(itemEventsOf(frames)).filter((type) => type === 'part-start')).toHaveLength(2)
  })

  it('recognize a new item at a used index by its id, and the same one announced twice', () => {
    expect(
      itemsOf([
        added(message('a'), 0),
        text('a', 0, 'x'),
        done(message('a', 'x'), 0),
        added(message('b'), 0),
        text('b', 0, 'y'),
        end(),
      ]),
    ).toEqual([
      ['message', 'x', 'completed'],
      ['message', 'y', 'completed'],
    ])
    expect(itemsOf([added(message('a'), 0), added(message('a'), 0), text('a', 0, 'x'), end()])).toEqual([
      ['message', 'x', 'completed'],
    ])
    expect(
      itemsOf([
        added(message('a'), 0),
        added(message('b'), 0),
        text('a', 0, 'x'),
        done(message('a', 'x'), 0),
        text('b', 0, 'y'),
        end(),
      ]),
    ).toEqual([
      ['message', 'x', 'completed'],
      ['message', 'y', 'completed'],
    ])
  })

  it('resolve an unknown id by the index, and an event without id and index to the last item', () => {
    expect(itemsOf([added(message('a'), 0), text('other', 0, 'x'), text(undefined, undefined, 'y'), end()])).toEqual([
      ['message', 'x', 'y', 'completed'],
    ])
    expect(itemsOf([text('a', 0, 'x'), text('b', 1, 'y'), end()])).toEqual([
      ['message', 'x', 'completed'],
      ['message', 'y', 'completed'],
    ])
  })

  it('keep two items apart that share an index', () => {
    const both = [added(message('a'), 0), added(message('b'), 0), text('a', 0, 'x'), text('b', 0, 'y')]
    expect(itemsOf([...both, end()])).toEqual([
      ['message', 'x', 'completed'],
      ['message', 'y', 'completed'],
    ])
  })

  it('end a call that never got arguments as one that has none', () => {
    const itemEvents = itemEventsOf([added({ id: 'f', type: 'function_call', name: 'go', arguments: '' }, 0), end()])
    expect(typesOf(itemEvents)).toEqual(['item-start', 'part-start', 'delta', 'part-end', 'item-end'])
  })

  it('ignore the events of a hosted tool', () => {
    const call = { id: 'ws', type: 'mcp_call', name: 'f', arguments: '' }
    const words = event('function_call_arguments.delta', { item_id: 'ws', output_index: 0, delta: '{}' })
    expect(itemsOf([added(call, 0), words, done({ ...call, arguments: '{}' }, 0), end('completed', [call])])).toEqual(
      [],
    )
  })

  it('wait for the name of a call, however late it comes', () => {
    const words = event('function_call_arguments.delta', { item_id: 'f', output_index: 0, delta: '{}' })
    const reader = createItemEventReader('lane')
    expect(reader.read(words)).toEqual([])
    expect(reader.state).toMatchObject({ outputBytes: 2, heldBytes: 2 })
    const itemEvents = reader.read(event('function_call_arguments.done', { item_id: 'f', arguments: '{}', name: 'go' }))
    expect(typesOf(itemEvents)).toEqual(['item-start', 'part-start', 'delta'])
    expect(reader.state).toMatchObject({ outputBytes: 4, heldBytes: 0 })
  })

  it('include the ending: a failure event counts more than its status, and an unfinished status is no ending', () => {
    const ended = (type: string, response: object) => {
      const reader = createItemEventReader('lane')
      reader.read(event(type, { response }))
      return [reader.ending()?.kind, reader.state.error?.message, reader.state.done]
    }
    expect(ended('failed', { status: 'completed' })).toEqual([undefined, expect.any(String), false])
    expect(ended('incomplete', { status: 'completed' })).toEqual(['incomplete', undefined, true])
    expect(ended('completed', { status: 'in_progress' })).toEqual(['completed', undefined, true])
    expect(ended('completed', {})).toEqual(['completed', undefined, true])
    expect(ended('in_progress', { status: 'completed' })).toEqual([undefined, undefined, false])
  })

  it('use the event line where the data has no type', () => {
    const reader = createItemEventReader('lane')
    const frame = Buffer.from('id: 1\nevent: response.output_text.delta\ndata: {"delta":"x"}\n\n')
    expect(typesOf(reader.read(frame))).toEqual(['item-start', 'part-start', 'delta'])
    expect(createItemEventReader('lane').read(Buffer.from('data: {"delta":"x"}\n\n'))).toEqual([])
  })
})
