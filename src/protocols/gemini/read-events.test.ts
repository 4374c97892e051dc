import { describe, expect, it } from 'vitest'
import { emitted, ends, readerOf, readFrames, sse } from '../../../test/fixtures/protocols/gemini/lane.ts'
import type { TurnEvent } from '../../model/event.ts'
import { classifyRefusal } from '../refusals/provider-error.ts'
import { DONE_FRAME, FrameSplitter } from '../sse/frames.ts'

const start = (call: number, name = 'get_weather') => ({
  ...{ type: 'tool-call-start', call, callId: `call_${call + 1}`, name },
  ...{ namespace: undefined, tool: 'function' },
})
const called = (call: number, args: string, name?: string) => [
  start(call, name),
  { type: 'tool-call-delta', call, text: args },
  { type: 'tool-call-end', call },
]
const seal = (signature: string, on: string) => ({
  type: 'reasoning-seal',
  opaque: { wire: 'gemini', origin: 'lane', data: JSON.stringify({ thoughtSignature: signature, on }) },
})
const end = (reason: string) => ({ type: 'turn-end', reason })
const text = (words: string) => ({ type: 'text-delta', text: words })
const weather = (more: object = {}) => ({ functionCall: { name: 'get_weather', args: { city: 'Oslo' }, ...more } })

describe('an answer', () => {
  it('has its thoughts as a summary, its calls whole, and their signatures in front of them', () => {
    const { events, reader } = readFrames(
      emitted(
        [{ text: 'Check', thought: true }],
        {},
        { usageMetadata: { promptTokenCount: 20, thoughtsTokenCount: 8 } },
      ),
      emitted([{ text: 'ing', thought: true }, { text: 'Wait.' }]),
      emitted(
        [{ ...weather(), thoughtSignature: 'AbC=' }, weather({ args: {} })],
        { finishReason: 'STOP' },
        {
          usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 9, thoughtsTokenCount: 8, totalTokenCount: 37 },
        },
      ),
    )
    expect(events).toEqual([
      { type: 'reasoning-start' },
      { type: 'summary-start' },
      { type: 'summary-delta', text: 'Check' },
      { type: 'summary-delta', text: 'ing' },
      text('Wait.'),
      seal('AbC=', 'call'),
      ...called(0, '{"city":"Oslo"}'),
      ...called(1, '{}'),
      end('tool-calls'),
    ])
    const usage = { uncachedInput: 20, cachedInput: 0, cacheWrite: 0, output: 17, reasoning: 8 }
    const outputBytes = 'CheckingWait.'.length + 2 * 'get_weather'.length + '{"city":"Oslo"}{}'.length
    expect(reader.state).toMatchObject({ usage, outputBytes, heldBytes: 0, finished: true })
  })

  it('has a signature behind the text that it came with, or came after', () => {
    expect(readFrames(emitted([{ text: 'Hi', thoughtSignature: 'a' }])).events).toEqual([text('Hi'), seal('a', 'text')])
    const late = emitted([{ text: '', thoughtSignature: 'b' }], { finishReason: 'STOP' })
    expect(readFrames(emitted([{ text: 'Hi' }]), late).events).toEqual([text('Hi'), seal('b', 'text'), end('stop')])
  })

  it('begins another reasoning where it thinks again, and forgets what signs a thought', () => {
    const thought = (words: string) => ({ text: words, thought: true, thoughtSignature: 'x' })
    const { events } = readFrames(emitted([thought('a')]), emitted([{ text: 'b' }]), emitted([thought('c')]))
    expect(events.map(({ type }) => type)).toEqual([
      ...['reasoning-start', 'summary-start', 'summary-delta', 'text-delta'],
      ...['reasoning-start', 'summary-start', 'summary-delta'],
    ])
  })

  it('may be empty', () => {
    for (const chunk of [ends(), emitted([], { finishReason: 'STOP' }), { candidates: [{ finishReason: 'STOP' }] }]) {
      const { events, reader } = readFrames(chunk)
      expect(events).toEqual([end('stop')])
      expect(reader.state).toMatchObject({ finished: true, error: undefined, outputBytes: 0 })
    }
  })

  it('is its first candidate, without the parts that no client requests', () => {
    const other = { content: { parts: [{ text: 'B' }] }, index: 1, finishReason: 'STOP' }
    const { events, reader } = readFrames({ candidates: [other, { content: { parts: [{ text: 'A' }] }, index: 0 }] })
    expect(events).toEqual([text('A')])
    expect(reader.state.finished).toBe(false)
    expect(readFrames({ candidates: [other] }).events).toEqual([])
    const odd = [
      { inlineData: { mimeType: 'image/png', data: 'AA==' } },
      { executableCode: { language: 'PYTHON', code: '1' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK' } },
    ]
    expect(readFrames(emitted(odd)).events).toEqual([])
  })

  it('has its log probabilities with the text that they belong to', () => {
    const chosen = { token: 'Hi', tokenId: 7, logProbability: -0.5 }
    const topCandidates = [{ candidates: [chosen, { token: 'Ho', logProbability: -1 }, null] }]
    const logprobsResult = { chosenCandidates: [chosen, 'x'], topCandidates }
    const top = [
      { token: 'Hi', logprob: -0.5, bytes: undefined },
      { token: 'Ho', logprob: -1, bytes: undefined },
    ]
    const logprobs = [{ token: 'Hi', logprob: -0.5, bytes: undefined, top }]
    expect(readFrames(emitted([{ text: 'Hi' }], { logprobsResult })).events).toEqual([{ ...text('Hi'), logprobs }])
    expect(readFrames(emitted([], { logprobsResult }), emitted([{ text: 'Hi' }])).events).toEqual([
      { ...text('Hi'), logprobs },
    ])
  })

  it('goes on being counted behind its end, and says nothing more', () => {
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 8 }
    const { events, reader } = readFrames(emitted([{ text: 'Hi' }]), ends(), emitted([{ text: '' }]), ends('SAFETY'), {
      usageMetadata,
    })
    expect(events).toEqual([text('Hi'), end('stop')])
    expect(reader.state.usage).toMatchObject({ uncachedInput: 3, output: 5 })
  })

  it('goes on where content follows a finish reason, and ends by the last one', () => {
    const each = readFrames(emitted([{ text: 'a' }], { finishReason: 'FINISH_REASON_UNSPECIFIED' }), ends('STOP'))
    expect(each.events).toEqual([text('a'), end('stop')])
    const { events, reader } = readFrames(
      emitted([{ text: 'a' }], { finishReason: 'STOP' }),
      emitted([{ text: 'b' }, weather()], { finishReason: 'STOP' }),
      emitted([{ text: 'c' }], { finishReason: 'MAX_TOKENS' }),
    )
    expect(events).toEqual([text('a'), text('b'), ...called(0, '{"city":"Oslo"}'), text('c'), end('length')])
    expect(reader.state).toMatchObject({ finished: true, calls: 1, invalid: undefined })
  })

  it('that only its prompt was counted of is estimated, on the input that was counted', () => {
    const { reader } = readFrames(
      emitted([{ text: 'Hi' }], {}, { usageMetadata: { promptTokenCount: 30, cachedContentTokenCount: 10 } }),
    )
    expect(reader.state.usage).toBeUndefined()
    expect(reader.state.inputCounted).toEqual({ uncachedInput: 20, cachedInput: 10, cacheWrite: 0 })
  })
})

describe('a call', () => {
  const part = (functionCall: object, more: object = {}) => emitted([{ functionCall, ...more }])
  const piece = (jsonPath: string, value: object) => ({ jsonPath, ...value })

  it('that comes in pieces is emitted when it is complete', () => {
    const reader = readerOf()
    const events = [
      part({ name: 'book', willContinue: true }, { thoughtSignature: 's' }),
      part({ partialArgs: [piece('$.city', { stringValue: 'Os' })], willContinue: true }),
      part({
        partialArgs: [
          ...[piece('$.city', { stringValue: 'lo' }), piece('$.days[0].from', { numberValue: 2 })],
          ...[piece("$['a b'][0]", { boolValue: true }), piece('$["a b"][1]', { nullValue: 'NULL_VALUE' })],
        ],
        willContinue: true,
      }),
    ].flatMap((chunk) => reader.read(sse(chunk)))
    expect(events).toEqual([])
    expect(reader.state).toMatchObject({ outputBytes: 'bookOslo'.length + 3, heldBytes: 'bookOslo'.length + 3 })
    const args = '{"city":"Oslo","days":[{"from":2}],"a b":[true,null]}'
    expect(reader.read(sse(part({})))).toEqual([seal('s', 'call'), ...called(0, args, 'book')])
    expect(reader.state).toMatchObject({ outputBytes: 'book'.length + args.length, heldBytes: 0 })
  })

  it('in pieces ends with the answer, or where another one begins', () => {
    const begun = part({ name: 'a', partialArgs: [piece('$.x', { stringValue: '1' })], willContinue: true })
    expect(readFrames(begun, ends('MAX_TOKENS')).events).toEqual([...called(0, '{"x":"1"}', 'a'), end('length')])
    expect(readFrames(begun, part({ name: 'b', args: {} })).events).toEqual([
      ...called(0, '{"x":"1"}', 'a'),
      ...called(1, '{}', 'b'),
    ])
  })

  it('in pieces that changes later has been produced all the same', () => {
    const begun = part({
      name: 'a',
      partialArgs: [piece('$.city', { stringValue: 'Long'.repeat(9) })],
      willContinue: true,
    })
    const { events, reader } = readFrames(begun, part({ name: 'a', args: { city: 'Oslo' } }))
    expect(events).toEqual(called(0, '{"city":"Oslo"}', 'a'))
    expect(reader.state).toMatchObject({ outputBytes: 1 + 4 * 9, heldBytes: 0 })
  })

  it('is not led astray by paths that lead nowhere', () => {
    const paths = [
      '',
      '$',
      '$.',
      'x',
      '$.a[9]',
      '$.a[99999999999]',
      '$..a',
      '$[0]',
      `$${'.a'.repeat(101)}`,
      '$.__proto__.x',
    ]
    const partialArgs = [...paths.map((path) => piece(path, { stringValue: 'v' })), null, 7, { jsonPath: 7 }]
    const { events } = readFrames(
      part({ name: 'a', partialArgs: [...partialArgs, piece('$.b', {}), piece('$.c.d', { numberValue: 1 })] }),
    )
    const delta = events.find(({ type }) => type === 'tool-call-delta') as { text: string }
    expect(JSON.parse(delta.text)).toEqual(JSON.parse('{"a":[],"__proto__":{"x":"v"},"c":{"d":1}}'))
    expect(({} as { x?: unknown }).x).toBeUndefined()
  })

  it('without a name is none; without arguments it has an empty object of them', () => {
    for (const name of [undefined, null, '', 7, {}]) expect(readFrames(part({ name, args: {} })).events).toEqual([])
    for (const args of [undefined, null])
      expect(readFrames(part({ name: 'a', args })).events).toEqual(called(0, '{}', 'a'))
    expect(readFrames(part({ name: 'a', args: '{"x":1}' })).events).toEqual(called(0, '{"x":1}', 'a'))
  })

  it('has the numbers that were sent, digit for digit', () => {
    const numbers = '{"id":9007199254740993,"price":1.10,"far":[1e400,-0]}'
    const pieces = '[{"jsonPath":"$.price","numberValue":1.10},{"jsonPath":"$.id","numberValue":7}]'
    const reader = readerOf()
    const frame = (call: string, more = '') =>
      Buffer.from(`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"a",${call}}}]}${more}}]}\n\n`)
    expect(reader.read(frame(`"args":${numbers}`))).toEqual(called(0, numbers, 'a'))
    expect(reader.read(frame(`"args":9.50`))).toEqual(called(1, '9.50', 'a'))
    expect(reader.read(frame(`"partialArgs":${pieces}`, ',"avgLogprobs":-0.10,"finishReason":"STOP"'))).toEqual([
      ...called(2, '{"price":1.10,"id":7}', 'a'),
    ])
    expect(reader.ending).toBe('tool-calls')
  })

  it('with arguments that cannot be written as JSON is invalid', () => {
    const depth = 100_000
    const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`
    const reader = readerOf()
    const frame = `data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"a","args":{"x":${deep}}}}]}}]}\n\n`
    expect(reader.read(Buffer.from(frame))).toEqual([])
    expect(reader.state.invalid).toBeDefined()
  })
})

describe('an end', () => {
  it.each([
    ...[
      ['STOP', 'stop'],
      ['MAX_TOKENS', 'length'],
      ['CONTINUATION', 'length'],
      ['OTHER', 'stop'],
      ['UNHEARD_OF', 'stop'],
    ],
    ...[
      ['FINISH_REASON_UNSPECIFIED', 'stop'],
      ['SAFETY', 'content-filter'],
      ['RECITATION', 'content-filter'],
    ],
    ...[
      ['BLOCKLIST', 'content-filter'],
      ['PROHIBITED_CONTENT', 'content-filter'],
      ['SPII', 'content-filter'],
    ],
    ...[
      ['IMAGE_SAFETY', 'content-filter'],
      ['IMAGE_PROHIBITED_CONTENT', 'content-filter'],
      ['', 'stop'],
    ],
  ] as [string, string][])('with the word %s is told as %s', (word, reason) => {
    expect(readFrames(ends(word)).events).toEqual([end(reason)])
  })

  it('with calls is one that waits for their results, unless it was cut', () => {
    expect(readFrames(emitted([weather()]), ends()).events.at(-1)).toEqual(end('tool-calls'))
    expect(readFrames(emitted([weather()]), ends('MAX_TOKENS')).events.at(-1)).toEqual(end('length'))
    expect(readFrames(emitted([weather()]), ends('OTHER')).events.at(-1)).toEqual(end('tool-calls'))
  })

  it.each([
    ...['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS'],
    ...['MALFORMED_RESPONSE', 'MISSING_THOUGHT_SIGNATURE'],
  ])('with the reason %s is a failure and fails over', (word) => {
    const usageMetadata = { promptTokenCount: 3, totalTokenCount: 3 }
    const { events, reader } = readFrames(emitted([{ text: 'Hi' }], { finishReason: word }, { usageMetadata }))
    expect(events).toEqual([])
    expect(reader.state).toMatchObject({ finished: false, error: { message: `it ended with "${word}"` } })
    const error = { status: undefined, param: undefined, message: '', code: undefined, ...reader.state.error }
    expect(classifyRefusal(error)).toBe('failed')
    expect(reader.state.usage).toMatchObject({ uncachedInput: 3, output: 0 })
  })

  it('of a prompt that is blocked is one of the content, and no failure', () => {
    const usageMetadata = { promptTokenCount: 8, totalTokenCount: 8 }
    const { events, reader } = readFrames({ promptFeedback: { blockReason: 'SAFETY' }, usageMetadata })
    expect(events).toEqual([end('content-filter')])
    expect(reader.state).toMatchObject({ finished: true, error: undefined, usage: { uncachedInput: 8, output: 0 } })
    expect(readFrames({ promptFeedback: { blockReason: 'OTHER' }, candidates: [] }).events).toEqual([
      end('content-filter'),
    ])
    expect(readFrames({ promptFeedback: { safetyRatings: [] }, candidates: null }).events).toEqual([])
  })

  it('that never comes is none', () => {
    expect(readFrames(emitted([{ text: 'Hi' }])).reader.state).toMatchObject({
      finished: false,
      error: undefined,
    })
  })

  it('with an error is its error', () => {
    const error = { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' }
    const { events, reader } = readFrames({ error }, emitted([{ text: 'Hi' }]))
    expect(events).toEqual([])
    expect(reader.state.error).toMatchObject({ message: error.message })
    expect(readFrames({ error: null, ...emitted([{ text: 'Hi' }]) }).events).toEqual([text('Hi')])
  })
})

describe('what is no answer', () => {
  it('is invalid: what is no JSON, no object, or JSON without events', () => {
    for (const bytes of [
      'data: {"candidates":[{"con\n\n',
      'data: 7\n\n',
      'data: [{"candidates":[]}]\n\n',
      '[{"candidates":[]}\n\n,',
    ]) {
      const reader = readerOf()
      expect(reader.read(Buffer.from(bytes))).toEqual([])
      expect(reader.state.invalid, bytes).toBeDefined()
      expect(reader.read(sse(emitted([{ text: 'Hi' }])))).toEqual([])
    }
  })

  it('is nothing: comments, events without data, an end that another server adds', () => {
    const reader = readerOf()
    for (const bytes of [': ping\n\n', 'event: x\n\n', '\n', 'data:\n\n', '\r\n']) {
      expect(reader.read(Buffer.from(bytes))).toEqual([])
    }
    expect(reader.state).toMatchObject({ invalid: undefined, done: false })
    reader.read(Buffer.from('data: [DONE]\n\n'))
    expect(reader.state).toMatchObject({ invalid: undefined, done: true })
  })

  it('never throws, whatever it contains', () => {
    const odd = [
      null,
      undefined,
      7,
      'x',
      true,
      [],
      {},
      [null],
      [[]],
      { index: 0 },
      { parts: null },
      { __proto__: null },
    ]
    for (const value of odd) {
      for (const chunk of [
        { candidates: value },
        { candidates: [value] },
        { candidates: [{ content: value }] },
        ...[{ candidates: [{ finishReason: value }] }, { candidates: [{ logprobsResult: value, index: value }] }],
        emitted(value),
        emitted([value]),
        ...['text', 'thought', 'thoughtSignature', 'functionCall'].map((name) =>
          emitted([{ [name]: value, text: 'a' }]),
        ),
        ...['name', 'args', 'partialArgs', 'willContinue', 'id'].map((name) => emitted([weather({ [name]: value })])),
        { usageMetadata: value, promptFeedback: value },
      ]) {
        const { reader } = readFrames(chunk, ends())
        expect([undefined, 'a tool call without a name'], JSON.stringify(chunk)).toContain(reader.state.invalid)
        expect(reader.state.error, JSON.stringify(chunk)).toBeUndefined()
      }
    }
  })

  it('makes no difference where it is cut, or how its lines end', () => {
    const chunks = [
      emitted([{ text: 'Grüße 😀', thought: true }]),
      emitted([{ ...weather(), thoughtSignature: 'q' }]),
      ends(),
    ]
    const whole = readFrames(...chunks).events
    for (const lineEnd of ['\n', '\r\n']) {
      const bytes = Buffer.from(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}${lineEnd}${lineEnd}`).join(''))
      for (let at = 0; at <= bytes.length; at++) {
        const reader = readerOf()
        const splitter = new FrameSplitter({ frameBytesMax: 1_000_000 })
        const events: TurnEvent[] = []
        for (const piece of [bytes.subarray(0, at), bytes.subarray(at)]) {
          splitter.push(piece)
          for (let frame = splitter.next(); frame; frame = splitter.next()) events.push(...reader.read(frame))
        }
        expect([...events, ...reader.read(DONE_FRAME)]).toEqual(whole)
      }
    }
  })
})

it('a chunk may have more log probabilities than a function takes arguments', () => {
  const chosenCandidates = Array.from({ length: 200_000 }, () => ({ token: '', logProbability: 0 }))
  expect(readFrames(emitted([], { logprobsResult: { chosenCandidates } })).reader.state.invalid).toBeUndefined()
})

it('arguments in pieces count, whatever the pieces are', () => {
  const partialArgs = Array.from({ length: 50 }, (_, at) => ({ jsonPath: `$.a[${at}]`, numberValue: 1 }))
  const { reader } = readFrames(
    emitted([{ functionCall: { name: 'f', partialArgs, args: { b: 'cd' }, willContinue: true } }]),
  )
  expect(reader.state).toMatchObject({ outputBytes: 61, heldBytes: 61 })
})

describe('a finish reason with each chunk', () => {
  const FIRST = { usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 1, totalTokenCount: 11 } }
  const stop = { finishReason: 'STOP' }

  it('leaves a usage that came with the first of them open, which did not count what follows', () => {
    const { reader } = readFrames(emitted([{ text: 'a' }], stop, FIRST), emitted([{ text: 'b' }], stop))
    expect(reader.state).toMatchObject({ finished: true, usageIsFinal: false })
    const more = { usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 } }
    const counted = readFrames(emitted([{ text: 'a' }], stop, FIRST), emitted([{ text: 'b' }], stop, more))
    expect(counted.reader.state).toMatchObject({ usageIsFinal: true, usage: { output: 2 } })
  })
})
