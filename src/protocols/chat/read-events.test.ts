import { describe, expect, it } from 'vitest'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'
import { chunk, frame } from '../../../test/fixtures/protocols/chat/translate.ts'
import { countedIds } from '../../../test/fixtures/protocols/mint-ids.ts'
import type { TurnEvent } from '../../model/event.ts'
import { chatDialect } from './dialects.ts'
import { createEventReader } from './read-events.ts'
import { readSignedParts } from './signed-parts.ts'

function readerOf(dialect = 'generic') {
  let calls = 0
  const mint = { ...countedIds(), callId: () => `minted_${calls++}` }
  return createEventReader({ dialect: chatDialect(dialect), origin: 'lane', mint })
}

const DONE = Buffer.from('data: [DONE]\n\n')

/** With the events of the end where there is a finish reason. */
function read(...chunks: object[]): TurnEvent[] {
  const reader = readerOf()
  const events = chunks.flatMap((each) => reader.read(frame(each)))
  return reader.state.finished ? [...events, ...reader.read(DONE)] : events
}

const text = (emitted: string): TurnEvent => ({ type: 'text-delta', text: emitted })
const thought = (emitted: string): TurnEvent => ({ type: 'reasoning-delta', text: emitted })
const start = (call: number, name = 'look', tool = 'function') => ({
  type: 'tool-call-start',
  call,
  callId: `minted_${call}`,
  name,
  namespace: undefined,
  tool,
})
const args = (call: number, emitted: string): TurnEvent => ({ type: 'tool-call-delta', call, text: emitted })
const ended = (call: number): TurnEvent => ({ type: 'tool-call-end', call })
const over = (reason: string) => ({ type: 'turn-end', reason })
const fragments = (...calls: object[]) => chunk({ tool_calls: calls })
const fragment = (index: number, emitted: object, over: object = {}) => ({ index, function: emitted, ...over })

describe('text', () => {
  it('text, refusal and reasoning become events, and empty strings none', () => {
    expect(
      read(
        chunk({ role: 'assistant', content: '', refusal: null }),
        chunk({ content: '', reasoning_content: 'hm' }),
        chunk({ content: 'a', reasoning_content: '' }),
        chunk({ content: null, refusal: 'no' }),
        chunk({ content: '' }, 'stop'),
      ),
    ).toEqual([thought('hm'), text('a'), { type: 'refusal-delta', text: 'no' }, over('stop')])
  })

  it('reasoning is found under each of its names, once', () => {
    const details = [{ type: 'reasoning.text', text: 'd' }, { type: 'reasoning.encrypted', data: 'x' }, 5]
    expect(
      read(
        chunk({ reasoning_content: 'a', reasoning: 'a' }),
        chunk({ reasoning_content: null, reasoning: 'b' }),
        chunk({ reasoning_details: details }),
        chunk({ reasoning: 'c', reasoning_details: [{ text: 'c' }] }),
      ),
    ).toEqual([thought('a'), thought('b'), thought('d'), thought('c')])
  })

  it('reasoning that its server wants back is sealed where it ends, for clients that keep only sealed data', () => {
    const reader = readerOf('deepseek')
    const seal = (data: string) => ({ type: 'reasoning-seal', opaque: { wire: 'chat', origin: 'lane', data } })
    const chunks = [
      chunk({ reasoning_content: 'h' }),
      chunk({ reasoning_content: 'm' }),
      chunk({ content: 'a' }),
      chunk({ reasoning_content: 'so' }),
      fragments(fragment(0, { name: 'look', arguments: '' })),
      chunk({ reasoning_content: 'then' }, 'stop'),
    ]
    expect([...chunks.map(frame), DONE].flatMap((each) => reader.read(each))).toEqual([
      ...[thought('h'), thought('m'), seal('hm'), text('a'), thought('so'), seal('so'), start(0)],
      ...[thought('then'), seal('then'), ended(0), over('tool-calls')],
    ])
    expect(reader.state).toMatchObject({ outputBytes: 13, heldBytes: 0 })
  })

  it('a list of parts is its thinking and its text', () => {
    const parts = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text: 'a' },
    ]
    expect(read(chunk({ content: parts }))).toEqual([thought('hm'), text('a')])
  })

  it('only the first choice counts', () => {
    const [one, two] = [0, 1].map((index) => ({ index, delta: { content: `${index}` }, finish_reason: null }))
    const nameless = { delta: { content: 'x' } }
    expect(
      read({ choices: [two, one] }, { choices: [two] }, { choices: [nameless] }, { choices: [two, nameless] }),
    ).toEqual([text('0'), text('x')])
  })

  it('probabilities come with their text, also those of a token that had none of its own', () => {
    const token = (name: string) => ({
      token: name,
      logprob: -1,
      bytes: [1],
      top_logprobs: [{ token: 'z', logprob: -2 }],
    })
    const emitted = (content: string, name: string) => ({
      choices: [{ index: 0, delta: { content }, logprobs: { content: [token(name), 'x'] }, finish_reason: null }],
    })
    const known = (name: string) => ({
      ...{ token: name, logprob: -1, bytes: [1] },
      top: [{ token: 'z', logprob: -2, bytes: undefined }],
    })
    expect(read(emitted('', '1'), emitted('é', '2'), emitted('x', '3'))).toEqual([
      { ...text('é'), logprobs: [known('1'), known('2')] },
      { ...text('x'), logprobs: [known('3')] },
    ])
  })
})

describe('calls', () => {
  it('get our ids and numbers, and end before the answer does', () => {
    expect(
      read(
        fragments(fragment(0, { name: 'look', arguments: '' }, { id: 'theirs', type: 'function' })),
        fragments(fragment(0, { arguments: '{"a"' })),
        fragments(fragment(1, { name: 'see', arguments: '{}' }, { id: 'other' }), fragment(0, { arguments: ':1}' })),
        chunk({}, 'tool_calls'),
      ),
    ).toEqual([
      ...[start(0), args(0, '{"a"'), start(1, 'see'), args(1, '{}'), args(0, ':1}')],
      ...[ended(0), ended(1), over('tool-calls')],
    ])
  })

  it('whose name comes late wait for it, in the order of their beginnings, and are counted meanwhile', () => {
    const reader = readerOf()
    expect(reader.read(frame(fragments(fragment(0, { arguments: '{"a":1' }))))).toEqual([])
    expect(reader.state).toMatchObject({ outputBytes: 6, heldBytes: 6 })
    expect(reader.read(frame(fragments(fragment(1, { name: 'see', arguments: '' }))))).toEqual([start(0, 'see')])
    expect(reader.state).toMatchObject({ outputBytes: 9, heldBytes: 6 })
    expect(reader.read(frame(fragments(fragment(0, { name: 'look', arguments: '}' }))))).toEqual([
      start(1, 'look'),
      args(1, '{"a":1}'),
    ])
    expect(reader.state).toMatchObject({ outputBytes: 14, heldBytes: 0 })
    expect(reader.read(frame(fragments(fragment(1, { arguments: 'x' }))))).toEqual([args(0, 'x')])
  })

  it('that stopped are calls, whatever the finish reason: stop, eos, function_call', () => {
    const called = fragments(fragment(0, { name: 'look', arguments: '{}' }))
    for (const word of ['stop', 'eos', 'function_call', 'tool_calls', 'whatever']) {
      expect(read(called, chunk({}, word)).at(-1)).toEqual(over('tool-calls'))
    }
    expect(read(called, chunk({}, 'length')).at(-1)).toEqual(over('length'))
  })

  it('that were cut in their arguments end with length, whatever their server reports', () => {
    const cut = fragments(fragment(0, { name: 'look', arguments: '{"a' }))
    for (const word of ['tool_calls', 'stop', 'eos', 'length']) {
      expect(read(cut, chunk({}, word)).at(-1)).toEqual(over('length'))
    }
    const whole = fragments(fragment(0, { arguments: '":1}' }))
    expect(read(cut, whole, chunk({}, 'tool_calls')).at(-1)).toEqual(over('tool-calls'))
    const other = fragments(fragment(1, { name: 'look', arguments: '' }, { id: 'b' }))
    expect(read(other, chunk({}, 'tool_calls')).at(-1)).toEqual(over('tool-calls'))
  })

  it('of which another than the last breaks off were not cut, and are judged where it is known what they take', () => {
    const cut = fragments(fragment(0, { name: 'look', arguments: '{"a' }, { id: 'a' }))
    const whole = fragments(fragment(1, { name: 'look', arguments: '{}' }, { id: 'b' }))
    for (const word of ['tool_calls', 'stop'])
      expect(read(cut, whole, chunk({}, word)).at(-1)).toEqual(over('tool-calls'))
  })

  it('of which one has no name are invalid, whatever the finish reason', () => {
    const whole = fragments(fragment(1, { name: 'look', arguments: '{}' }, { id: 'b' }))
    const nameless = fragments(fragment(2, { arguments: '{"a' }, { id: 'c' }))
    const empty = fragments(fragment(2, {}, { id: 'c' }))
    for (const word of ['tool_calls', 'stop', 'length'])
      for (const last of [nameless, empty])
        expect(read(whole, last, chunk({}, word)).map(({ type }) => type)).not.toContain('turn-end')
  })

  it('without index, with an object for arguments, or one index for two, are still whole', () => {
    expect(read(fragments({ id: 'a', function: { name: 'look', arguments: { x: 1 } } }))).toEqual([
      start(0),
      args(0, '{"x":1}'),
    ])
    const [one, two] = ['a', 'b'].map((id) => fragment(0, { name: 'look', arguments: '{}' }, { id }))
    expect(read(fragments(one!), fragments(two!))).toEqual([start(0), args(0, '{}'), start(1), args(1, '{}')])
  })

  it('of custom tools stream their input', () => {
    expect(
      read(
        fragments({ index: 0, id: 'x', type: 'custom', custom: { name: 'patch', input: '' } }),
        fragments({ index: 0, custom: { input: '***' } }),
        fragments({ index: 0, type: 'custom', custom: { input: ' End' } }),
        chunk({}, 'tool_calls'),
      ),
    ).toEqual([start(0, 'patch', 'custom'), args(0, '***'), args(0, ' End'), ended(0), over('tool-calls')])
  })

  it('of custom tools begin with their name', () => {
    const custom = (emitted: object) => fragments({ index: 0, type: 'custom', custom: emitted })
    expect(read(custom({ input: '' }), custom({ name: 'patch', input: 'x' }))).toEqual([
      start(0, 'patch', 'custom'),
      args(0, 'x'),
    ])
  })

  it('in the older form are calls', () => {
    expect(
      read(
        chunk({ function_call: { name: 'look', arguments: '' } }),
        chunk({ function_call: { arguments: '{}' } }),
        chunk({}, 'function_call'),
      ),
    ).toEqual([start(0), args(0, '{}'), ended(0), over('tool-calls')])
  })

  it('that never got a name are no calls, and an answer without calls has not ended to call', () => {
    const invalid = (...chunks: Parameters<typeof read>) => {
      const reader = readerOf()
      for (const each of chunks) expect(reader.read(frame(each))).toEqual([])
      return [reader.state.invalid, reader.state.finished]
    }
    const nameless = fragments(fragment(0, { arguments: '{}' }))
    for (const word of ['tool_calls', 'stop'])
      expect(invalid(nameless, chunk({}, word))).toEqual(['a tool call without a name', false])
    expect(invalid(chunk({}, 'tool_calls'))).toEqual(['it ended with tool calls but contains none', false])
    expect(invalid(fragments(fragment(0, { arguments: '' })), chunk({}, 'function_call'))[1]).toBe(false)
  })
})

describe('the end', () => {
  it('is reported in our own words, once, behind everything else', () => {
    const words = {
      stop: 'stop',
      length: 'length',
      model_length: 'length',
      content_filter: 'content-filter',
      x: 'stop',
    }
    for (const [word, reason] of Object.entries(words)) expect(read(chunk({}, word))).toEqual([over(reason)])
    const each = ['a', 'b'].map((emitted) => chunk({ content: emitted }, 'stop'))
    expect(read(...each)).toEqual([text('a'), text('b'), over('stop')])
    expect(read(...each, chunk({}, 'length'))).toEqual([text('a'), text('b'), over('length')])
    expect(read(chunk({}, ''), chunk({}))).toEqual([])
  })

  it('comes with a usage behind the finish reason, and nothing comes behind it', () => {
    const reader = readerOf()
    const usage = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }
    const ending = chunk({ content: 'a' }, 'stop', { usage: usage.usage })
    expect(reader.read(frame(ending))).toEqual([text('a')])
    expect([reader.state.finished, reader.ending]).toEqual([true, 'stop'])
    expect(reader.read(frame(usage))).toEqual([over('stop')])
    expect(reader.ending).toBeUndefined()
    expect(reader.read(DONE)).toEqual([])
    const other = readerOf()
    const more = [ending, usage, chunk({ content: 'b' })].flatMap((each) => other.read(frame(each)))
    expect(more).toEqual([text('a'), over('stop')])
    expect(other.state.invalid).toBe('content after the end of the answer')
  })

  it('comes without a finish reason behind whole calls and the end mark, with a final usage', () => {
    const reader = readerOf()
    reader.read(frame(fragments(fragment(0, { name: 'look', arguments: '{}' }, { id: 'a' }))))
    reader.read(frame({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } }))
    expect(reader.state).toMatchObject({ finished: false, usageIsFinal: false })
    expect(reader.read(DONE)).toEqual([ended(0), over('tool-calls')])
    expect(reader.state).toMatchObject({ finished: true, usageIsFinal: true })
  })

  it('does not come while a call behind the finish reason has no name', () => {
    const reader = readerOf()
    const whole = fragments(fragment(0, { name: 'look', arguments: '{}' }, { id: 'a' }))
    const finished = [
      ...[whole, chunk({}, 'stop'), fragments(fragment(1, { arguments: '{"a"' }, { id: 'b' }))],
      fragments(fragment(1, { name: 'see', arguments: ':1}' })),
    ].map((each) => {
      reader.read(frame(each))
      return reader.state.finished
    })
    expect(finished).toEqual([false, true, false, true])
    expect(reader.read(DONE)).toEqual([ended(0), ended(1), over('tool-calls')])
  })

  it('makes a usage final that counts the whole answer, and not one that more content follows', () => {
    const reader = readerOf()
    const counted = (emitted: string, output: number) =>
      chunk({ content: emitted }, 'stop', { usage: { prompt_tokens: 1, completion_tokens: output } })
    for (const [each, isFinal] of [
      [counted('a', 1), true],
      [chunk({ content: 'b' }), false],
      [counted('c', 3), true],
    ] as const) {
      reader.read(frame(each))
      expect(reader.state.usageIsFinal).toBe(isFinal)
    }
  })

  it('usage is taken from wherever it stands, also behind the end', () => {
    const reader = readerOf()
    reader.read(frame(chunk({ content: 'a' }, 'stop', { usage: { prompt_tokens: 1, completion_tokens: 1 } })))
    expect(reader.state).toMatchObject({ finished: true, done: false, usage: { uncachedInput: 1, output: 1 } })
    reader.read(frame({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } }))
    expect(reader.state.usage).toMatchObject({ uncachedInput: 3, output: 2 })
    reader.read(frame({ x_groq: { usage: { prompt_tokens: 4, completion_tokens: 2 } } }))
    expect(reader.state.usage).toMatchObject({ uncachedInput: 4 })
    reader.read(frame({ choices: [{ index: 0, delta: {}, usage: { prompt_tokens: 5, completion_tokens: 2 } }] }))
    expect(reader.state.usage).toMatchObject({ uncachedInput: 5 })
    reader.read(Buffer.from('data: [DONE]\n\n'))
    expect(reader.state).toMatchObject({ done: true, error: undefined, invalid: undefined, outputBytes: 1 })
  })

  it('a message in place of a delta is read, and a message beside one is not', () => {
    const emitted = { role: 'assistant', content: 'Hi' }
    const choice = (over: object) => ({ choices: [{ index: 0, finish_reason: null, ...over }] })
    expect(read(choice({ message: emitted }))).toEqual([text('Hi')])
    expect(read(choice({ delta: { content: 'i' }, message: emitted }))).toEqual([text('i')])
  })

  it('an error ends everything, wherever a server puts it', () => {
    const errors = [{ error: { message: 'broke' } }, { x_groq: { error: { message: 'broke' } } }]
    for (const each of [...errors, { error: 'broke', choices: [{ delta: { content: 'x' } }] }]) {
      const reader = readerOf()
      expect(reader.read(frame(each))).toEqual([])
      expect(reader.state).toMatchObject({ error: { message: 'broke' }, outputBytes: 0 })
      expect(reader.read(frame(chunk({ content: 'x' })))).toEqual([])
    }
    const failed = readerOf()
    expect(failed.read(frame(chunk({ content: 'x' }, 'error')))).toEqual([])
    expect(failed.state).toMatchObject({ finished: false, outputBytes: 0, error: { message: 'it ended with "error"' } })
  })

  it('comments and pings are nothing, and what is not JSON is invalid', () => {
    const reader = readerOf()
    for (const nothing of [': ping\n\n', 'event: ping\n\n', 'data:\n\n', 'data: {"choices":null}\n\n']) {
      expect(reader.read(Buffer.from(nothing))).toEqual([])
    }
    expect(reader.state.invalid).toBeUndefined()
    reader.read(Buffer.from('data: <html>\n\n'))
    expect(reader.state.invalid).toBeDefined()
  })
})

it('random chunks never throw, and what they give keeps the rules of events', () => {
  const seed = 23
  const random = randomFrom(seed)
  const pick = <Value>(values: readonly Value[]): Value => values[random(values.length)]!
  const oddity = () => pick<unknown>([undefined, null, '', 'x', 0, 1, -1, 1.5, true, [], {}, ['x'], [null], { a: 1 }])
  const maybe = (value: unknown) => (random(4) === 0 ? oddity() : value)
  const aFragment = () =>
    maybe({
      index: maybe(random(3)),
      id: maybe(pick(['a', 'b'])),
      type: maybe(pick(['function', 'custom'])),
      [pick(['function', 'custom'])]: maybe({ name: maybe('look'), arguments: maybe('{}'), input: maybe('x') }),
    })
  const aDelta = () => ({
    content: maybe('é'),
    reasoning: maybe('hm'),
    refusal: maybe(undefined),
    reasoning_details: maybe(undefined),
    tool_calls: maybe([aFragment(), aFragment()]),
    function_call: maybe(undefined),
  })
  let events = 0
  for (let round = 0; round < 3000; round++) {
    const reader = readerOf()
    const begun = new Set<number>()
    let ends = 0
    for (let at = 0; at < 8; at++) {
      const finish = random(12) === 0 ? maybe('stop') : null
      const body = {
        choices: maybe([maybe({ index: maybe(0), delta: maybe(aDelta()), logprobs: oddity(), finish_reason: finish })]),
      }
      for (const event of reader.read(frame({ ...body, usage: oddity(), x_groq: oddity() }))) {
        events++
        expect(ends).toBe(0)
        if (event.type === 'tool-call-start') {
          expect(event.call).toBe(begun.size)
          begun.add(event.call)
        }
        if ('call' in event) expect(begun.has(event.call)).toBe(true)
        if (event.type === 'turn-end') ends++
      }
      expect(reader.state.heldBytes).toBeLessThanOrEqual(reader.state.outputBytes)
    }
  }
  console.log(`chat frames: seed ${seed}, 3000 streams, ${events} events`)
  expect(events).toBeGreaterThan(10_000)
})

describe('what a server has signed', () => {
  const parts = (events: readonly TurnEvent[]) =>
    events.flatMap((event) => (event.type === 'reasoning-seal' ? [readSignedParts(event.opaque)] : []))
  const extra = (signature: string) => ({ extra_content: { google: { thought_signature: signature } } })
  const called = (index: number, id: string) => fragment(index, { name: 'look', arguments: '' }, { id })

  it('is of the call that it comes with, in any of its fragments', () => {
    const events = read(
      fragments({ ...called(0, 'a'), ...extra('first') }, called(1, 'b')),
      fragments({ ...fragment(0, { arguments: '{}' }) }),
      fragments({ ...fragment(1, { arguments: '{}' }), ...extra('second') }),
      chunk({}, 'tool_calls'),
    )
    expect(parts(events)).toEqual([
      { call: 'minted_0', extra: { google: { thought_signature: 'first' } } },
      { call: 'minted_1', extra: { google: { thought_signature: 'second' } } },
    ])
  })

  it('names calls by the ids that the client sees', () => {
    const detail = (id: string) => ({ type: 'reasoning.encrypted', data: 'x', id })
    const events = read(
      chunk({
        reasoning_details: [detail('b'), detail('rs_1')],
        tool_calls: [called(0, 'a'), called(1, 'b')],
      }),
      fragments(fragment(0, { arguments: '{}' }), fragment(1, { arguments: '{}' })),
      chunk({}, 'tool_calls'),
    )
    expect(parts(events)).toEqual([{ details: [detail('minted_1'), detail('rs_1')] }])
  })
})

it('log probabilities whose text never comes take no more and more memory', () => {
  const reader = readerOf()
  const content = Array.from({ length: 6000 }, () => ({ token: 'a', logprob: -1, bytes: null, top_logprobs: [] }))
  const silent = { ...chunk({ content: '' }), choices: [{ index: 0, delta: { content: '' }, logprobs: { content } }] }
  for (let frames = 0; frames < 3; frames++) expect(reader.read(frame(silent))).toEqual([])
  const [event] = reader.read(frame(chunk({ content: 'x' })))
  expect(event).toMatchObject({ type: 'text-delta', text: 'x' })
  expect((event as { logprobs: readonly unknown[] }).logprobs).toHaveLength(10_000)
})
