import { describe, expect, it } from 'vitest'
import { chunk, frame, SETTLED } from '../../../test/fixtures/protocols/chat/translate.ts'
import { FrameSplitter } from '../sse/frames.ts'
import { chatDialect } from './dialects.ts'
import { ChatTap } from './tap.ts'

const mint = { completionId: () => 'minted', callId: () => 'call_minted' }
const tapOf = (publicModel = 'public', dialect = 'generic', choices = 1) =>
  new ChatTap({
    publicModel,
    dialect: chatDialect(dialect),
    mint,
    request: { model: 'm', choices, functionForm: false, wantsUsage: false },
    now: () => 7000,
  })

/** What a client gets, with the finish chunk of an answer that has one. */
function whole(tap: ReturnType<typeof tapOf>, chunks: readonly object[]) {
  const passed = chunks.map((each) => String(tap.read(frame(each)).bytes ?? ''))
  const end = tap.state.finished ? String(tap.read(Buffer.from('data: [DONE]\n\n')).bytes ?? '') : ''
  return [...(passed.join('') + end).matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data!))
}
const deltas = (chunks: { choices: { delta: object }[] }[]) =>
  chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))

describe('the chat tap', () => {
  it('passes a frame on with only the model renamed, however the text looks', () => {
    const text = '"model":"lane" \\ \n 漢字'
    const bytes = frame(chunk({ role: 'assistant', content: text }))
    const tapped = tapOf().read(bytes)
    expect(String(tapped.bytes)).toBe(String(bytes).replace('"model":"lane","choices"', '"model":"public","choices"'))
    expect(tapped.isContent).toBe(true)
  })

  it('gives the same buffer back when nothing is to change', () => {
    const bytes = frame(chunk({ role: 'assistant', content: 'x' }))
    expect(tapOf('lane').read(bytes).bytes).toBe(bytes)
  })

  it('passes a correct stream byte for byte, its content at once and its finish chunk when the answer is over', () => {
    const usage = frame({ ...chunk({}), choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })
    const [content, finish] = [chunk({ role: 'assistant', content: 'x' }), chunk({}, 'stop')].map(frame)
    const withUsage = tapOf('lane')
    expect([content!, finish!, usage].map((bytes) => withUsage.read(bytes).bytes)).toEqual([content, undefined, finish])
    const withMark = tapOf('lane')
    const mark = Buffer.from('data: [DONE]\n\n')
    expect([content!, finish!, mark].map((bytes) => withMark.read(bytes).bytes)).toEqual([content, undefined, finish])
    const cut = tapOf('lane')
    for (const bytes of [content!, finish!]) cut.read(bytes)
    expect(cut.close(SETTLED)).toEqual(Buffer.concat([finish!, mark]))
  })

  it('passes what stood beside a finish reason that was none, and ends each of several choices', () => {
    const tap = tapOf('lane', 'generic', 2)
    const choice = (index: number, delta: object, finish: string | null = null) => ({
      ...chunk({}),
      choices: [{ index, delta, finish_reason: finish, seen: index }],
    })
    const seen = whole(tap, [
      choice(0, { role: 'assistant' }, 'stop'),
      choice(1, { role: 'assistant', content: 'b' }, 'stop'),
      choice(0, { content: 'a' }),
    ])
    expect(seen.map(({ choices }) => choices)).toEqual([
      [{ index: 1, delta: { role: 'assistant', content: 'b' }, finish_reason: null, seen: 1 }],
      [{ index: 0, delta: { role: 'assistant' }, finish_reason: null, seen: 0 }],
      [{ index: 0, delta: { content: 'a' }, finish_reason: null, seen: 0 }],
      [0, 1].map((index) => ({ index, delta: {}, logprobs: null, finish_reason: 'stop' })),
    ])
  })

  it('renames where a server writes the member with spaces', () => {
    const bytes = Buffer.from(
      'data: {"id":"c1", "object": "chat.completion.chunk", "created": 1, "model": "lane", "choices":[{"index":0,"delta":{"role":"assistant","content":"x"},"finish_reason":null}]}\n\n',
    )
    expect(String(tapOf().read(bytes).bytes)).toBe(String(bytes).replace('"lane"', '"public"'))
  })

  it.each([
    '"model":"secret","model":"secret"',
    '"model":"secret-1","model":"b"',
    '"model" : "secret","x":{"model":"secret"}',
    '"mod\\u0065l":"secret","x":{"model":"secret"}',
  ])('leaves no name of the provider in %s', (members) => {
    const choices = '"choices":[{"index":0,"delta":{"role":"assistant","content":"x"},"finish_reason":null}]'
    const bytes = Buffer.from(
      `data: {"id":"c1","object":"chat.completion.chunk","created":1,${members},${choices}}\n\n`,
    )
    const { model } = JSON.parse(String(tapOf().read(bytes).bytes).slice(6))
    expect(model).toBe('public')
  })

  it('renames a dated version of the model, and does not parse the frames that follow it', () => {
    const bytes = frame({ ...chunk({ content: 'x' }), model: 'lane-2026-08-06' })
    const tap = tapOf()
    tap.read(frame(chunk({ role: 'assistant', content: '' })))
    // The second frame with text is the first one that tells what the frames of the stream have in common.
    tap.read(bytes)
    tap.read(bytes)
    const splitter = new FrameSplitter({ frameBytesMax: 1000 })
    splitter.push(Buffer.concat([bytes, bytes]))
    const renamed = String(bytes).replace('lane-2026-08-06', 'public')
    expect(String(tap.readRepeated(splitter)?.bytes)).toBe(renamed + renamed)
  })

  it('knows content from a head: role, empty text and finish are none', () => {
    const tap = tapOf()
    expect(tap.read(frame(chunk({ role: 'assistant', content: '' }))).isContent).toBe(false)
    expect(tap.read(frame(chunk({ reasoning_content: 'hm' }))).isContent).toBe(true)
    expect(
      tap.read(frame(chunk({ tool_calls: [{ index: 0, function: { name: 'f', arguments: '{}' } }] }))).isContent,
    ).toBe(true)
    expect(tap.read(frame(chunk({}, 'stop'))).isContent).toBe(false)
    expect(tap.state.finished).toBe(true)
    expect(tap.state.outputBytes).toBe(5)
  })

  it('says that a call has no arguments, but for the last one of an answer that was cut', () => {
    const tap = tapOf()
    const calls = ['a', 'b'].map((id, index) => ({
      index,
      id,
      type: 'function',
      function: { name: 'f', arguments: '' },
    }))
    for (const call of calls) tap.read(frame(chunk({ role: 'assistant', tool_calls: [call] })))
    const [end] = whole(tap, [chunk({}, 'length')])
    expect(end.choices).toMatchObject([
      { delta: { tool_calls: [{ index: 0, function: { arguments: '{}' } }] }, finish_reason: 'length' },
    ])
    expect(tap.state).toMatchObject({ finished: true, invalid: undefined })
  })

  it('passes the calls of custom tools, whose later fragments name no type', () => {
    const tap = tapOf('lane')
    const fragments = [
      { index: 0, id: 'a', type: 'custom', custom: { name: 'patch', input: '' } },
      { index: 0, custom: { input: '***' } },
    ]
    for (const fragment of fragments) {
      const bytes = frame(chunk({ role: 'assistant', tool_calls: [fragment] }))
      expect(String(tap.read(bytes).bytes)).toBe(String(bytes))
    }
    expect(tap.state.outputBytes).toBe(8)
    const other = frame(
      chunk({ tool_calls: [{ index: 7, id: 'b', type: 'custom', custom: { name: 'p', input: '' } }] }),
    )
    expect(JSON.parse(String(tap.read(other).bytes).slice(6)).choices[0].delta.tool_calls[0].index).toBe(1)
  })

  it('keeps the usage chunk and [DONE] back', () => {
    const tap = tapOf()
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 4,
      prompt_tokens_details: { cached_tokens: 6 },
      completion_tokens_details: { reasoning_tokens: 1 },
    }
    expect(tap.read(frame({ ...chunk({}), choices: [], usage })).bytes).toBeUndefined()
    expect(tap.read(Buffer.from('data: [DONE]\n\n')).bytes).toBeUndefined()
    expect(tap.state).toMatchObject({
      done: true,
      usage: { uncachedInput: 4, cachedInput: 6, output: 4, reasoning: 1 },
    })
  })

  it('takes usage from a content chunk without showing it there', () => {
    const tap = tapOf()
    const tapped = tap.read(
      frame(chunk({ content: 'x' }, 'stop', { usage: { prompt_tokens: 1, completion_tokens: 0 } })),
    )
    expect(JSON.parse(String(tapped.bytes).slice(6))).toMatchObject({ model: 'public', usage: null })
    expect(tap.state.usage).toMatchObject({ uncachedInput: 1, output: 0 })
  })

  it('believes a usage of zero, and none that is not numbers', () => {
    const tap = tapOf()
    tap.read(frame({ ...chunk({}), choices: [], usage: { prompt_tokens: 'many', completion_tokens: null } }))
    expect(tap.state.usage).toBeUndefined()
    tap.read(frame({ ...chunk({}), choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } }))
    expect(tap.state.usage).toMatchObject({ uncachedInput: 0, output: 0 })
  })

  it.each([
    [
      { error: { message: 'boom', type: 'server_error', code: 500 } },
      { message: 'boom', code: 'server_error', number: 500 },
    ],
    [{ error: 'boom' }, { message: 'boom', code: undefined }],
    [
      {
        choices: [{ index: 0, delta: {}, finish_reason: 'error', error: { code: 429, message: 'slow', metadata: {} } }],
      },
      { message: 'slow', code: '429' },
    ],
    [
      { error: {}, choices: [] },
      { message: 'The provider reported an error.', code: undefined },
    ],
  ])('hears the error in %j and passes nothing on', (json, emitted) => {
    const tap = tapOf()
    expect(tap.read(frame(json)).bytes).toBeUndefined()
    expect(tap.state.error).toEqual(emitted)
  })

  it('drops comments and empty frames, and notes garbage', () => {
    const tap = tapOf()
    expect(tap.read(Buffer.from(': ping\n\n')).bytes).toBeUndefined()
    expect(tap.state.invalid).toBeUndefined()
    tap.read(Buffer.from('data: {"choices":\n\n'))
    expect(tap.state.invalid).toBeDefined()
  })

  it('survives deltas of any shape', () => {
    const tap = tapOf()
    for (const odd of [
      null,
      1,
      'x',
      [],
      { delta: null },
      { delta: { content: 5, tool_calls: 'x' } },
      { delta: { tool_calls: [null, {}] } },
    ]) {
      expect(() => tap.read(frame({ choices: [odd] }))).not.toThrow()
    }
    expect(() => tap.read(frame({ choices: 'x' }))).not.toThrow()
    expect(() => tap.read(frame([]))).not.toThrow()
  })

  it('counts custom tools, legacy calls and reasoning details as content', () => {
    for (const delta of [
      { tool_calls: [{ index: 0, id: 'c', type: 'custom', custom: { name: 'n', input: 'abc' } }] },
      { function_call: { name: 'f', arguments: '{}' } },
      { reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] },
      { reasoning: 'hm' },
      { refusal: 'no' },
    ]) {
      expect(tapOf().read(frame(chunk(delta))).isContent, JSON.stringify(delta)).toBe(true)
    }
  })

  it('is finished when every choice has a finish reason, not when the first has', () => {
    const tap = tapOf('public', 'generic', 2)
    tap.read(frame(chunk({}, 'stop')))
    expect(tap.state.finished).toBe(false)
    tap.read(frame({ ...chunk({}), choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] }))
    expect(tap.state.finished).toBe(true)
  })

  it('gives clients one id, a role first and calls they can put together', () => {
    const seen = whole(tapOf(), [
      { ...chunk({ tool_calls: [{ id: 'a', function: { name: 'f', arguments: { x: 1 } } }] }), id: '' },
      { ...chunk({ tool_calls: [{ id: 'b', function: { name: 'g', arguments: '' } }] }), id: 'other' },
      chunk({ tool_calls: [{ id: 'b', function: { name: '', arguments: '{}' } }] }, 'stop'),
    ])
    expect(seen.map(({ id }) => id)).toEqual(['minted', 'minted', 'minted', 'minted'])
    expect(deltas(seen)).toEqual([
      {
        role: 'assistant',
        tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }],
      },
      { tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '' } }] },
      { tool_calls: [{ index: 1, function: { arguments: '{}' } }] },
      {},
    ])
    expect(seen.at(-1).choices[0].finish_reason).toBe('tool_calls')
  })

  it('holds arguments back until the call has a name, and mints an id where there is none', () => {
    const seen = whole(tapOf(), [
      chunk({ tool_calls: [{ index: 1, function: { arguments: '{"a"' } }] }),
      chunk({ tool_calls: [{ index: 1, function: { name: 'f', arguments: ':1' } }] }),
      chunk({ tool_calls: [{ index: 1, id: '', function: { arguments: '}' } }] }),
    ])
    expect(deltas(seen)).toEqual([
      { role: 'assistant' },
      { tool_calls: [{ index: 0, id: 'call_minted', type: 'function', function: { name: 'f', arguments: '{"a":1' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '}' } }] },
    ])
  })

  it('takes an index that comes again with another id for another call', () => {
    const call = (id: string) =>
      chunk({ tool_calls: [{ index: 0, id, type: 'function', function: { name: 'f', arguments: '{}' } }] })
    const seen = whole(tapOf(), [call('a'), call('b')])
    expect(
      seen.flatMap(({ choices }) => choices[0].delta.tool_calls.map(({ index }: { index: number }) => index)),
    ).toEqual([0, 1])
  })

  it('gives calls that share an id one each, and keeps to it', () => {
    const call = (index: number, name: string, written: string) =>
      chunk({ tool_calls: [{ index, id: 'same', type: 'function', function: { name, arguments: written } }] })
    const seen = whole(tapOf(), [call(0, 'f', '{}'), call(1, 'g', ''), call(1, '', '{}')])
    expect(deltas(seen).map((delta) => (delta as { tool_calls: object[] }).tool_calls[0])).toEqual([
      { index: 0, id: 'same', type: 'function', function: { name: 'f', arguments: '{}' } },
      { index: 1, id: 'call_minted', type: 'function', function: { name: 'g', arguments: '' } },
      { index: 1, function: { arguments: '{}' } },
    ])
  })

  it('drops the answer so far that stands beside a delta, and takes a message that stands for one', () => {
    const choice = (over: object) => ({ ...chunk({}), choices: [{ index: 0, finish_reason: null, ...over }] })
    const message = { role: 'assistant', content: 'Hi' }
    const beside = tapOf()
    const seen = whole(beside, [
      choice({ delta: { role: 'assistant', content: 'H' }, message: { role: 'assistant', content: 'H' } }),
      choice({ delta: { content: 'i' }, message }),
    ])
    expect(seen.flatMap(({ choices }) => choices)).toEqual([
      { index: 0, finish_reason: null, delta: { role: 'assistant', content: 'H' } },
      { index: 0, finish_reason: null, delta: { content: 'i' } },
    ])
    const instead = tapOf()
    expect(deltas(whole(instead, [choice({ message })]))).toEqual([message])
    expect([beside.state.outputBytes, instead.state.outputBytes]).toEqual([2, 2])
  })

  it('turns parts into strings: thinking apart from text', () => {
    const seen = whole(tapOf(), [
      chunk({ role: 'assistant', content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }),
      chunk({ content: [{ type: 'text', text: 'yes' }] }),
    ])
    expect(deltas(seen)).toEqual([{ role: 'assistant', content: '', reasoning_content: 'hm' }, { content: 'yes' }])
  })

  it.each([
    [
      'xai',
      { prompt_tokens: 12, completion_tokens: 1, completion_tokens_details: { reasoning_tokens: 290 } },
      { output: 291, reasoning: 290 },
    ],
    ['moonshot', { prompt_tokens: 12, completion_tokens: 1, cached_tokens: 5 }, { cachedInput: 5, uncachedInput: 7 }],
    ['deepseek', { prompt_tokens: 12, completion_tokens: 1, prompt_cache_hit_tokens: 4 }, { cachedInput: 4 }],
    ['generic', { prompt_tokens: 12, completion_tokens: -5 }, undefined],
  ])('reads the usage of %s', (dialect, usage, expected) => {
    const tap = tapOf('public', dialect)
    tap.read(frame({ ...chunk({}), choices: [], usage }))
    if (expected) expect(tap.state.usage).toMatchObject(expected)
    else expect(tap.state.usage).toBeUndefined()
  })

  it('reads usage in the choice that ends, and keeps it from the client until it is charged', () => {
    const ending = { index: 0, delta: {}, finish_reason: 'stop' }
    const usage = { prompt_tokens: 2, completion_tokens: 3, cached_tokens: 1 }
    const tap = tapOf('public', 'moonshot')
    const [last] = whole(tap, [{ ...chunk({}), choices: [{ ...ending, delta: { role: 'assistant' }, usage }] }])
    expect(tap.state.usage).toMatchObject({ uncachedInput: 1, cachedInput: 1, output: 3 })
    expect(last).toMatchObject({ choices: [{ index: 0, finish_reason: 'stop' }], usage: null })
    expect(JSON.stringify(last)).not.toContain('prompt_tokens')
    // Of two choices each knows its own, and neither is the bill.
    const two = tapOf('public', 'moonshot', 2)
    two.read(frame({ ...chunk({}), choices: [{ ...ending, usage }] }))
    expect(two.state.usage).toBeUndefined()
  })

  it('reads usage and errors in x_groq, and a finish reason that is a failure', () => {
    const tap = tapOf('public', 'groq')
    const [last] = whole(tap, [
      { ...chunk({ role: 'assistant' }, 'stop'), x_groq: { usage: { prompt_tokens: 2, completion_tokens: 3 } } },
    ])
    expect(tap.state.usage).toMatchObject({ uncachedInput: 2, output: 3 })
    expect(last.x_groq).toBeUndefined()
    const failing = tapOf()
    failing.read(frame(chunk({}, 'insufficient_system_resource')))
    expect(failing.state.error).toBeDefined()
  })
})

it('an answer has no more calls than a client can take', () => {
  const tap = tapOf('lane')
  const calls = (from: number) =>
    Array.from({ length: 1024 }, (_, at) => ({
      ...{ index: from + at, id: `c${from + at}`, type: 'function' },
      function: { name: 'f', arguments: '{}' },
    }))
  for (let from = 0; from < 4096; from += 1024) tap.read(frame(chunk({ tool_calls: calls(from) })))
  expect(tap.state.invalid).toBeUndefined()
  tap.read(frame(chunk({ tool_calls: calls(4096) })))
  expect(tap.state.invalid).toBe('too many calls')
})
