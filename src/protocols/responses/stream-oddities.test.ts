import { describe, expect, it } from 'vitest'
import { countedIds } from '../../../test/fixtures/protocols/mint-ids.ts'
import { eventsIn } from '../../../test/fixtures/protocols/responses/answers.ts'
import { added, delta, ended, event, reEmit } from '../../../test/fixtures/protocols/responses/re-emit.ts'
import type { Fields } from '../../lib/types.ts'
import { classifyRefusal } from '../refusals/provider-error.ts'
import { responsesDialect } from './dialects.ts'
import { createEventReader } from './read-events.ts'

/** The frames of a lane before its answer, and the answer. */
const CREATED = [event('response.created', { response: { id: 'resp_theirs', status: 'in_progress' } })]
const MESSAGE = { type: 'message', id: 'm', role: 'assistant', content: [] }
const CALL = { type: 'function_call', id: 'f', call_id: 'c', name: 'look', arguments: '{"a":1}' }

function translated(frames: readonly Buffer[]) {
  const reader = createEventReader({ dialect: responsesDialect('generic'), origin: 'lane', mint: countedIds() })
  const events = frames.flatMap((frame) => reader.read(frame))
  const wordsOf = (type: string) =>
    events.flatMap((each) => (each.type === type && 'text' in each ? [each.text] : [])).join('')
  return { text: wordsOf('text-delta'), args: wordsOf('tool-call-delta'), state: reader.state, events }
}

function reEmitted(frames: readonly Buffer[]) {
  const { bytes, adapter } = reEmit(frames)
  const events = eventsIn(bytes)
  const deltas = (type: string) => events.flatMap((each) => (each.type === type ? [String(each.delta)] : [])).join('')
  const text = deltas('response.output_text.delta')
  return { text, args: deltas('response.function_call_arguments.delta'), state: adapter.state, events, bytes }
}

/** The same on both roads. */
function answerOf(frames: readonly Buffer[]): { text: string; args: string; events: Fields[] } {
  const [one, other] = [reEmitted(frames), translated(frames)]
  expect([one.state.error, one.state.invalid, one.state.finished]).toEqual([undefined, undefined, true])
  expect({ text: other.text, args: other.args, finished: other.state.finished }).toEqual({
    ...{ text: one.text, args: one.args, finished: true },
  })
  return { text: one.text, args: one.args, events: one.events }
}

describe('the stream of a Responses lane', () => {
  it('is without any keep-alives', () => {
    const alive = [
      event('keepalive', { sequence_number: 3 }),
      Buffer.from('event: keepalive\ndata: {"type":"keepalive"}\n\n'),
      ...[': ping\n\n', 'event: ping\ndata: {}\n\n'].map((text) => Buffer.from(text)),
      event('response.heartbeat'),
      event('ping'),
    ]
    const { text, events } = answerOf([
      ...alive,
      ...CREATED,
      ...alive,
      added(MESSAGE),
      ...alive,
      delta('hi'),
      ...alive,
      ended(),
    ])
    expect(text).toBe('hi')
    expect(JSON.stringify(events)).not.toMatch(/keepalive|heartbeat|ping/)
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at))
  })

  it('is without unknown events and padding', () => {
    const odd = event('response.something_new.delta', { delta: 'x', item_id: 'm' })
    const { text, events } = answerOf([
      ...CREATED,
      odd,
      added(MESSAGE),
      odd,
      delta('hi', { obfuscation: 'zzz' }),
      odd,
      ended(),
    ])
    expect(text).toBe('hi')
    expect(JSON.stringify(events)).not.toMatch(/something_new|zzz/)
  })

  it('has ids of ours for the response and its items', () => {
    const again = event('response.in_progress', { response: { id: 'resp_another' } })
    const { events } = answerOf([
      ...CREATED,
      added(MESSAGE),
      delta('h'),
      again,
      delta('i', { item_id: 'other' }),
      ended({ id: 'resp_third' }),
    ])
    const ids = events.flatMap(({ response }) => (response ? [(response as Fields).id] : []))
    expect(new Set(ids).size).toBe(1)
    expect(JSON.stringify(events)).not.toMatch(/resp_(theirs|another|third)/)
  })

  it('has arguments that come only with their end, and items that were not announced', () => {
    const whole = event('response.function_call_arguments.done', {
      item_id: 'f',
      output_index: 0,
      arguments: '{"a":1}',
    })
    expect(answerOf([...CREATED, added({ ...CALL, arguments: '' }), whole, ended({ output: [CALL] })]).args).toBe(
      '{"a":1}',
    )
    const done = event('response.output_item.done', { output_index: 0, item: CALL })
    expect(answerOf([...CREATED, done, ended({ output: [CALL] })]).args).toBe('{"a":1}')
    expect(answerOf([...CREATED, ended({ output: [CALL] })]).args).toBe('{"a":1}')
    expect(answerOf([delta('hi'), ended()]).text).toBe('hi')
  })

  const QUOTA = { type: 'insufficient_quota', code: 'insufficient_quota', message: 'You exceeded your current quota.' }
  const FAILED = { response: { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'Slow down.' } } }

  it.each<[shape: string, frame: Buffer, kind: string]>([
    ['an error with another inside', event('error', { error: QUOTA }), 'credential'],
    ['a flat error', event('error', { code: 'server_error', message: 'broke', param: null }), 'failed'],
    ['an error without a code', event('error', { code: null, message: 'The server is overloaded.' }), 'failed'],
    ['the body of a refusal', Buffer.from(`data: ${JSON.stringify({ error: QUOTA })}\n\n`), 'credential'],
    ['a response that has failed', event('response.failed', FAILED), 'throttled'],
    ['a response that was cancelled', event('response.cancelled', { response: { status: 'cancelled' } }), 'failed'],
  ])('that begins with %s has sent nothing, so that another lane may be tried', (_shape, frame, kind) => {
    for (const before of [[], CREATED, [...CREATED, event('keepalive'), added(MESSAGE)]]) {
      const [one, other] = [reEmitted([...before, frame]), translated([...before, frame])]
      expect([one.bytes.length, other.events.length]).toEqual([0, 0])
      expect(other.state.error).toEqual(one.state.error)
      const { message = '', code, ...error } = one.state.error ?? {}
      expect(classifyRefusal({ status: undefined, param: undefined, message, code, ...error })).toBe(kind)
    }
  })

  it('with an error and a failure has failed once, for the first reason', () => {
    const both = [event('error', { error: QUOTA }), event('response.failed', FAILED)]
    expect(reEmitted([...CREATED, ...both]).state.error).toMatchObject({ code: 'insufficient_quota' })
  })
})
