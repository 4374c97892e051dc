import { expect, it } from 'vitest'
import { readerOf, requestOf, SETTLED } from '../../../test/fixtures/protocols/chat/translate.ts'
import { encodedBytes } from '../../../test/fixtures/protocols/encoded-bytes.ts'
import { countedIds } from '../../../test/fixtures/protocols/mint-ids.ts'
import type { TurnEvent } from '../../model/event.ts'
import { problem } from '../../model/problem.ts'
import { createChatEncoder } from './encoder.ts'

const MESSAGES = [{ role: 'user', content: 'q' }]
const FRAME = Buffer.alloc(0)
const EVENTS: TurnEvent[][] = [
  [{ type: 'reasoning-start' }],
  [{ type: 'summary-start' }, { type: 'summary-delta', text: 'Plan' }],
  [{ type: 'summary-start' }, { type: 'summary-delta', text: 'Do' }],
  [
    { type: 'message-start', phase: 'commentary' },
    { type: 'text-delta', text: 'Look' },
  ],
  [{ type: 'text-delta', text: 'ing', logprobs: [{ token: 'ing', logprob: -1, bytes: undefined, top: [] }] }],
  [
    { type: 'message-start', phase: 'final_answer' },
    { type: 'text-delta', text: 'Now.' },
  ],
  [{ type: 'tool-call-start', call: 0, callId: 'c0', name: 'look', namespace: undefined, tool: 'function' }],
  [{ type: 'tool-call-delta', call: 0, text: '{"a":' }],
  [
    { type: 'tool-call-delta', call: 0, text: '1}' },
    { type: 'tool-call-end', call: 0 },
  ],
  [
    { type: 'tool-call-start', call: 1, callId: 'c1', name: 'patch', namespace: undefined, tool: 'custom' },
    { type: 'tool-call-delta', call: 1, text: '***' },
    { type: 'tool-call-end', call: 1 },
    { type: 'turn-end', reason: 'tool-calls' },
  ],
]
const USAGE = {
  ...{ prompt_tokens: 4, completion_tokens: 5, total_tokens: 9 },
  prompt_tokens_details: { cached_tokens: 1, cache_write_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 2 },
  millrace: { charge: '0.000001', currency: 'USD', tier: 0, price_version: 7 },
}

function encoderFor(body: object) {
  const mint = countedIds()
  const request = requestOf({ messages: MESSAGES, ...body })
  return createChatEncoder({ request, model: 'public', requestId: 'req_1', mint, now: () => 7999 })
}

function carry(body: object) {
  const adapter = encoderFor(body).translate(readerOf(EVENTS))
  const encoded = EVENTS.map(() => adapter.read(FRAME))
  const emitted = Buffer.concat(encoded.map(({ bytes }) => encodedBytes(bytes)))
  return { encoded, emitted: String(emitted), closing: String(adapter.close(SETTLED)) }
}

const chunksIn = (frames: string) =>
  frames
    .split('\n\n')
    .filter((each) => each !== '' && each !== 'data: [DONE]')
    .map((each) => JSON.parse(each.slice(6)))

it('a stream marks content, and closes with the usage where the client requested it', () => {
  const { encoded, closing } = carry({ stream: true, stream_options: { include_usage: true } })
  expect(encoded.map(({ isContent }) => isContent)).toEqual([false, ...EVENTS.slice(1).map(() => true)])
  expect(encoded[0]?.bytes).toBeUndefined()
  expect(closing.endsWith('data: [DONE]\n\n')).toBe(true)
  expect(chunksIn(closing)).toEqual([
    {
      ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 7, model: 'public' },
      choices: [],
      usage: USAGE,
    },
  ])
  expect(carry({ stream: true }).closing).toBe('data: [DONE]\n\n')
})

it('an end without text is not content', () => {
  const adapter = encoderFor({ stream: true }).translate(readerOf([[{ type: 'turn-end', reason: 'length' }]]))
  const encoded = adapter.read(FRAME)
  expect(encoded.isContent).toBe(false)
  expect(chunksIn(String(encoded.bytes)).at(-1).choices[0].finish_reason).toBe('length')
})

it('a JSON answer is written as a whole, when its charge is known', () => {
  const { encoded, closing } = carry({})
  expect(encoded).toEqual(EVENTS.map(() => ({ bytes: undefined, isContent: false })))
  expect(JSON.parse(closing)).toEqual({
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 7, model: 'public' },
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Looking\n\nNow.',
          refusal: null,
          reasoning_content: 'Plan\n\nDo',
          tool_calls: [
            { id: 'c0', type: 'function', function: { name: 'look', arguments: '{"a":1}' } },
            { id: 'c1', type: 'custom', custom: { name: 'patch', input: '***' } },
          ],
        },
        logprobs: { content: [{ token: 'ing', logprob: -1, bytes: null, top_logprobs: [] }], refusal: null },
        finish_reason: 'tool_calls',
      },
    ],
    usage: USAGE,
  })
})

it('a stream and a JSON answer have the same text', () => {
  const deltas = chunksIn(carry({ stream: true }).emitted).map((chunk) => chunk.choices[0].delta)
  const { message } = JSON.parse(carry({}).closing).choices[0]
  const joined = (slot: string) => deltas.map((delta) => delta[slot] ?? '').join('')
  expect(joined('content')).toBe(message.content)
  expect(joined('reasoning_content')).toBe(message.reasoning_content)
})

it('no calls and no reasoning leave no empty member behind, and a refusal alone is no text', () => {
  const of = (...events: TurnEvent[]) => {
    const adapter = encoderFor({}).translate(readerOf([events]))
    adapter.read(FRAME)
    return JSON.parse(String(adapter.close(SETTLED))).choices[0]
  }
  expect(of({ type: 'turn-end', reason: 'stop' })).toEqual({
    index: 0,
    message: { role: 'assistant', content: '', refusal: null },
    logprobs: null,
    finish_reason: 'stop',
  })
  expect(of({ type: 'refusal-delta', text: 'no' }).message).toEqual({ role: 'assistant', content: null, refusal: 'no' })
})

it('an answer keeps its id and time after a fallback to another lane', () => {
  const encoder = encoderFor({ stream: true })
  const first = encoder.translate(readerOf([[{ type: 'message-start', phase: undefined }]]))
  expect(first.read(FRAME).bytes).toBeUndefined()
  const second = encoder.translate(readerOf([[{ type: 'text-delta', text: 'a' }]]))
  const [role, words] = chunksIn(String(second.read(FRAME).bytes))
  expect([role.id, words.id, role.choices[0].delta.role]).toEqual(['chatcmpl-1', 'chatcmpl-1', 'assistant'])
})

it('a comment is its keep-alive, and a failure is an error frame without `[DONE]`', () => {
  const encoder = encoderFor({ stream: true })
  expect(encoder.keepAlive()).toBeUndefined()
  const emitted = String(encoder.fail(problem('upstream_error', 'It broke.')))
  expect(JSON.parse(emitted.slice(6))).toMatchObject({ error: { message: 'It broke.', request_id: 'req_1' } })
  expect(emitted).not.toContain('[DONE]')
})
