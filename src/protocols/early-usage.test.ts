import { describe, expect, it } from 'vitest'
import { countedIds } from '../../test/fixtures/protocols/mint-ids.ts'
import { anthropicDialect } from './anthropic/dialects.ts'
import { createEventReader as anthropicReader } from './anthropic/read-events.ts'
import { chatDialect } from './chat/dialects.ts'
import { createEventReader as chatReader } from './chat/read-events.ts'
import { ChatTap } from './chat/tap.ts'
import { geminiDialect } from './gemini/dialects.ts'
import { createEventReader as geminiReader } from './gemini/read-events.ts'
import { createItemEventReader } from './responses/read-stream.ts'
import type { StreamState } from './shared/stream-state.ts'

interface Listener {
  readonly state: StreamState
  read(frame: Buffer): unknown
}

const mint = countedIds()
const listeners = {
  'chat, relayed': () =>
    new ChatTap({
      publicModel: 'm',
      dialect: chatDialect('generic'),
      mint,
      request: { model: 'm', choices: 1, functionForm: false, wantsUsage: false },
      now: () => 0,
    }),
  'chat, translated': () => chatReader({ dialect: chatDialect('generic'), origin: 'o', mint }),
  anthropic: () => anthropicReader({ dialect: anthropicDialect('anthropic'), origin: 'o', mint }),
  gemini: () => geminiReader({ dialect: geminiDialect('gemini'), origin: 'o', mint }),
  responses: () => createItemEventReader('o'),
} satisfies Record<string, () => Listener>

const frame = (value: { readonly type?: string }) =>
  Buffer.from(`${value.type ? `event: ${value.type}\n` : ''}data: ${JSON.stringify(value)}\n\n`)

/** After each of these frames: whether the usage that was told counts the whole answer, and its output. */
function receivedBy(listener: Listener, frames: readonly object[]) {
  return frames.map((value) => {
    listener.read(frame(value))
    return [listener.state.usageIsFinal, listener.state.usage?.output]
  })
}

const usage = (completion: number) => ({ prompt_tokens: 20, completion_tokens: completion })
const chat = (delta: object, finish: string | null, delivered?: number) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...(delivered === undefined ? {} : { usage: usage(delivered) }),
})
const words = { content: 'word '.repeat(20) }

describe.each(['chat, relayed', 'chat, translated'] as const)('%s', (name) => {
  const state = (...frames: object[]) => receivedBy(listeners[name](), frames)

  it('takes a usage that comes before the content for a lower bound, to the end', () => {
    const frames = [chat({ role: 'assistant' }, null, 0), chat(words, null), chat({}, 'stop')]
    expect(state(...frames)).toEqual([
      [false, 0],
      [false, 0],
      [false, 0],
    ])
  })

  it('believes the last of a usage that grows with every chunk', () => {
    const frames = [chat({ role: 'assistant' }, null, 0), chat(words, null, 25), chat({}, 'stop', 26)]
    expect(state(...frames)).toEqual([
      [false, 0],
      [false, 25],
      [true, 26],
    ])
  })

  it('believes the last of a growing usage where the chunk with the finish reason has none', () => {
    expect(state(chat(words, null, 25), chat({}, 'stop')).at(-1)).toEqual([true, 25])
    expect(state(chat(words, null, 25), chat(words, 'stop')).at(-1), 'more words came').toEqual([false, 25])
    expect(state(chat(words, null, 0), chat({}, 'stop')).at(-1), 'no words were counted').toEqual([false, 0])
  })

  it('believes a zero that is reported behind the finish', () => {
    const last = { ...chat({}, null), choices: [], usage: usage(0) }
    expect(state(chat(words, null), chat({}, 'stop'), last).at(-1)).toEqual([true, 0])
  })
})

it('a relay waits for the finish of every choice', () => {
  const options = {
    publicModel: 'm',
    dialect: chatDialect('generic'),
    mint,
    request: { model: 'm', choices: 2, functionForm: false, wantsUsage: false },
    now: () => 0,
  }
  const second = { ...chat({}, 'stop', 90), choices: [{ index: 1, delta: {}, finish_reason: 'stop' }] }
  const other = { ...chat(words, null), choices: [{ index: 1, delta: words, finish_reason: null }] }
  const frames = [chat(words, null), chat({}, 'stop', 40), other, second]
  expect(receivedBy(new ChatTap(options), frames).map(([isFinal]) => isFinal)).toEqual([false, false, false, true])
})

it('anthropic: the usage of a message_delta is final with its stop_reason', () => {
  const delta = (stop: string | null, output: number) => ({
    type: 'message_delta',
    delta: { stop_reason: stop },
    usage: { output_tokens: output },
  })
  const frames = [
    { type: 'message_start', message: { usage: { input_tokens: 20, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    delta(null, 3),
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words.content } },
    { type: 'content_block_stop', index: 0 },
    delta('end_turn', 25),
  ]
  expect(receivedBy(listeners.anthropic(), frames).slice(2)).toEqual([
    [false, 3],
    [false, 3],
    [false, 3],
    [true, 25],
  ])
})

it('gemini: the usage of a chunk is final with its finishReason', () => {
  const chunk = (candidates: number, finishReason?: string) => ({
    candidates: [{ content: { parts: [{ text: words.content }] }, finishReason }],
    usageMetadata: { promptTokenCount: 20, candidatesTokenCount: candidates },
  })
  expect(receivedBy(listeners.gemini(), [chunk(1), chunk(50, 'STOP')])).toEqual([
    [false, 1],
    [true, 50],
  ])
})

it.each(['completed', 'incomplete', 'failed'])('responses: the usage of response.%s is final', (status) => {
  const counts = { input_tokens: 20, output_tokens: 25, total_tokens: 45 }
  const early = {
    type: 'response.in_progress',
    response: { status: 'in_progress', usage: { ...counts, output_tokens: 0 } },
  }
  const last = { type: `response.${status}`, response: { status, output: [], usage: counts } }
  const state = receivedBy(listeners.responses(), [early, last])
  expect(state).toEqual([
    [false, undefined],
    [true, 25],
  ])
})
