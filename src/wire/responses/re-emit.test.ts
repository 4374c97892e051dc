import { describe, expect, it } from 'vitest'
import { checkResponsesStream } from '../../../test/support/responses-grammar.ts'
import type { Fields } from '../../lib/is-object.ts'
import { randomFrom } from '../../lib/seeded-random.fixture.ts'
import type { Compacted } from '../../model/compaction.ts'
import type { Opaque } from '../../model/event.ts'
import {
  bytesOf,
  eventsIn,
  expectedOf,
  FIXTURES,
  framesIn,
  plainFraming,
  plainItems,
  SETTLED,
} from './answers.fixture.ts'
import { expectGrammar } from './grammar.fixture.ts'
import { randomStream } from './random-stream.fixture.ts'
import {
  added,
  createReEmitter,
  delta,
  ended,
  event,
  laneOf,
  lastResponse,
  reEmit,
  reEmitReply,
} from './re-emit.fixture.ts'

describe.each(FIXTURES)('a stream with %s, re-emitted', (fixture) => {
  const source = bytesOf(fixture)
  const frames = framesIn([source])

  it('says what the provider has said, in the order of the grammar', () => {
    const { carrier, bytes, whole } = reEmit(frames, { sealReasoning: ({ data }) => data })
    const items = expectGrammar(bytes, { whole })
    const { usage, outputBytes, heldBytes, finished, error, garbled } = carrier.heard
    const ending = whole ? lastResponse(bytes) : undefined
    expect({
      items: plainItems(items),
      ending: ending ? [ending.status, ending.incomplete_details] : null,
      heard: { usage: usage ?? null, outputBytes, heldBytes, finished, error: error ?? null, garbled },
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
      const { bytes, whole, carrier } = reEmit(frames.slice(0, count))
      const items = expectGrammar(bytes, { whole })
      expect(carrier.openItems('incomplete').slice(0, items.length)).toEqual(items)
      expect(carrier.openItems('incomplete').length - items.length).toBeLessThanOrEqual(1)
      const silence = carrier.emptyDelta()
      if (silence) expect(eventsIn(silence)[0]).toMatchObject({ delta: '' })
    }
  })
})

describe('a re-emitted stream', () => {
  it('says nothing before the first content, and then all of it at once, with a keep-alive in between', () => {
    const framing = plainFraming()
    const carrier = createReEmitter(framing, laneOf())
    expect(carrier.read(event('response.created', { response: {} })).bytes).toBeUndefined()
    expect(carrier.read(added({ id: 'm', type: 'message', role: 'assistant', content: [] })).bytes).toBeUndefined()
    expect(carrier.openItems('incomplete')).toEqual([])
    expect(carrier.emptyDelta()).toBeUndefined()
    const opening = framing.opening()
    const { bytes, isContent } = carrier.read(delta('x'))
    expect(isContent).toBe(true)
    expect(
      eventsIn(Buffer.concat([opening, bytes!])).map(({ type, sequence_number }) => [sequence_number, type]),
    ).toEqual([
      [0, 'response.created'],
      [1, 'response.in_progress'],
      [2, 'response.output_item.added'],
      [3, 'response.content_part.added'],
      [4, 'response.output_text.delta'],
    ])
    expect(eventsIn(carrier.emptyDelta()!)).toEqual([
      expect.objectContaining({
        type: 'response.output_text.delta',
        sequence_number: 5,
        item_id: 'msg_ours1',
        delta: '',
      }),
    ])
    expect(carrier.openItems('incomplete')).toEqual([
      expect.objectContaining({ id: 'msg_ours1', status: 'incomplete' }),
    ])
  })

  it('goes on with a call under the name that it was told of with', () => {
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

  it('takes a call for content by its name, and a reasoning without a word for none', () => {
    const carrier = createReEmitter(plainFraming(), laneOf())
    const reasoning = { id: 'r', type: 'reasoning', summary: [] }
    expect(carrier.read(added(reasoning))).toEqual({ bytes: undefined, isContent: false })
    expect(carrier.read(event('response.output_item.done', { output_index: 0, item: reasoning })).isContent).toBe(false)
    expect(carrier.read(added({ id: 'f', type: 'function_call', name: 'go', arguments: '' }, 1)).isContent).toBe(true)
    expect(carrier.heard.outputBytes).toBe(2)
  })

  it('keeps fields that nobody knows, on events, items and parts', () => {
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

  it('shows sealed reasoning only to who has asked for it, and gives it whole to who stores it', () => {
    const frames = framesIn([bytesOf('summary-and-text')])
    const { bytes, carrier } = reEmit(frames, { seals: 'hidden' })
    expect(String(bytes)).not.toContain('sealed')
    expect(carrier.storedItems()[0]).toMatchObject({ encrypted_content: 'in our envelope: sealed-by-the-provider' })
    const shown = reEmit(frames)
    expect(eventsIn(shown.bytes).find(({ type }) => type === 'response.output_item.added')).not.toHaveProperty(
      'item.encrypted_content',
    )
    expect(lastResponse(shown.bytes).output[0]).toEqual(shown.carrier.storedItems()[0])
  })

  it('puts what is sealed into one envelope, which is the same wherever it is told', () => {
    let envelopes = 0
    const sealReasoning = ({ data }: Opaque) => `envelope ${++envelopes} of ${data.length} letters`
    const { bytes, carrier } = reEmit(framesIn([bytesOf('summary-and-text')]), { sealReasoning })
    const told = eventsIn(bytes).flatMap(({ item }) => (item as Fields | undefined)?.encrypted_content ?? [])
    const whole = [...lastResponse(bytes).output, ...carrier.storedItems()].map((item) => item.encrypted_content)
    expect([...told, ...whole.filter((seal) => seal !== undefined)]).toEqual(
      Array.from({ length: 3 }, () => 'envelope 1 of 22 letters'),
    )
    expect(String(bytes)).not.toContain('sealed-by-the-provider')
  })

  it('tells and stores a compaction that nobody asked for in an envelope of its own purpose, like no other seal', () => {
    const compaction = { id: 'cmp_t', type: 'compaction', encrypted_content: 'raw', vendor: 1 }
    const frames = [
      added(compaction),
      event('response.output_item.done', { output_index: 0, item: compaction }),
      delta('x', { output_index: 1 }),
      ended(),
    ]
    let envelopes = 0
    const sealCompaction = (compacted: Compacted) => `envelope ${++envelopes} of ${JSON.stringify(compacted)}`
    const sealed = sealCompaction({ kind: 'native', opaque: { wire: 'responses', origin: 'lane', data: 'raw' } })
    envelopes = 0
    const told = { id: 'cmp_ours1', type: 'compaction', vendor: 1, encrypted_content: sealed }
    for (const seals of ['shown', 'hidden'] as const) {
      envelopes = 0
      const { bytes, carrier } = reEmit(frames, { seals, sealCompaction })
      expect(lastResponse(bytes).output[0]).toEqual(told)
      expect(carrier.storedItems()).toEqual(lastResponse(bytes).output)
      const items = eventsIn(bytes).flatMap(({ item }) => (item as Fields | undefined) ?? [])
      // It is told at once, as where it was asked for.
      expect(items.slice(0, 2)).toEqual([told, told])
      expect(checkResponsesStream(String(bytes))).toEqual([])
    }
    envelopes = 0
    const reply = reEmitReply({ status: 'completed', output: [compaction] }, laneOf({ sealCompaction }))
    expect(reply.kind === 'reply' && reply.answer.end(SETTLED).state.output).toEqual([told])
  })

  it('tells no seal of a reasoning whose end has not come: what comes at its beginning is too short', () => {
    const begun = added({ id: 'rs', type: 'reasoning', summary: [], encrypted_content: 'short' })
    const words = event('response.reasoning_summary_text.delta', { item_id: 'rs', summary_index: 0, delta: 'Hm' })
    const { carrier } = reEmit([begun, words])
    expect(carrier.storedItems()).toEqual([
      { id: 'rs_ours1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }], status: 'incomplete' },
    ])
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

  it('holds back what belongs to a later item, counts it, and tells it when its turn comes', () => {
    const carrier = createReEmitter(plainFraming(), laneOf())
    const call = (id: string, name: string) => ({ id, type: 'function_call', name, call_id: id, arguments: '' })
    const words = (id: string, index: number, text: string) =>
      event('response.function_call_arguments.delta', { item_id: id, output_index: index, delta: text })
    carrier.read(added(call('a', 'f'), 0))
    carrier.read(added(call('b', 'g'), 1))
    expect(carrier.read(words('b', 1, '{"b":1}')).bytes).toBeUndefined()
    expect(carrier.heard).toMatchObject({ outputBytes: 1 + 7, heldBytes: 7 })
    expect(eventsIn(carrier.read(words('a', 0, '{}')).bytes!)).toHaveLength(1)
    const done = event('response.output_item.done', { output_index: 0, item: { ...call('a', 'f'), arguments: '{}' } })
    expect(eventsIn(carrier.read(done).bytes!).map(({ type }) => type)).toEqual([
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.delta',
    ])
    expect(carrier.heard).toMatchObject({ outputBytes: 1 + 2 + 1 + 7, heldBytes: 0 })
  })

  it('does not wait for an end that does not come: words for the next item are one', () => {
    const carrier = createReEmitter(plainFraming(), laneOf())
    carrier.read(
      event('response.reasoning_text.delta', { item_id: 'r', output_index: 0, content_index: 0, delta: 'hm' }),
    )
    carrier.read(event('response.reasoning_text.done', { item_id: 'r', output_index: 0, content_index: 0, text: 'hm' }))
    const { bytes } = carrier.read(delta('so', { item_id: 'm', output_index: 1 }))
    expect(eventsIn(bytes!).at(-1)).toMatchObject({ type: 'response.output_text.delta', output_index: 1, delta: 'so' })
    expect(carrier.heard.heldBytes).toBe(0)
  })

  it('tells the words that its deltas have left out, and none twice', () => {
    const { bytes } = reEmit([
      delta('Hel'),
      event('response.output_text.done', { item_id: 'm', output_index: 0, content_index: 0, text: 'Hello' }),
      ended({ output: [{ id: 'm', type: 'message', content: [{ type: 'output_text', text: 'Hello' }] }] }),
    ])
    const deltas = eventsIn(bytes).flatMap((each) => (each.type === 'response.output_text.delta' ? [each.delta] : []))
    expect(deltas).toEqual(['Hel', 'lo'])
    expect(plainItems(lastResponse(bytes).output)).toEqual([{ message: ['Hello'] }])
  })

  it('tells no item twice when the ids at the end are others', () => {
    const message = (id: string) => ({ id, type: 'message', content: [{ type: 'output_text', text: 'x' }] })
    const { bytes } = reEmit([
      added({ id: 'a', type: 'message', content: [] }, 3),
      delta('x', { item_id: 'a', output_index: 3 }),
      event('response.output_item.done', { output_index: 3, item: message('a') }),
      ended({ output: [message('z')] }),
    ])
    expect(plainItems(lastResponse(bytes).output)).toEqual([{ message: ['x'] }])
  })

  it('is garbled by what is no JSON object, and heeds nothing behind its end', () => {
    for (const data of ['{"type":', '[1]', '"x"', 'null', '<html>']) {
      expect(reEmit([Buffer.from(`data: ${data}\n\n`)]).carrier.heard.garbled).toBe(true)
    }
    const carrier = createReEmitter(plainFraming(), laneOf())
    carrier.read(ended())
    expect(carrier.read(delta('late')).bytes).toBeUndefined()
    expect(carrier.heard).toMatchObject({ finished: true, done: true, outputBytes: 0 })
  })

  it('says a status that the last event belies: an incomplete answer is no complete one', () => {
    const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    const { bytes } = reEmit([delta('x'), event('response.completed', { response: cut })])
    expect(eventsIn(bytes).at(-1)?.type).toBe('response.incomplete')
    expect(lastResponse(bytes).output[0]).toMatchObject({ status: 'incomplete' })
    expect(reEmit([event('response.completed', { response: { status: 'failed' } })]).carrier.heard).toMatchObject({
      finished: false,
      error: { message: expect.stringContaining('failed') },
    })
  })

  it('bounds how many items there may be', () => {
    const carrier = createReEmitter(plainFraming(), laneOf())
    for (let at = 0; at < 5000; at++) carrier.read(added({ id: `m${at}`, type: 'message', content: [] }, at))
    expect(carrier.heard.garbled).toBe(true)
  })

  it('never throws and keeps the grammar, whatever frames come', { timeout: 30_000 }, () => {
    const seed = 20_261_120
    const random = randomFrom(seed)
    let frames = 0
    let whole = 0
    let contentful = 0
    for (let stream = 0; stream < 3000; stream++) {
      const all = randomStream(random)
      frames += all.length
      try {
        const rawReasoning = stream % 2 === 0 ? 'as-it-comes' : 'as-summary'
        const result = reEmit(all, { rawReasoning, seals: stream % 3 === 0 ? 'shown' : 'hidden' })
        const items = expectGrammar(result.bytes, { whole: result.whole })
        for (const item of items) expectWorthShowing(item)
        if (rawReasoning === 'as-summary') expect(String(result.bytes)).not.toContain('event: response.reasoning_text')
        expect(result.carrier.heard.heldBytes).toBeGreaterThanOrEqual(0)
        if (result.whole) {
          expect(result.carrier.heard.heldBytes).toBe(0)
          whole++
        }
        if (items.length > 0) contentful++
      } catch (error) {
        throw new Error(`seed ${seed}, stream ${stream}: ${all.map(String).join('')}`, { cause: error })
      }
    }
    console.log(`re-emit: seed ${seed}, ${JSON.stringify({ streams: 3000, frames, whole, contentful })}`)
    expect(whole).toBeGreaterThan(1000)
    expect(contentful).toBeGreaterThan(1000)
  })
})

/** It has words or a name, no part without any, and of a reasoning either summaries or a text; or it has a seal. */
function expectWorthShowing(item: Fields): void {
  if (item.type !== 'message' && item.type !== 'reasoning') return
  const content = (item.content ?? []) as Fields[]
  const summary = item.type === 'reasoning' ? (item.summary as Fields[]) : []
  for (const { text, refusal, type } of [...content, ...summary])
    expect(type === 'refusal' ? refusal : text).not.toBe('')
  expect(content.length === 0 || summary.length === 0).toBe(true)
  expect(content.length + summary.length > 0 || item.type === 'reasoning').toBe(true)
}

describe('a JSON answer, re-emitted', () => {
  const replyOf = (value: unknown, over: Parameters<typeof laneOf>[0] = {}) => reEmitReply(value, laneOf(over))

  it.each(FIXTURES)('collects to the same as the stream: %s', (fixture) => {
    const { bytes, carrier, whole } = reEmit(framesIn([bytesOf(fixture)]))
    if (!whole) return
    const streamed = lastResponse(bytes)
    // The provider's own response at the end of its stream is what it would have answered as JSON.
    const theirs = eventsIn(bytesOf(fixture)).findLast(({ response }) => response)!.response as Fields
    const isComplete = Array.isArray(theirs.output) && theirs.output.length > 0
    const reply = replyOf(isComplete ? theirs : { ...theirs, output: streamed.output })
    if (reply.kind !== 'reply') return expect.fail(`it is ${reply.kind}`)
    const answered = plainFraming().response(reply.answer.end(SETTLED).state) as Fields & { output: Fields[] }
    expect(plainItems(answered.output)).toEqual(plainItems(streamed.output))
    expect({ ...answered, output: [] }).toEqual({ ...streamed, output: [] })
    expect([reply.answer.heard.usage, reply.answer.heard.outputBytes]).toEqual([
      carrier.heard.usage,
      carrier.heard.outputBytes,
    ])
  })

  it('has ids of ours, and sealed reasoning only for who has asked for it', () => {
    const output = [
      { id: 'rs_t', type: 'reasoning', summary: [], encrypted_content: 'sealed' },
      { id: 'ws_t', type: 'web_search_call' },
      { id: 'fc_t', type: 'function_call', call_id: 'call_t', name: 'f', arguments: '{}', vendor: 1 },
    ]
    const reply = replyOf({ status: 'completed', output }, { seals: 'hidden' })
    if (reply.kind !== 'reply') return expect.fail(`it is ${reply.kind}`)
    expect(plainFraming().response(reply.answer.end(SETTLED).state).output).toEqual([
      { id: 'rs_ours1', type: 'reasoning', summary: [] },
      expect.objectContaining({ id: 'fc_ours2', call_id: 'call_ours3', vendor: 1, status: 'completed' }),
    ])
    expect(reply.answer.storedItems()[0]).toMatchObject({ encrypted_content: 'in our envelope: sealed' })
  })

  it('is an error when it says so with status 200, and garbled when it is no response', () => {
    const error = { code: 'server_error', message: 'No.' }
    expect(replyOf({ error })).toEqual({ kind: 'error', said: error })
    expect(replyOf({ error: 'No.' })).toMatchObject({ kind: 'error', said: { message: 'No.' } })
    expect(replyOf({ status: 'failed', error: null, output: [] })).toMatchObject({ kind: 'error' })
    for (const value of [undefined, null, [], 'x', {}, { output: 'x' }, { status: 'queued', output: [] }]) {
      expect(replyOf(value).kind).toBe('garbled')
    }
  })
})
