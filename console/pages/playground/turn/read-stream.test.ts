import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createServerEventReader } from '../../../lib/read-server-events.ts'
import { readChatEvent } from './chat.ts'
import { type Answer, NO_ANSWER } from './conversation.ts'
import { readResponsesEvent } from './responses.ts'

type ReadEvent = typeof readChatEvent

const CHARGE = { charge: '0.0000105', currency: 'USD', tier: 0, price_version: 1 }
const frame = (value: object | string) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`
const chat = (delta: object, finish: string | null = null) =>
  frame({ choices: [{ index: 0, delta, finish_reason: finish }] })

function readAll(readEvent: ReadEvent, text: string, sizes: readonly number[] = []): Answer {
  const reader = createServerEventReader()
  let [answer, at] = [NO_ANSWER, 0]
  const bytes = new TextEncoder().encode(text)
  for (const size of [...sizes, bytes.length]) {
    for (const event of reader.read(bytes.subarray(at, at + size))) answer = readEvent(answer, event)
    at += size
  }
  return answer
}

const CHAT_STREAM = [
  ': keep-alive\n\n',
  chat({ role: 'assistant', reasoning_content: 'Hm' }),
  chat({ reasoning_content: ' …' }),
  chat({ content: 'Grüß' }),
  chat({ content: ' Gott' }),
  chat({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{"x"' } }] }),
  chat({ tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '' } }] }),
  chat({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
  chat({}, 'tool_calls'),
  frame({
    choices: [],
    usage: {
      prompt_tokens: 9,
      completion_tokens: 24,
      prompt_tokens_details: { cached_tokens: 3 },
      completion_tokens_details: { reasoning_tokens: 5 },
      millrace: CHARGE,
    },
  }),
  frame('[DONE]'),
].join('')

const USAGE = { input: 9, cached: 3, output: 24, reasoning: 5, charge: '0.0000105', estimated: false }

describe('a Chat stream', () => {
  it('yields reasoning, text, calls, usage and the finish reason', () => {
    expect(readAll(readChatEvent, CHAT_STREAM)).toEqual({
      text: 'Grüß Gott',
      reasoning: 'Hm …',
      calls: [
        { id: 'a', name: 'f', arguments: '{"x":1}' },
        { id: 'b', name: 'g', arguments: '' },
      ],
      items: undefined,
      usage: USAGE,
      finish: 'tool_calls',
      failure: undefined,
      ended: true,
    })
  })

  it('yields the same answer for any chunks', () => {
    const whole = readAll(readChatEvent, CHAT_STREAM)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 40 }), (sizes) => {
        expect(readAll(readChatEvent, CHAT_STREAM, sizes)).toEqual(whole)
      }),
    )
  })

  it('yields the failure and no end', () => {
    const broken = chat({ content: 'So' }) + frame({ error: { code: 'upstream_error', message: 'broke off' } })
    const { text, failure, ended } = readAll(readChatEvent, broken)
    expect({ text, failure, ended }).toEqual({
      text: 'So',
      failure: { code: 'upstream_error', message: 'broke off' },
      ended: false,
    })
  })
})

const OUTPUT = [
  { type: 'reasoning', id: 'rs_1', encrypted_content: 'sealed', summary: [] },
  { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'f', arguments: '{"x":1}' },
]
const RESPONSES_STREAM = [
  frame({ type: 'response.created', response: { id: 'resp_1' } }),
  frame({ type: 'response.reasoning_summary_text.delta', delta: 'Hm' }),
  frame({ type: 'response.output_text.delta', delta: 'Grüß' }),
  frame({ type: 'response.output_text.delta', delta: ' Gott' }),
  frame({
    type: 'response.output_item.added',
    item: { type: 'function_call', call_id: 'a', name: 'f', arguments: '' },
  }),
  frame({ type: 'response.function_call_arguments.delta', delta: '{"x"' }),
  frame({ type: 'response.output_item.done', item: OUTPUT[1] as object }),
  frame({
    type: 'response.completed',
    response: {
      status: 'completed',
      output: OUTPUT,
      usage: {
        input_tokens: 9,
        output_tokens: 24,
        input_tokens_details: { cached_tokens: 3 },
        output_tokens_details: { reasoning_tokens: 5 },
        millrace: CHARGE,
      },
    },
  }),
  frame('[DONE]'),
].join('')

describe('a Responses stream', () => {
  it('yields reasoning, text, calls, items and usage', () => {
    expect(readAll(readResponsesEvent, RESPONSES_STREAM)).toEqual({
      text: 'Grüß Gott',
      reasoning: 'Hm',
      calls: [{ id: 'a', name: 'f', arguments: '{"x":1}' }],
      items: OUTPUT,
      usage: USAGE,
      finish: 'completed',
      failure: undefined,
      ended: true,
    })
  })

  it('reports an answer that hit its output limit', () => {
    const response = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] }
    expect(readAll(readResponsesEvent, frame({ type: 'response.incomplete', response }))).toMatchObject({
      finish: 'max_output_tokens',
      ended: true,
    })
  })

  it('keeps the first failure', () => {
    const broken =
      frame({ type: 'error', code: 'upstream_error', message: 'broke off' }) +
      frame({ type: 'response.failed', response: { error: { code: 'server_error', message: 'x' } } }) +
      frame('[DONE]')
    expect(readAll(readResponsesEvent, broken)).toMatchObject({
      failure: { code: 'upstream_error', message: 'broke off' },
      ended: false,
    })
  })
})

it('an invalid charge is ignored', () => {
  const usage = { prompt_tokens: 1, completion_tokens: 1, millrace: { charge: 'NaN' } }
  expect(readAll(readChatEvent, frame({ choices: [], usage })).usage?.charge).toBe(null)
})
