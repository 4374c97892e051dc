import { expect, it } from 'vitest'
import type { TurnEvent } from '../../model/event.ts'
import { holdCalls } from '../shared/codec-types.ts'
import { newStreamState } from '../shared/stream-state.ts'
import { readAnswerTool } from './restore-tools.ts'

const started = (call: number, name: string): TurnEvent => ({
  type: 'tool-call-start',
  call,
  callId: `call_${name}`,
  name,
  namespace: undefined,
  tool: 'function',
})
const delta = (call: number, text: string) => ({ type: 'tool-call-delta', call, text }) as const
const ended = (call: number) => ({ type: 'tool-call-end', call }) as const
const end = { type: 'turn-end', reason: 'tool-calls' } as const

const read = (events: readonly TurnEvent[]) => {
  const reader = { state: newStreamState(), read: () => events }
  return readAnswerTool(reader, 'answer').read(Buffer.from(''))
}
const message = { type: 'message-start', phase: undefined }
const text = (emitted: string) => ({ type: 'text-delta', text: emitted })

it('the call of the tool is none that the client gets, so it is not held back', () => {
  const reader = { state: newStreamState(), read: () => [started(0, 'answer'), started(1, 'other')] }
  readAnswerTool(reader, 'answer').read(Buffer.from(''))
  expect(reader.state.answerCalls).toBe(1)
  const adapter = { state: reader.state, read: () => ({ bytes: 'a', isContent: true }), close: () => Buffer.alloc(0) }
  reader.state.calls = 1
  expect(holdCalls(adapter).read(Buffer.from('')).isContent).toBe(true)
  reader.state.calls = 2
  expect(holdCalls(adapter).read(Buffer.from('')).isContent).toBe(false)
})

it('the input of the tool is the answer, and not a call', () => {
  expect(read([started(0, 'answer'), delta(0, '{"a":'), delta(0, '1}'), ended(0), end])).toEqual([
    ...[message, text('{"a":'), text('1}'), { type: 'turn-end', reason: 'stop' }],
  ])
})

it('other calls are calls, numbered without it', () => {
  expect(
    read([started(0, 'look'), started(1, 'answer'), started(2, 'see'), delta(2, '{}'), delta(1, '1'), ended(2), end]),
  ).toEqual([started(0, 'look'), message, { ...started(2, 'see'), call: 1 }, delta(1, '{}'), text('1'), ended(1), end])
})

it('there is one answer: a second one is nothing', () => {
  const second = [started(1, 'answer'), delta(1, '2'), ended(1)]
  expect(read([started(0, 'answer'), delta(0, '1'), ended(0), ...second, end])).toEqual([
    ...[message, text('1'), { type: 'turn-end', reason: 'stop' }],
  ])
})

it('an answer that was cut off says so', () => {
  const cut = { type: 'turn-end', reason: 'length' } as const
  expect(read([started(0, 'answer'), delta(0, '{'), cut])).toEqual([message, text('{'), cut])
})
