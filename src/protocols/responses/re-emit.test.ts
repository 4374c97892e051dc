import { describe, expect, it } from 'vitest'
import { encodedBytes } from '../../../test/fixtures/protocols/encoded-bytes.ts'
import {
  bytesOf,
  eventsIn,
  expectedOf,
  FIXTURES,
  framesIn,
  plainFrames,
  plainItems,
} from '../../../test/fixtures/protocols/responses/answers.ts'
import { expectGrammar } from '../../../test/fixtures/protocols/responses/grammar.ts'
import {
  added,
  createReEmitter,
  delta,
  ended,
  event,
  laneOf,
  lastResponse,
  reEmit,
} from '../../../test/fixtures/protocols/responses/re-emit.ts'

describe.each(FIXTURES)('a stream with %s, re-emitted', (fixture) => {
  const source = bytesOf(fixture)
  const frames = framesIn([source])

  it('has the content of the provider, in the order of the grammar', () => {
    const { adapter, bytes, whole } = reEmit(frames, { sealReasoning: ({ data }) => data })
    const items = expectGrammar(bytes, { whole })
    const { usage, outputBytes, heldBytes, finished, error, invalid } = adapter.state
    const ending = whole ? lastResponse(bytes) : undefined
    expect({
      items: plainItems(items),
      ending: ending ? [ending.status, ending.incomplete_details] : null,
      state: { usage: usage ?? null, outputBytes, heldBytes, finished, error: error ?? null, invalid: invalid ?? null },
    }).toEqual(expectedOf(fixture).answer)
  })

  it('shows none of the ids, names and numbers of the provider', () => {
    const { bytes } = reEmit(frames)
    expect(String(bytes)).not.toMatch(
      /resp_theirs|lane-model|call_[a-z]\d?"|msg_[a-z]\d?"|rs_t|fc_[a-z]\d?"|ctc_t|obfuscation|web_search/,
    )
  })

  it('is the same however the network cuts it, and with CRLF', () => {
    const whole = String(reEmit(frames).bytes)
    for (let cut = 1; cut < source.length; cut++) {
      const pieces = framesIn([source.subarray(0, cut), source.subarray(cut)])
      // Cutting changes no frame, and so nothing behind the splitter.
      if (pieces.length !== frames.length || pieces.some((piece, at) => !piece.equals(frames[at]!))) {
        expect.fail(`cut at ${cut} changes the frames`)
      }
    }
    const crlf = Buffer.from(String(source).replaceAll('\n', '\r\n'))
    expect(String(reEmit(framesIn([crlf])).bytes)).toBe(whole)
  })

  it('keeps the grammar as far as it came, when it breaks off behind any frame', () => {
    for (let count = 0; count < frames.length; count++) {
      const { bytes, whole, adapter } = reEmit(frames.slice(0, count))
      const items = expectGrammar(bytes, { whole })
      expect(adapter.openItems('incomplete').slice(0, items.length)).toEqual(items)
      expect(adapter.openItems('incomplete').length - items.length).toBeLessThanOrEqual(1)
      const silence = adapter.emptyDelta()
      if (silence) expect(eventsIn(silence)[0]).toMatchObject({ delta: '' })
    }
  })
})

describe('a re-emitted stream', () => {
  it('sends nothing before the first content, and then all of it at once, with a keep-alive in between', () => {
    const frames = plainFrames()
    const adapter = createReEmitter(frames, laneOf())
    expect(adapter.read(event('response.created', { response: {} })).bytes).toBeUndefined()
    expect(adapter.read(added({ id: 'm', type: 'message', role: 'assistant', content: [] })).bytes).toBeUndefined()
    expect(adapter.openItems('incomplete')).toEqual([])
    expect(adapter.emptyDelta()).toBeUndefined()
    const opening = Buffer.from(frames.opening())
    const { bytes, isContent } = adapter.read(delta('x'))
    expect(isContent).toBe(true)
    expect(
      eventsIn(Buffer.concat([opening, encodedBytes(bytes)])).map(({ type, sequence_number }) => [
        sequence_number,
        type,
      ]),
    ).toEqual([
      [0, 'response.created'],
      [1, 'response.in_progress'],
      [2, 'response.output_item.added'],
      [3, 'response.content_part.added'],
      [4, 'response.output_text.delta'],
    ])
    expect(eventsIn(adapter.emptyDelta()!)).toEqual([
      expect.objectContaining({
        type: 'response.output_text.delta',
        sequence_number: 5,
        item_id: 'msg_ours1',
        delta: '',
      }),
    ])
    expect(adapter.openItems('incomplete')).toEqual([
      expect.objectContaining({ id: 'msg_ours1', status: 'incomplete' }),
    ])
  })

  it('keeps the name that a call started with', () => {
    const call = (name: string) => ({ id: 'f', type: 'function_call', name, arguments: '{}' })
    const { bytes } = reEmit([
      added(call('go')),
      event('response.function_call_arguments.done', { item_id: 'f', name: 'come', arguments: '{}' }),
      event('response.output_item.done', { output_index: 0, item: call('stay') }),
      ended({ output: [call('leave')] }),
    ])
    expect(
      bytes
        .toString()
        .match(/"name":"\w+"/g)
        ?.every((name) => name === '"name":"go"'),
    ).toBe(true)
    expect(bytes.toString()).toContain('"name":"go"')
  })

  it('counts a named call as content, but not an empty reasoning', () => {
    const adapter = createReEmitter(plainFrames(), laneOf())
    const reasoning = { id: 'r', type: 'reasoning', summary: [] }
    expect(adapter.read(added(reasoning))).toEqual({ bytes: undefined, isContent: false })
    expect(adapter.read(event('response.output_item.done', { output_index: 0, item: reasoning })).isContent).toBe(false)
    expect(adapter.read(added({ id: 'f', type: 'function_call', name: 'go', arguments: '' }, 1)).isContent).toBe(true)
    expect(adapter.state.outputBytes).toBe(2)
  })

  it('keeps unknown fields on events, items and parts', () => {
    const { bytes } = reEmit([
      added({ id: 'm', type: 'message', content: [], vendor: 1 }),
      delta('x', { vendor: 2, obfuscation: 'pad' }),
      event('response.content_part.done', {
        item_id: 'm',
        output_index: 0,
        content_index: 0,
        part: { type: 'output_text', text: 'x', vendor: 3 },
      }),
      ended(),
    ])
    const events = eventsIn(bytes)
    const of = (type: string) => events.find((each) => each.type === type)
    expect(of('response.output_text.delta')).toEqual({
      type: 'response.output_text.delta',
      sequence_number: 4,
      item_id: 'msg_ours1',
      output_index: 0,
      content_index: 0,
      delta: 'x',
      logprobs: [],
      vendor: 2,
    })
    expect(of('response.content_part.done')).toMatchObject({ part: { vendor: 3, annotations: [], logprobs: [] } })
    expect(of('response.output_item.done')).toMatchObject({ item: { vendor: 1, status: 'completed' } })
  })

  it('ends with our usage, the charge beside it, the time of the end, and [DONE]', () => {
    const { bytes } = reEmit([delta('x'), ended({ usage: { input_tokens: 900, output_tokens: 800 } })])
    expect(lastResponse(bytes)).toMatchObject({
      completed_at: 1_800_000_009,
      usage: {
        input_tokens: 6,
        input_tokens_details: { cached_tokens: 2, cache_write_tokens: 1 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 4 },
        total_tokens: 11,
        millrace: { charge: '0.0015', currency: 'USD', tier: 0, price_version: 7 },
      },
    })
    expect(String(bytes).endsWith('data: [DONE]\n\n')).toBe(true)
  })

  it('holds and counts the events of a later item until its turn', () => {
    const adapter = createReEmitter(plainFrames(), laneOf())
    const call = (id: string, name: string) => ({ id, type: 'function_call', name, call_id: id, arguments: '' })
    const words = (id: string, index: number, text: string) =>
      event('response.function_call_arguments.delta', { item_id: id, output_index: index, delta: text })
    adapter.read(added(call('a', 'f'), 0))
    adapter.read(added(call('b', 'g'), 1))
    expect(adapter.read(words('b', 1, '{"b":1}')).bytes).toBeUndefined()
    expect(adapter.state).toMatchObject({ outputBytes: 1 + 7, heldBytes: 7 })
    expect(eventsIn(encodedBytes(adapter.read(words('a', 0, '{}')).bytes))).toHaveLength(1)
    const done = event('response.output_item.done', { output_index: 0, item: { ...call('a', 'f'), arguments: '{}' } })
    expect(eventsIn(encodedBytes(adapter.read(done).bytes)).map(({ type }) => type)).toEqual([
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.delta',
    ])
    expect(adapter.state).toMatchObject({ outputBytes: 1 + 2 + 1 + 7, heldBytes: 0 })
  })

  it('takes text of the next item for a missing end', () => {
    const adapter = createReEmitter(plainFrames(), laneOf())
    adapter.read(
      event('response.reasoning_text.delta', { item_id: 'r', output_index: 0, content_index: 0, delta: 'hm' }),
    )
    adapter.read(event('response.reasoning_text.done', { item_id: 'r', output_index: 0, content_index: 0, text: 'hm' }))
    const { bytes } = adapter.read(delta('so', { item_id: 'm', output_index: 1 }))
    expect(eventsIn(encodedBytes(bytes)).at(-1)).toMatchObject({
      type: 'response.output_text.delta',
      output_index: 1,
      delta: 'so',
    })
    expect(adapter.state.heldBytes).toBe(0)
  })

  it('adds the text that its deltas left out, and none twice', () => {
    const { bytes } = reEmit([
      delta('Hel'),
      event('response.output_text.done', { item_id: 'm', output_index: 0, content_index: 0, text: 'Hello' }),
      ended({ output: [{ id: 'm', type: 'message', content: [{ type: 'output_text', text: 'Hello' }] }] }),
    ])
    const deltas = eventsIn(bytes).flatMap((each) => (each.type === 'response.output_text.delta' ? [each.delta] : []))
    expect(deltas).toEqual(['Hel', 'lo'])
    expect(plainItems(lastResponse(bytes).output)).toEqual([{ message: ['Hello'] }])
  })

  it('sends no item twice when the ids at the end are others', () => {
    const message = (id: string) => ({ id, type: 'message', content: [{ type: 'output_text', text: 'x' }] })
    const { bytes } = reEmit([
      added({ id: 'a', type: 'message', content: [] }, 3),
      delta('x', { item_id: 'a', output_index: 3 }),
      event('response.output_item.done', { output_index: 3, item: message('a') }),
      ended({ output: [message('z')] }),
    ])
    expect(plainItems(lastResponse(bytes).output)).toEqual([{ message: ['x'] }])
  })

  it('is invalid with a frame that is no JSON object, and ignores frames behind its end', () => {
    for (const data of ['{"type":', '[1]', '"x"', 'null', '<html>']) {
      expect(reEmit([Buffer.from(`data: ${data}\n\n`)]).adapter.state.invalid).toBeDefined()
    }
    const adapter = createReEmitter(plainFrames(), laneOf())
    adapter.read(ended())
    expect(adapter.read(delta('late')).bytes).toBeUndefined()
    expect(adapter.state).toMatchObject({ finished: true, done: true, outputBytes: 0 })
  })

  it('is incomplete if the status in its last event says so', () => {
    const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    const { bytes } = reEmit([delta('x'), event('response.completed', { response: cut })])
    expect(eventsIn(bytes).at(-1)?.type).toBe('response.incomplete')
    expect(lastResponse(bytes).output[0]).toMatchObject({ status: 'incomplete' })
    expect(reEmit([event('response.completed', { response: { status: 'failed' } })]).adapter.state).toMatchObject({
      finished: false,
      error: { message: expect.stringContaining('failed') },
    })
  })

  it('bounds how many items there may be', () => {
    const adapter = createReEmitter(plainFrames(), laneOf())
    for (let at = 0; at < 5000; at++) adapter.read(added({ id: `m${at}`, type: 'message', content: [] }, at))
    expect(adapter.state.invalid).toBeDefined()
  })
})
