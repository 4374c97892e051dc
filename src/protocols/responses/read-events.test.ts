import { describe, expect, it } from 'vitest'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'
import {
  bytesOf,
  expectedOf,
  FIXTURES,
  framesIn,
  mintInOrder,
  plainEvents,
} from '../../../test/fixtures/protocols/responses/answers.ts'
import { randomStream } from '../../../test/fixtures/protocols/responses/random-stream.ts'
import type { TurnEvent } from '../../model/event.ts'
import { responsesDialect } from './dialects.ts'
import { createEventReader } from './read-events.ts'

function read(frames: readonly Buffer[]) {
  const reader = createEventReader({ dialect: responsesDialect('generic'), origin: 'lane', mint: mintInOrder() })
  return { events: frames.flatMap((frame) => reader.read(frame)), state: reader.state }
}

const event = (type: string, fields: object = {}) => Buffer.from(`data: ${JSON.stringify({ type, ...fields })}\n\n`)
const typesOf = (events: readonly TurnEvent[]) => events.map(({ type }) => type)

/** Calls begin and end one after the other, and text belongs to the open item. */
function expectOrder(events: readonly TurnEvent[], whole: boolean): void {
  let open: number | undefined
  let calls = 0
  for (const each of events) {
    if (each.type === 'tool-call-start') {
      expect([open, each.call]).toEqual([undefined, calls++])
      expect(each.callId).toMatch(/^call_ours\d+$/)
      open = each.call
    } else if (each.type === 'tool-call-delta' || each.type === 'tool-call-end') {
      expect(each.call).toBe(open)
      if (each.type === 'tool-call-end') open = undefined
    } else if (each.type !== 'usage') expect(open).toBeUndefined()
  }
  expect(events.filter(({ type }) => type === 'turn-end')).toHaveLength(whole ? 1 : 0)
  if (whole) expect(events.at(-1)?.type).toBe('turn-end')
}

describe.each(FIXTURES)('a stream with %s, as events', (fixture) => {
  const frames = framesIn([bytesOf(fixture)])
  const expected = expectedOf(fixture).answer as { items: unknown; state: Record<string, unknown> }

  it('has the content of the provider', () => {
    const { events, state } = read(frames)
    expectOrder(events, state.finished)
    if (state.finished) expect(plainEvents(events)).toEqual(expected.items)
    const { usage, outputBytes, heldBytes, finished, error, invalid } = state
    expect({
      usage: usage ?? null,
      outputBytes,
      heldBytes,
      finished,
      error: error ?? null,
      invalid: invalid ?? null,
    }).toEqual(expected.state)
  })

  it('is the same with CRLF, and as far as it came when it breaks off behind any frame', () => {
    const crlf = Buffer.from(String(bytesOf(fixture)).replaceAll('\n', '\r\n'))
    const { events } = read(frames)
    expect(read(framesIn([crlf])).events).toEqual(events)
    for (let count = 0; count < frames.length; count++) {
      const cut = read(frames.slice(0, count))
      expectOrder(cut.events, cut.state.finished)
      expect(events.slice(0, cut.events.length)).toEqual(cut.events)
    }
  })
})

describe('the events of a stream', () => {
  it('give the finish reason: calls, the output limit, or the filter', () => {
    const reasonOf = (fixture: string) => {
      const last = read(framesIn([bytesOf(fixture)])).events.at(-1)
      return last?.type === 'turn-end' ? last.reason : undefined
    }
    expect(reasonOf('summary-and-text')).toBe('stop')
    expect(reasonOf('two-calls')).toBe('tool-calls')
    expect(reasonOf('cut-by-the-cap')).toBe('length')
    expect(reasonOf('filtered')).toBe('content-filter')
    expect(reasonOf('failed-alone')).toBeUndefined()
  })

  it('include phases, namespaces, kinds of tools, summaries and seals', () => {
    const { events } = read(framesIn([bytesOf('two-calls')]))
    expect(events[0]).toEqual({ type: 'message-start', phase: 'commentary' })
    expect(events.filter(({ type }) => type === 'tool-call-start')).toEqual([
      {
        type: 'tool-call-start',
        call: 0,
        callId: 'call_ours1',
        name: 'weather',
        namespace: undefined,
        tool: 'function',
      },
      { type: 'tool-call-start', call: 1, callId: 'call_ours2', name: 'list', namespace: 'agents', tool: 'function' },
    ])
    const sealed = read(framesIn([bytesOf('summary-and-text')])).events
    expect(typesOf(sealed).slice(0, 7)).toEqual([
      ...['reasoning-start', 'summary-start', 'summary-delta', 'summary-delta', 'summary-start', 'summary-delta'],
      'reasoning-seal',
    ])
    expect(sealed[6]).toEqual({
      type: 'reasoning-seal',
      opaque: { wire: 'responses', origin: 'lane', data: 'sealed-by-the-provider' },
    })
    expect(read(framesIn([bytesOf('custom-call')])).events[0]).toMatchObject({ name: 'patch', tool: 'custom' })
  })

  it('include log probabilities, and leave out invalid ones', () => {
    const delta = (logprobs: unknown) => event('response.output_text.delta', { delta: 'x', logprobs })
    const textDelta = (logprobs: unknown) => read([delta(logprobs)]).events[1]
    expect(
      textDelta([{ token: 'x', logprob: -1, bytes: [120], top_logprobs: [{ token: 'y', logprob: -2 }, 7] }]),
    ).toEqual({
      type: 'text-delta',
      text: 'x',
      logprobs: [{ token: 'x', logprob: -1, bytes: [120], top: [{ token: 'y', logprob: -2, bytes: undefined }] }],
    })
    for (const none of [[], null, 'x', [null], [{ token: 1, logprob: 'x' }]]) {
      expect(textDelta(none)).toEqual({ type: 'text-delta', text: 'x' })
    }
  })

  it('leave out a call that ended without a name', () => {
    const call = (id: string, name: unknown) =>
      event('response.output_item.done', { item: { id, type: 'function_call', name, arguments: '{}' } })
    const { events, state } = read([
      call('f', null),
      call('g', ''),
      call('h', 'go'),
      event('response.completed', { response: {} }),
    ])
    expect([state.invalid, state.finished]).toEqual(['a tool call without a name', false])
    expect(events.map((each) => ('call' in each ? `${each.type} ${each.call}` : each.type))).toEqual([
      ...['tool-call-start 0', 'tool-call-delta 0', 'tool-call-end 0'],
    ])
  })

  it('leave out an empty message and an empty reasoning', () => {
    const item = (fields: object) => event('response.output_item.done', { item: fields })
    const { events } = read([
      item({ id: 'r', type: 'reasoning', summary: [] }),
      item({ id: 'm', type: 'message', content: [{ type: 'output_text', text: '' }] }),
      event('response.completed', { response: {} }),
    ])
    expect(events).toEqual([{ type: 'turn-end', reason: 'stop' }])
  })

  it('come in order and never throw for random frames, and contain every byte that is counted', () => {
    const seed = 112_020
    const random = randomFrom(seed)
    let events = 0
    for (let stream = 0; stream < 2000; stream++) {
      const frames = randomStream(random)
      try {
        const found = read(frames)
        expectOrder(found.events, found.state.finished)
        const texts = found.events.flatMap((each) =>
          each.type === 'tool-call-start' ? [each.name] : 'text' in each ? [each.text] : [],
        )
        const { finished, outputBytes, heldBytes } = found.state
        // What is held in the end is of calls without a name.
        if (finished) expect(Buffer.byteLength(texts.join(''))).toBe(outputBytes - heldBytes)
        events += found.events.length
      } catch (error) {
        throw new Error(`seed ${seed}, stream ${stream}: ${frames.map(String).join('')}`, { cause: error })
      }
    }
    console.log(`read-events: seed ${seed}, ${JSON.stringify({ streams: 2000, events })}`)
    expect(events).toBeGreaterThan(4000)
  })

  it('accept a usage of zero, and reject one that is not numbers; details may be missing', () => {
    const usageOf = (usage: unknown) => read([event('response.completed', { response: { usage } })]).state.usage
    const nothing = { uncachedInput: 0, cachedInput: 0, cacheWrite: 0, output: 0, reasoning: 0 }
    expect(usageOf({ input_tokens: 0, output_tokens: 0 })).toEqual(nothing)
    for (const none of [null, undefined, {}, { input_tokens: 5 }, { input_tokens: '5', output_tokens: -1 }]) {
      expect(usageOf(none)).toBeUndefined()
    }
    // More cached than there is, more reasoning than output: never more than the whole.
    const mixed = { input_tokens: 10, input_tokens_details: { cached_tokens: 8, cache_write_tokens: 9 } }
    expect(usageOf({ ...mixed, output_tokens: 2, output_tokens_details: { reasoning_tokens: 7 } })).toEqual({
      uncachedInput: 0,
      cachedInput: 8,
      cacheWrite: 2,
      output: 2,
      reasoning: 2,
    })
  })
})
