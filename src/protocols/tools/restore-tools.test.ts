import { expect, it } from 'vitest'
import type { ToolDefinition } from '../../model/conversation.ts'
import type { TurnEvent } from '../../model/event.ts'
import type { EventReader } from '../shared/codec-types.ts'
import { newStreamState } from '../shared/stream-state.ts'
import { restoreTools } from './restore-tools.ts'
import { createToolNames } from './tool-names.ts'

const TOOLS = [
  { type: 'function', name: 'wait', namespace: 'agents' },
  { type: 'custom', name: 'patch', namespace: undefined },
] as ToolDefinition[]
const NAMES = createToolNames(TOOLS, { custom: 'as-function', namespace: 'flat' })

const start = (call: number, name: string): TurnEvent => ({
  type: 'tool-call-start',
  call,
  callId: `call_${call}`,
  name,
  namespace: undefined,
  tool: 'function',
})
const delta = (call: number, text: string): TurnEvent => ({ type: 'tool-call-delta', call, text })
const end = (call: number): TurnEvent => ({ type: 'tool-call-end', call })

function readerOf(frames: readonly (readonly TurnEvent[])[]): EventReader {
  const state = newStreamState()
  let at = 0
  return {
    state,
    read() {
      state.outputBytes += 10
      state.heldBytes = 2
      state.finished = at + 1 === frames.length
      return frames[at++] ?? []
    },
  }
}

const FRAME = Buffer.alloc(0)

it('gives namespace and name back, and leaves a name that the model has invented', () => {
  const reader = restoreTools(
    readerOf([[start(0, 'agents__wait'), delta(0, '{}'), end(0), start(1, 'made_up')]]),
    NAMES,
  )
  expect(reader.read(FRAME)).toEqual([
    { ...start(0, 'wait'), namespace: 'agents' },
    delta(0, '{}'),
    end(0),
    start(1, 'made_up'),
  ])
})

it('a custom tool that went as a function comes back as one, its input taken out of the JSON as it streams', () => {
  const reader = restoreTools(
    readerOf([
      [start(0, 'patch')],
      [delta(0, '{"input":"a')],
      [delta(0, 'b\\')],
      [delta(0, 'nc"}')],
      [end(0), { type: 'turn-end', reason: 'tool-calls' }],
    ]),
    NAMES,
  )
  expect(reader.read(FRAME)).toEqual([{ ...start(0, 'patch'), tool: 'custom' }])
  expect(reader.read(FRAME)).toEqual([delta(0, 'a')])
  expect(reader.read(FRAME)).toEqual([delta(0, 'b')])
  expect(reader.read(FRAME)).toEqual([delta(0, '\nc')])
  expect(reader.read(FRAME)).toEqual([end(0), { type: 'turn-end', reason: 'tool-calls' }])
})

it('two calls of custom tools at once do not mix', () => {
  const reader = restoreTools(
    readerOf([
      [start(0, 'patch'), delta(0, '{"inp'), start(1, 'patch'), delta(1, '{"input":"one\\')],
      [delta(0, 'ut":"zero"}'), delta(1, '\\"}'), end(0), end(1)],
    ]),
    NAMES,
  )
  reader.read(FRAME)
  expect(reader.read(FRAME)).toEqual([delta(0, 'zero'), delta(1, '\\'), end(0), end(1)])
})

it('what is no such input at the end is given as it is, before the end of its call', () => {
  const reader = restoreTools(readerOf([[start(0, 'patch'), delta(0, '{"inp')], [end(0)]]), NAMES)
  expect(reader.read(FRAME)).toHaveLength(1)
  expect(reader.read(FRAME)).toEqual([delta(0, '{"inp'), end(0)])
})

it('counts what waits here beside what waits in the reader', () => {
  const inner = readerOf([[start(0, 'patch'), delta(0, '{"inp')], [delta(0, 'ut":"x')], [end(0)]])
  const reader = restoreTools(inner, NAMES)
  reader.read(FRAME)
  expect(reader.state).toMatchObject({ outputBytes: 10, heldBytes: 2 + 5, finished: false })
  reader.read(FRAME)
  expect(reader.state).toMatchObject({ outputBytes: 20, heldBytes: 2 })
  reader.read(FRAME)
  expect(reader.state).toMatchObject({ outputBytes: 30, heldBytes: 2, finished: true })
})

it('a call that the lane itself gives as custom stays as it is', () => {
  const custom = { ...start(0, 'patch'), tool: 'custom' } as TurnEvent
  const reader = restoreTools(readerOf([[custom, delta(0, '{"input":"x"}')]]), NAMES)
  expect(reader.read(FRAME)).toEqual([custom, delta(0, '{"input":"x"}')])
  const unasked = { ...start(0, 'agents__wait'), tool: 'custom' } as TurnEvent
  expect(restoreTools(readerOf([[unasked]]), NAMES).read(FRAME)).toEqual([
    { ...unasked, name: 'wait', namespace: 'agents' },
  ])
})

const over = (reason: 'stop' | 'tool-calls' | 'length'): TurnEvent => ({ type: 'turn-end', reason })

it.each<[string, readonly TurnEvent[], string | undefined]>([
  [
    'arguments that are JSON',
    [start(0, 'f'), delta(0, '{"a"'), delta(0, ':1}'), end(0), over('tool-calls')],
    undefined,
  ],
  [
    'arguments that are no JSON',
    [start(0, 'f'), delta(0, '{"a"'), delta(0, '}')],
    'the arguments of a tool call are not JSON',
  ],
  [
    'arguments that break off in an answer that says it is whole',
    [start(0, 'f'), delta(0, '{"a"'), end(0), over('tool-calls')],
    'the arguments of a tool call are not JSON',
  ],
  [
    'arguments that break off where the answer was cut',
    [start(0, 'f'), delta(0, '{"a"'), end(0), over('length')],
    undefined,
  ],
  ['the free text of a custom tool', [start(0, 'patch'), delta(0, 'not JSON'), end(0), over('tool-calls')], undefined],
])('%s: judged by what it ends with', (_, events, invalid) => {
  const reader = restoreTools(readerOf(events.map((event) => [event])), NAMES)
  const read = events.flatMap(() => reader.read(FRAME))
  expect([reader.state.invalid, reader.state.finished]).toEqual([invalid, invalid === undefined])
  expect(read.some(({ type }) => type === 'turn-end')).toBe(invalid === undefined)
})

it('a call without arguments has none, where it was not cut off before them', () => {
  const frames = (reason: 'tool-calls' | 'length') => [[start(0, 'f'), end(0), over(reason)]]
  const whole = restoreTools(readerOf(frames('tool-calls')), NAMES)
  expect(whole.read(FRAME)).toEqual([start(0, 'f'), delta(0, '{}'), end(0), over('tool-calls')])
  expect(whole.state.outputBytes).toBe(12)
  expect(restoreTools(readerOf(frames('length')), NAMES).read(FRAME)).toEqual([start(0, 'f'), end(0), over('length')])
})

it('an answer that was cut may have cut its last call, and no other', () => {
  const over: TurnEvent = { type: 'turn-end', reason: 'length' }
  const read = (...words: readonly string[]) => {
    const calls = words.flatMap((text, call) => [
      start(call, text.startsWith('{"input"') ? 'patch' : 'look'),
      ...(text === '' ? [] : [delta(call, text)]),
      end(call),
    ])
    const reader = restoreTools(readerOf([[...calls, over]]), NAMES)
    const events = reader.read(FRAME)
    return reader.state.invalid ?? events.flatMap((event) => (event.type === 'tool-call-delta' ? [event.text] : []))
  }
  expect(read('{"a":1}', '{"a')).toEqual(['{"a":1}', '{"a'])
  expect(read('{"a":1}', '')).toEqual(['{"a":1}'])
  expect(read('', '{"a":1}')).toEqual(['{}', '{"a":1}'])
  expect(read('{"a', '{"a":1}')).toBe('the arguments of a tool call are not JSON')
  expect(read('{"a', '{"input":"whole"}')).toBe('the arguments of a tool call are not JSON')
})

it('nothing comes of a frame whose call is broken, so that another lane may answer', () => {
  const over: TurnEvent = { type: 'turn-end', reason: 'tool-calls' }
  const reader = restoreTools(readerOf([[start(0, 'look'), delta(0, '{"a":NaN}'), end(0), over]]), NAMES)
  expect([reader.read(FRAME), reader.state.invalid]).toEqual([[], 'the arguments of a tool call are not JSON'])
})
