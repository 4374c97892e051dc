import { expect, it } from 'vitest'
import type { TurnEvent } from '../../model/event.ts'
import { ChunkWriter } from './write-events.ts'

const STAMP = { id: 'chatcmpl-1', created: 7, model: 'public' }
const text = (emitted: string): TurnEvent => ({ type: 'text-delta', text: emitted })
const start = (number: number, tool: 'function' | 'custom' = 'function'): TurnEvent => ({
  type: 'tool-call-start',
  call: number,
  callId: `call_${number}`,
  name: 'look',
  namespace: undefined,
  tool,
})

/** The frames of each writing, parsed. */
function writings(...events: (readonly TurnEvent[])[]) {
  const writer = new ChunkWriter(STAMP)
  return events.map((each) => {
    const bytes = writer.write(each)
    if (bytes === undefined) return undefined
    const frames = String(bytes).split('\n\n')
    expect(frames.pop()).toBe('')
    return frames.map((frame) => JSON.parse(frame.replace(/^data: /, '')))
  })
}

const choicesOf = (...events: TurnEvent[]) => writings(events)[0]?.map((chunk) => chunk.choices[0])
const deltasOf = (...events: TurnEvent[]) => choicesOf(...events)?.map((choice) => choice.delta)
const ROLE = { role: 'assistant', content: '', refusal: null }

it('the role comes with the first content, and every chunk is of one answer', () => {
  const [silent, first, second] = writings([{ type: 'message-start', phase: undefined }], [text('a')], [text('b')])
  expect(silent).toBeUndefined()
  expect(first).toEqual([
    {
      ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 7, model: 'public' },
      choices: [{ index: 0, delta: ROLE, logprobs: null, finish_reason: null }],
      usage: null,
    },
    expect.objectContaining({ choices: [{ index: 0, delta: { content: 'a' }, logprobs: null, finish_reason: null }] }),
  ])
  expect(second).toMatchObject([{ id: 'chatcmpl-1', created: 7, choices: [{ delta: { content: 'b' } }] }])
})

it('several messages are one, with an empty line between them, refusals apart', () => {
  const apart: TurnEvent = { type: 'message-start', phase: 'final_answer' }
  const no: TurnEvent = { type: 'refusal-delta', text: 'no' }
  expect(deltasOf(apart, text('a'), text('b'), apart, apart, no, text('c'), text('d'))?.slice(1)).toEqual([
    ...[{ content: 'a' }, { content: 'b' }, { refusal: 'no' }, { content: '\n\nc' }, { content: 'd' }],
  ])
})

it('text that goes on behind a call is a new message', () => {
  const deltas = deltasOf(text('a'), start(0), text('b'))
  expect(deltas?.at(-1)).toEqual({ content: '\n\nb' })
})

it('reasoning and summaries are reasoning_content, their parts apart by an empty line', () => {
  expect(
    deltasOf(
      { type: 'reasoning-start' },
      { type: 'summary-start' },
      { type: 'summary-delta', text: 'a' },
      { type: 'summary-delta', text: 'b' },
      { type: 'summary-start' },
      { type: 'summary-delta', text: 'c' },
      { type: 'reasoning-seal', opaque: { wire: 'responses', origin: 'lane', data: 'x' } },
      { type: 'reasoning-start' },
      { type: 'reasoning-delta', text: 'd' },
    )?.slice(1),
  ).toEqual([
    { reasoning_content: 'a' },
    { reasoning_content: 'b' },
    { reasoning_content: '\n\nc' },
    { reasoning_content: '\n\nd' },
  ])
})

it('calls are counted from zero, functions and custom tools each in their shape', () => {
  expect(
    deltasOf(
      text('x'),
      start(0),
      { type: 'tool-call-delta', call: 0, text: '{' },
      start(1, 'custom'),
      { type: 'tool-call-delta', call: 1, text: 'in' },
      { type: 'tool-call-delta', call: 0, text: '}' },
      { type: 'tool-call-delta', call: 0, text: '' },
      { type: 'tool-call-end', call: 0 },
    )?.slice(2),
  ).toEqual([
    { tool_calls: [{ index: 0, id: 'call_0', type: 'function', function: { name: 'look', arguments: '' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{' } }] },
    { tool_calls: [{ index: 1, id: 'call_1', type: 'custom', custom: { name: 'look', input: '' } }] },
    { tool_calls: [{ index: 1, custom: { input: 'in' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '}' } }] },
  ])
})

it('an answer that begins with a call has null for content', () => {
  expect(deltasOf(start(0))?.[0]).toEqual({ ...ROLE, content: null })
})

it('the finish chunk has the finish reason of chat', () => {
  const reasons = {
    stop: 'stop',
    length: 'length',
    'tool-calls': 'tool_calls',
    'content-filter': 'content_filter',
  } as const
  for (const [reason, word] of Object.entries(reasons)) {
    const choices = choicesOf(text('a'), { type: 'turn-end', reason: reason as keyof typeof reasons })
    expect(choices?.at(-1)).toEqual({ index: 0, delta: {}, logprobs: null, finish_reason: word })
  }
  expect(deltasOf({ type: 'turn-end', reason: 'length' })).toEqual([ROLE, {}])
})

it('probabilities stand beside their text', () => {
  const top = [{ token: 'z', logprob: -2, bytes: undefined }]
  const choices = choicesOf({ ...text('a'), logprobs: [{ token: 'a', logprob: -1, bytes: [97], top }] } as TurnEvent)
  expect(choices?.at(-1).logprobs).toEqual({
    content: [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [{ token: 'z', logprob: -2, bytes: null }] }],
    refusal: null,
  })
})

it('empty pieces, ends of calls and counts are nothing', () => {
  const usage = { uncachedInput: 1, cachedInput: 0, cacheWrite: 0, output: 1, reasoning: 0 }
  expect(writings([text(''), { type: 'reasoning-delta', text: '' }, { type: 'usage', usage }])).toEqual([undefined])
})
