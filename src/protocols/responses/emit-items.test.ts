import { describe, expect, it } from 'vitest'
import { eventsIn, plainFrames, SETTLED } from '../../../test/fixtures/protocols/responses/answers.ts'
import { expectGrammar } from '../../../test/fixtures/protocols/responses/grammar.ts'
import {
  added,
  createReEmitter,
  delta,
  END,
  ended,
  event,
  laneOf,
  lastResponse,
  reEmit,
  reEmitReply,
} from '../../../test/fixtures/protocols/responses/re-emit.ts'

const rawDelta = (text: string) =>
  event('response.reasoning_text.delta', { item_id: 'r', output_index: 0, content_index: 0, delta: text })
const summaryDelta = (text: string) =>
  event('response.reasoning_summary_text.delta', { item_id: 'r', output_index: 0, summary_index: 0, delta: text })
const reasoningEnds = (item: object) =>
  event('response.output_item.done', { output_index: 0, item: { id: 'r', type: 'reasoning', ...item } })
const rawText = (text: string) => ({ type: 'reasoning_text', text })
const summaryText = (text: string) => ({ type: 'summary_text', text })
const typesIn = (bytes: Buffer) => eventsIn(bytes).map(({ type }) => String(type).replace('response.', ''))

describe('the content of a re-emitted stream', () => {
  it('has raw reasoning as a summary for a client that asked for one, in the events, the item and the store', () => {
    const frames = [rawDelta('h'), rawDelta('m'), reasoningEnds({ summary: [], content: [rawText('hm')] }), ended()]
    const { bytes, adapter } = reEmit(frames, { rawReasoning: 'as-summary' })
    expect(expectGrammar(bytes, { whole: true })).toEqual([
      { id: 'rs_ours1', type: 'reasoning', summary: [summaryText('hm')] },
    ])
    expect(adapter.storedItems()).toEqual(lastResponse(bytes).output)
    expect(typesIn(bytes).slice(2, -1)).toEqual([
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
    ])
    expect(String(bytes)).not.toMatch(/reasoning_text|content_index/)
    const asItComes = reEmit(frames)
    expect(lastResponse(asItComes.bytes).output).toEqual([
      { id: 'rs_ours1', type: 'reasoning', summary: [], content: [rawText('hm')] },
    ])
    expect(typesIn(asItComes.bytes)).toContain('reasoning_text.delta')
  })

  it('breaks a silence in raw reasoning that is sent as a summary with an empty summary delta', () => {
    const adapter = createReEmitter(plainFrames(), laneOf({ rawReasoning: 'as-summary' }))
    adapter.read(rawDelta('h'))
    expect(eventsIn(adapter.emptyDelta()!)[0]).toMatchObject({
      type: 'response.reasoning_summary_text.delta',
      summary_index: 0,
      delta: '',
    })
  })

  it.each(['as-summary', 'as-it-comes'] as const)(
    'prefers the own summary of a reasoning to raw text, %s',
    (rawReasoning) => {
      const item = { summary: [summaryText('short')], content: [rawText('long')] }
      const whole = reEmit([reasoningEnds(item), ended()], { rawReasoning })
      const inDeltas = reEmit([summaryDelta('short'), rawDelta('lo'), reasoningEnds(item), ended()], { rawReasoning })
      for (const { bytes, adapter } of [whole, inDeltas]) {
        expect(expectGrammar(bytes, { whole: true })).toEqual([
          { id: 'rs_ours1', type: 'reasoning', summary: [summaryText('short')] },
        ])
        expect(adapter.storedItems()).toEqual(lastResponse(bytes).output)
        expect(String(bytes)).not.toMatch(/reasoning_text|"lo/)
      }
    },
  )

  it('keeps raw text that was sent before a summary; as a summary both are sent', () => {
    const frames = [rawDelta('long'), summaryDelta('short'), ended()]
    expect(lastResponse(reEmit(frames).bytes).output).toEqual([
      { id: 'rs_ours1', type: 'reasoning', summary: [], content: [rawText('long')] },
    ])
    const { bytes } = reEmit(frames, { rawReasoning: 'as-summary' })
    expectGrammar(bytes, { whole: true })
    expect(lastResponse(bytes).output[0]).toMatchObject({ summary: [summaryText('long'), summaryText('short')] })
  })

  it('has a seal behind a message only if another item follows, where the client does not see seals', () => {
    const message = { id: 'm', type: 'message', content: [{ type: 'output_text', text: 'x' }] }
    const seal = { id: 's', type: 'reasoning', summary: [], encrypted_content: 'sealed' }
    const call = { id: 'f', type: 'function_call', name: 'go', arguments: '' }
    const typesOf = (output: readonly object[], seals: 'hidden' | 'shown'): unknown[] => {
      const ends = output.map((item, index) => event('response.output_item.done', { output_index: index, item }))
      const { bytes, adapter } = reEmit([...ends, ended({ output })], { seals })
      const items = expectGrammar(bytes, { whole: true }).map(({ type }) => type)
      expect(adapter.storedItems().map(({ type }) => type)).toEqual(items)
      return items
    }
    expect(typesOf([message, seal], 'hidden')).toEqual(['message'])
    expect(typesOf([message, seal], 'shown')).toEqual(['message', 'reasoning'])
    for (const seals of ['hidden', 'shown'] as const) {
      expect(typesOf([message, seal, { ...seal, id: 't' }, call], seals)).toEqual([
        ...['message', 'reasoning', 'reasoning', 'function_call'],
      ])
      expect(typesOf([seal, message], seals)).toEqual(['reasoning', 'message'])
      expect(typesOf([seal], seals)).toEqual(['reasoning'])
    }
  })

  it('has no empty reasoning, message or part, and no gap for them', () => {
    const message = (id: string, texts: readonly string[]) => ({
      ...{ id, type: 'message', content: texts.map((text) => ({ type: 'output_text', text })) },
    })
    const output = [
      { id: 'r', type: 'reasoning', summary: [summaryText('')], content: [] },
      { id: 's', type: 'reasoning', summary: [], encrypted_content: 'sealed' },
      message('a', ['']),
      message('b', ['', 'x', '']),
      { id: 'f', type: 'function_call', name: 'go', arguments: '' },
      message('c', []),
    ]
    const frames = output.flatMap((item, index) => [
      added(item.type === 'message' ? message(item.id, []) : { ...item, summary: [] }, index),
      ...(item.type === 'message'
        ? [event('response.content_part.added', { item_id: item.id, output_index: index, part: { type: 'text' } })]
        : []),
      event('response.output_item.done', { output_index: index, item }),
    ])
    const { bytes, adapter } = reEmit([...frames, ended({ output })], { seals: 'hidden' })
    const items = expectGrammar(bytes, { whole: true })
    expect(items).toMatchObject([
      { type: 'reasoning', summary: [] },
      ...[{ content: [{ text: 'x' }] }, { type: 'function_call', name: 'go' }],
    ])
    expect(items).toHaveLength(3)
    expect(items[0]).not.toHaveProperty('encrypted_content')
    expect(items[1]!.content).toHaveLength(1)
    expect(eventsIn(bytes).flatMap(({ content_index }) => content_index ?? [])).toEqual([0, 0, 0, 0])
    // Sealed data goes back to the provider, even if the client does not see it.
    expect(adapter.storedItems()).toMatchObject([{ encrypted_content: 'in our envelope: sealed' }, ...items.slice(1)])
    expect(lastResponse(reEmit([...frames, ended({ output })]).bytes).output).toMatchObject([
      { type: 'reasoning', summary: [], encrypted_content: 'in our envelope: sealed' },
      ...[{ type: 'message' }, { type: 'function_call' }],
    ])
    const reply = reEmitReply({ status: 'completed', output }, laneOf({ seals: 'hidden' }))
    expect(reply.kind === 'reply' && reply.answer.end(SETTLED, END).state.output).toMatchObject([
      { type: 'reasoning', summary: [] },
      { content: [{ text: 'x' }] },
      { type: 'function_call' },
    ])
  })

  it('sends annotations that come before the text of their part with that text', () => {
    const { bytes } = reEmit([
      added({ id: 'm', type: 'message', content: [] }),
      event('response.content_part.added', { item_id: 'm', output_index: 0, part: { type: 'output_text', text: '' } }),
      event('response.output_text.annotation.added', { item_id: 'm', output_index: 0, annotation: { url: 'u' } }),
      delta('x'),
      ended(),
    ])
    expectGrammar(bytes, { whole: true })
    expect(typesIn(bytes).slice(3, 6)).toEqual([
      ...['content_part.added', 'output_text.annotation.added', 'output_text.delta'],
    ])
  })
})

const CUT = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }

describe('the incomplete item of a re-emitted stream', () => {
  it('is the last item of an incomplete response, although its provider has ended it as completed', () => {
    const call = { id: 'f', type: 'function_call', name: 'go', arguments: '{}', status: 'completed' }
    const message = { id: 'm', type: 'message', content: [{ type: 'output_text', text: 'x' }], status: 'completed' }
    const output = [message, call, { id: 'e', type: 'message', content: [] }]
    const frames = output.map((item, index) => event('response.output_item.done', { output_index: index, item }))
    const { bytes, adapter } = reEmit([...frames, event('response.incomplete', { response: { ...CUT, output } })])
    expect(expectGrammar(bytes, { whole: true })).toMatchObject([{ status: 'completed' }, { status: 'incomplete' }])
    expect(adapter.storedItems()).toEqual(lastResponse(bytes).output)
    const reply = reEmitReply({ ...CUT, output }, laneOf())
    expect(reply.kind === 'reply' && reply.answer.end(SETTLED, END).state.output).toMatchObject([
      { status: 'completed' },
      { type: 'function_call', status: 'incomplete' },
    ])
  })

  it('is a reasoning that is open when the answer breaks off, or that is the last of a response that was cut', () => {
    const broken = reEmit([rawDelta('hm')]).adapter
    expect(broken.openItems('incomplete')).toMatchObject([{ type: 'reasoning', status: 'incomplete' }])
    expect(broken.storedItems()).toEqual(broken.openItems('incomplete'))
    expect(broken.openItems('in_progress')[0]).not.toHaveProperty('status')
    const item = { summary: [], content: [rawText('hm')] }
    for (const frames of [[rawDelta('hm')], [rawDelta('hm'), reasoningEnds({ ...item, status: 'completed' })]]) {
      const { bytes } = reEmit([...frames, event('response.incomplete', { response: CUT })])
      expect(expectGrammar(bytes, { whole: true })).toMatchObject([{ type: 'reasoning', status: 'incomplete' }])
    }
  })

  it('is the last item as long as the answer may turn out to be cut, and when it breaks off', () => {
    const frames = [
      delta('x'),
      event('response.output_item.done', { output_index: 0, item: { id: 'm', type: 'message' } }),
    ]
    const { bytes, adapter } = reEmit(frames)
    expect(typesIn(bytes)).not.toContain('output_item.done')
    expect(adapter.openItems('in_progress')).toMatchObject([{ status: 'in_progress' }])
    expect(adapter.openItems('incomplete')).toMatchObject([{ status: 'incomplete' }])
  })

  it('is no item that another one follows, nor the last of a whole answer, even if its provider says so', () => {
    const item = (id: string) => ({ id, type: 'function_call', name: 'go', arguments: '{}', status: 'incomplete' })
    const frames = ['a', 'b'].map((id, index) =>
      event('response.output_item.done', { output_index: index, item: item(id) }),
    )
    const { bytes } = reEmit([...frames, ended()])
    expect(expectGrammar(bytes, { whole: true }).map(({ status }) => status)).toEqual(['completed', 'completed'])
  })

  it('ends the same when its end is encoded twice, even if it has nothing but a seal', () => {
    const frames = plainFrames()
    const adapter = createReEmitter(frames, laneOf())
    const start = frames.place()
    adapter.read(reasoningEnds({ summary: [], encrypted_content: 'sealed' }))
    adapter.read(ended())
    const first = adapter.end(SETTLED, END).bytes
    frames.rewindTo(start)
    expect(String(adapter.end(SETTLED, END).bytes)).toBe(String(first))
    expect(expectGrammar(first, { whole: true })).toHaveLength(1)
  })
})
