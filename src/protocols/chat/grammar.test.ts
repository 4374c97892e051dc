import { describe, expect, it } from 'vitest'
import { frame, readerOf, requestOf, SETTLED } from '../../../test/fixtures/protocols/chat/translate.ts'
import { countedIds } from '../../../test/fixtures/protocols/mint-ids.ts'
import { readChatStream } from '../../../test/support/chat-grammar.ts'
import type { TurnEvent } from '../../model/event.ts'
import { problem } from '../../model/problem.ts'
import { createChatEncoder } from './encoder.ts'

/** An answer with something of each kind. */
const ANSWER: TurnEvent[] = [
  { type: 'summary-delta', text: 'Plan' },
  { type: 'text-delta', text: 'Hel', logprobs: [{ token: 'Hel', logprob: -1, bytes: undefined, top: [] }] },
  { type: 'refusal-delta', text: 'No' },
  { type: 'tool-call-start', call: 0, callId: 'call_a', name: 'look', namespace: undefined, tool: 'function' },
  { type: 'tool-call-start', call: 1, callId: 'call_b', name: 'patch', namespace: undefined, tool: 'custom' },
  { type: 'tool-call-delta', call: 1, text: 'x' },
  { type: 'tool-call-delta', call: 0, text: '{}' },
  { type: 'turn-end', reason: 'tool-calls' },
]

const encoderFor = (usage: boolean) =>
  createChatEncoder({
    request: requestOf({
      messages: [{ role: 'user', content: 'q' }],
      stream: true,
      stream_options: { include_usage: usage },
    }),
    ...{ model: 'mill-1', requestId: 'req_1', mint: countedIds(), now: () => 1_800_000_000_000 },
  })

function whole(usage: boolean): string {
  const adapter = encoderFor(usage).translate(readerOf([ANSWER]))
  return `${adapter.read(frame({})).bytes}${adapter.close(SETTLED)}`
}

function failed(): string {
  const encoder = encoderFor(true)
  const { bytes } = encoder.translate(readerOf([ANSWER.slice(0, 6)])).read(frame({}))
  return `${bytes}${encoder.fail(problem('upstream_error', 'It broke.'))}`
}

const STREAMS = { counted: whole(true), uncounted: whole(false), failed: failed() }
const usageOf = (name: string) => ({ usage: name !== 'uncounted' })
const framesOf = (stream: string): string[] => stream.split('\n\n').slice(0, -1)
const streamOf = (frames: readonly string[]): string => frames.map((each) => `${each}\n\n`).join('')

describe.each(Object.entries(STREAMS))('a stream that is %s', (name, stream) => {
  const frames = framesOf(stream)
  const noticed = (changed: readonly string[]) => typeof readChatStream(streamOf(changed), usageOf(name)) === 'string'

  it('follows the grammar, and has the content of the events', () => {
    expect(readChatStream(stream, usageOf(name))).toMatchObject({
      ...{ content: 'Hel', refusal: 'No', reasoning: 'Plan', tokens: ['Hel'] },
      calls: [
        { tool: 'function', name: 'look', words: name === 'failed' ? '' : '{}' },
        { tool: 'custom', name: 'patch', words: 'x' },
      ],
      finish: name === 'failed' ? undefined : 'tool_calls',
    })
    expect(readChatStream(`: keep-alive\n\n${stream}`, usageOf(name))).toBeTypeOf('object')
  })

  it('must not lack what frames it, nor say it twice', () => {
    // Single words are not compared here.
    const isWord = (each: string) =>
      /"delta":\{"(content|refusal|reasoning_content)"|"index":\d,"(function|custom)"/.test(each)
    const unnoticed = frames.flatMap((each, at) => {
      if (isWord(each)) return []
      return [
        ...(noticed(frames.toSpliced(at, 1)) ? [] : [`without ${each}`]),
        ...(noticed(frames.toSpliced(at, 0, each)) ? [] : [`twice ${each}`]),
      ]
    })
    expect(unnoticed).toEqual([])
  })

  it('must keep its beginning and its end in place', () => {
    const [first, ...rest] = frames
    expect(noticed([...rest, first!])).toBe(true)
    expect(noticed([frames.at(-1)!, ...frames.slice(0, -1)])).toBe(true)
  })
})

it.each([
  ['"index":0,"id"', '"index":2,"id"'],
  ['"id":"call_b"', '"id":"call_a"'],
  ['"usage":null', '"usage":{}'],
  ['"finish_reason":"tool_calls"', '"finish_reason":"stop"'],
  ['"finish_reason":"tool_calls"', '"finish_reason":"end"'],
  ['"choices":[{"index":0', '"choices":[{"index":1'],
  ['"model":"mill-1","choices":[]', '"model":"other","choices":[]'],
  ['"role":"assistant",', ''],
])('%s must not be %s', (right, wrong) => {
  expect(STREAMS.counted).toContain(right)
  expect(readChatStream(STREAMS.counted.replace(right, wrong), { usage: true })).toBeTypeOf('string')
})
