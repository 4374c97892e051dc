import { describe, expect, it } from 'vitest'
import {
  begin,
  delta,
  finish,
  over,
  readerOf,
  readFrames,
  says,
  signs,
  sse,
  start,
  stop,
  TEXT,
  THINKING,
  thinks,
  use,
  writes,
} from '../../../test/fixtures/protocols/anthropic/messages.ts'

const text = (emitted: string) => ({ type: 'text-delta', text: emitted })
const called = (call: number, name = 'look') => ({
  type: 'tool-call-start',
  call,
  callId: `call_${call + 1}`,
  name,
  namespace: undefined,
  tool: 'function',
})
const args = (call: number, emitted: string) => ({ type: 'tool-call-delta', call, text: emitted })
const ended = (call: number) => ({ type: 'tool-call-end', call })
const end = (reason: string) => ({ type: 'turn-end', reason })
const delivered = (thought: string) => [
  { type: 'reasoning-start' },
  { type: 'summary-start' },
  { type: 'summary-delta', text: thought },
]
const seal = (block: object) => ({
  type: 'reasoning-seal',
  opaque: { wire: 'anthropic', origin: 'lane', data: JSON.stringify(block) },
})

describe('an answer', () => {
  it('is state by the names of its frames where these have no type', () => {
    const reader = readerOf()
    const read = (name: string, data: object) =>
      reader.read(Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`))
    read('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
    expect(read('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hi' } })).toEqual([text('Hi')])
  })

  it('with thinking and a call becomes a sealed summary and a call, with its usage', () => {
    const { events, reader } = readFrames(
      begin({ input_tokens: 25, cache_creation_input_tokens: 0, cache_read_input_tokens: 10, output_tokens: 1 }),
      ...[start(0, THINKING), { type: 'ping' }, thinks(0, 'Need weather.'), signs(0, 'EqQB'), stop(0)],
      ...[start(1, use('get_weather')), writes(1, ''), writes(1, '{"city":'), writes(1, '"Oslo"}'), stop(1)],
      finish('tool_use', { output_tokens: 42, output_tokens_details: { thinking_tokens: 12 } }),
      over,
    )
    expect(events).toEqual([
      ...delivered('Need weather.'),
      seal({ type: 'thinking', thinking: 'Need weather.', signature: 'EqQB' }),
      ...[called(0, 'get_weather'), args(0, '{"city":'), args(0, '"Oslo"}'), ended(0), end('tool-calls')],
    ])
    expect(reader.state).toMatchObject({
      finished: true,
      done: true,
      invalid: undefined,
      error: undefined,
      heldBytes: 0,
    })
    expect(reader.state.usage).toEqual({
      ...{ uncachedInput: 25, cachedInput: 10, cacheWrite: 0, output: 42, reasoning: 12 },
    })
    expect(reader.state.outputBytes).toBe('Need weather.get_weather{"city":"Oslo"}'.length)
  })

  it('in several blocks of text is one message, and behind a call another', () => {
    const { events } = readFrames(
      ...[start(0, TEXT), says(0, 'a'), stop(0), start(1, { type: 'text', text: 'b' }), says(1, 'c'), stop(1)],
      ...[start(2, use('look')), stop(2), start(3, TEXT), says(3, 'd'), stop(3), finish('end_turn')],
    )
    expect(events).toEqual([
      ...[text('a'), text('b'), text('c'), called(0), args(0, '{}'), ended(0), text('d'), end('tool-calls')],
    ])
  })

  it('has a reasoning for each thinking block, without text for redacted ones', () => {
    const redacted = { type: 'redacted_thinking', data: 'Rk9P' }
    const { events } = readFrames(
      ...[start(0, THINKING), signs(0, 'Eq'), signs(0, 'QB'), stop(0), start(1, redacted), stop(1)],
      ...[start(2, THINKING), thinks(2, 'so'), stop(2), start(3, TEXT), says(3, 'a')],
    )
    expect(events).toEqual([
      ...[{ type: 'reasoning-start' }, seal({ type: 'thinking', thinking: '', signature: 'EqQB' })],
      ...[{ type: 'reasoning-start' }, seal(redacted)],
      ...delivered('so'),
      text('a'),
    ])
  })

  it('has no more blocks than anybody sends', () => {
    const reader = readerOf()
    for (let index = 0; index <= 10_000; index++) reader.read(sse(start(index, TEXT)))
    expect(reader.state.invalid).toBe('too many blocks')
  })

  it('has the numbers of a whole input digit for digit', () => {
    const reader = readerOf()
    const block = '{"type":"tool_use","id":"t1","name":"look","input":{"price":1.10,"id":9007199254740993}}'
    reader.read(Buffer.from(`data: {"type":"content_block_start","index":0,"content_block":${block}}\n\n`))
    expect(reader.read(sse(stop(0)))).toEqual([args(0, '{"price":1.10,"id":9007199254740993}'), ended(0)])
  })

  it('gives arguments whole where they came with the start, and none where there are none', () => {
    expect(readFrames(start(0, use('look', 't1', { at: 'x' })), stop(0)).events).toEqual([
      ...[called(0), args(0, '{"at":"x"}'), ended(0)],
    ])
    expect(readFrames(start(0, use('look', 't1', { at: 'x' })), writes(0, '{"at":"y"}'), stop(0)).events).toEqual([
      ...[called(0), args(0, '{"at":"y"}'), ended(0)],
    ])
    // Truncated before they were complete, so they are unknown.
    expect(readFrames(start(0, use('look')), finish('max_tokens')).events).toEqual([called(0), ended(0), end('length')])
  })

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['pause_turn', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'content-filter'],
    ['a new word', 'stop'],
    ['constructor', 'stop'],
  ])('that stops for %s without calls ends with %s', (reason, expected) => {
    expect(readFrames(finish(reason)).events).toEqual([end(expected)])
  })
})

describe('what goes wrong', () => {
  it('an error inside the stream is one, and nothing is read behind it', () => {
    const { events, reader } = readFrames(
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      says(0, 'a'),
    )
    expect(events).toEqual([])
    expect(reader.state.error).toEqual({ message: 'Overloaded', code: 'overloaded_error' })
    expect(readFrames({ error: { message: 'x' } }).reader.state.error).toMatchObject({ message: 'x' })
    expect(readFrames({ type: 'error' }).reader.state.error).toMatchObject({ code: undefined })
  })

  it('a frame that is not JSON is invalid, and an unknown frame gives nothing', () => {
    for (const frame of ['data: <html>\n\n', 'data: [1]\n\n', 'data: null\n\n', 'data: {"type"\n\n']) {
      const reader = readerOf()
      expect(reader.read(Buffer.from(frame))).toEqual([])
      expect(reader.state.invalid).toBeDefined()
    }
    const { events, reader } = readFrames(
      ...[{ type: 'ping' }, { type: 'new_event', delta: { text: 'x' } }, {}, { type: 5 }, { type: '__proto__' }],
      ...[start(0, { type: 'server_tool_use', id: 's', name: 'search', input: {} }), writes(0, '{"q":1}'), stop(0)],
      ...[start(1, { type: 'compaction' }), delta(1, 'compaction_delta', { content: 'x' }), delta(1, 'new', {})],
      ...[start(2, TEXT), delta(2, 'citations_delta', { citation: {} }), says(2, 'a')],
      ...[
        { type: 'content_block_start', content_block: null },
        { type: 'content_block_delta', delta: [] },
      ],
      { type: 'message_start', message: 'x' },
      { type: 'message_delta', delta: null, usage: 7 },
    )
    expect(events).toEqual([text('a')])
    expect(reader.state).toMatchObject({ invalid: undefined, error: undefined, finished: false, usage: undefined })
    expect(readerOf().read(Buffer.from(': comment\n\n'))).toEqual([])
  })

  it('the end of another protocol is an end', () => {
    const reader = readerOf()
    reader.read(Buffer.from('data: [DONE]\n\n'))
    expect(reader.state).toMatchObject({ done: true, invalid: undefined, finished: false })
  })

  it('nothing is lost of blocks that are not announced, or not ended', () => {
    expect(
      readFrames(says(0, 'a'), thinks(4, 'hm'), signs(9, 'S'), says(0, 'b'), finish('end_turn'), over).events,
    ).toEqual([
      ...[
        text('a'),
        ...delivered('hm'),
        seal({ type: 'thinking', thinking: 'hm', signature: 'S' }),
        text('b'),
        end('stop'),
      ],
    ])
  })

  it('two calls at once keep their arguments apart', () => {
    expect(
      readFrames(
        ...[
          start(0, use('look', 't1')),
          start(1, use('see', 't2')),
          writes(1, '{'),
          writes(0, '{"a":'),
          writes(1, '}'),
        ],
        ...[writes(0, '1}'), stop(0), finish('tool_use')],
      ).events,
    ).toEqual([
      ...[called(0), called(1, 'see'), args(1, '{'), args(0, '{"a":'), args(1, '}'), args(0, '1}'), ended(0), ended(1)],
      end('tool-calls'),
    ])
  })

  it.each([
    ['a second beginning', [begin(), start(0, TEXT), says(0, 'a'), begin()], 'a second message_start'],
    ['a text that begins twice', [start(0, TEXT), says(0, 'a'), start(0, TEXT)], 'a block that begins twice'],
    ['a call that begins twice', [start(0, use('look')), start(0, use('look'))], 'a block that begins twice'],
    [
      'a block that begins again behind its end',
      [start(0, TEXT), stop(0), start(0, TEXT)],
      'a block that begins twice',
    ],
    [
      'content after the end of its block',
      [start(0, TEXT), stop(0), says(0, 'a')],
      'content after the end of its block',
    ],
    ['arguments without a call', [begin(), writes(0, '{')], 'arguments without a call'],
    ['arguments of another call', [start(0, use('look')), writes(1, '{')], 'arguments without a call'],
    [
      'arguments behind their call',
      [start(0, use('look')), stop(0), writes(0, '{')],
      'content after the end of its block',
    ],
    [
      'content after the end of a block of unknown type',
      [start(0, { type: 'later' }), stop(0), writes(0, '{')],
      'content after the end of its block',
    ],
    ['a call without a name', [start(0, { type: 'tool_use', id: 'a' })], 'a tool call without a name'],
    [
      'a stop for tool_use without calls',
      [start(0, TEXT), finish('tool_use')],
      'it ended with tool calls but contains none',
    ],
    ['an end without a reason', [start(0, TEXT), says(0, 'a'), stop(0), over], 'message_stop without a stop_reason'],
    ['words behind the end', [finish('end_turn'), says(0, 'a')], 'content after the end of the answer'],
  ])('%s is no answer', (_, frames, invalid) => {
    const { events, reader } = readFrames(...frames)
    expect(reader.state.invalid).toBe(invalid)
    expect(events.filter(({ type }) => type === 'turn-end')).toHaveLength(reader.state.finished ? 1 : 0)
    expect(reader.read(sse(says(0, 'more')))).toEqual([])
  })

  it('malformed text gives nothing', () => {
    const { events, reader } = readFrames(
      ...[start(0, { type: 'text', text: null }), delta(0, 'text_delta', { text: 5 }), says(0, '')],
      ...[start(1, { type: 'thinking' }), thinks(1, ''), signs(1, '')],
      ...[start(3, { type: 'redacted_thinking' }), finish('end_turn'), stop(0), over],
    )
    expect(events).toEqual([end('stop')])
    expect(reader.state).toMatchObject({ outputBytes: 0, invalid: undefined })
  })
})

describe('what is counted', () => {
  it('before the answer has its count there is none: the first one is of the prompt alone', () => {
    const { reader } = readFrames(
      begin({ input_tokens: 25, output_tokens: 1 }),
      start(0, TEXT),
      says(0, 'a long answer'),
    )
    expect(reader.state.usage).toBeUndefined()
    expect(reader.state.inputCounted).toEqual({ uncachedInput: 25, cachedInput: 0, cacheWrite: 0 })
  })

  it('an answer that is never counted has no usage, despite the counts at its start', () => {
    const { reader } = readFrames(begin({ input_tokens: 25, output_tokens: 7 }), finish('end_turn', {}), over)
    expect(reader.state).toMatchObject({ finished: true, usage: undefined, inputCounted: { uncachedInput: 25 } })
  })
})

it('with arguments that cannot be written as JSON is invalid', () => {
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`
  const { reader } = readFrames(begin())
  reader.read(
    Buffer.from(
      sse(start(0, use('f', 't', { a: 'HERE' })))
        .toString()
        .replace('"HERE"', deep),
    ),
  )
  expect(reader.state.invalid).toBeDefined()
})

it('signatures that do not end are no answer', () => {
  const { reader } = readFrames(begin(), start(0, THINKING))
  const frame = sse(signs(0, 'x'.repeat(1_000_000)))
  for (let i = 0; i < 8; i++) reader.read(frame)
  expect(reader.state.invalid).toBeUndefined()
  expect(reader.read(frame)).toEqual([])
  expect(reader.state.invalid).toBeDefined()
})
