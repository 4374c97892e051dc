import OpenAI, { APIError } from 'openai'
import { describe, expect, it } from 'vitest'
import type { TurnEvent } from '../../src/model/event.ts'
import { problem } from '../../src/model/problem.ts'
import { encodeAll, eventReader, frameOf, openEncoder, settledCharge } from '../fixtures/protocols/responses/encoder.ts'

/** The client as anybody would make it, but that its answer is already there. */
const clientThatGets = (stream: string): OpenAI =>
  new OpenAI({
    apiKey: 'unused',
    maxRetries: 0,
    fetch: async () => new Response(stream, { headers: { 'content-type': 'text/event-stream' } }),
  })

const QUESTION = { model: 'mill-1', input: 'Hi' }
const finalOf = (stream: string) => clientThatGets(stream).responses.stream(QUESTION).finalResponse()

const thought: TurnEvent[] = [
  { type: 'reasoning-start' },
  { type: 'reasoning-delta', text: 'Let me ' },
  { type: 'reasoning-delta', text: 'think.' },
]
const text = (words: string): TurnEvent => ({ type: 'text-delta', text: words })
const callStart = (call: number, tool: 'function' | 'custom'): TurnEvent => ({
  type: 'tool-call-start',
  call,
  callId: `call_${call}`,
  name: 'look',
  namespace: undefined,
  tool,
})
const calls: TurnEvent[] = [
  callStart(0, 'function'),
  callStart(1, 'custom'),
  { type: 'tool-call-delta', call: 1, text: 'free' },
  { type: 'tool-call-delta', call: 0, text: '{"city":"Oslo"}' },
  { type: 'tool-call-end', call: 0 },
  { type: 'tool-call-end', call: 1 },
]

describe('the openai client puts together', () => {
  it.each([
    ['raw reasoning', {}],
    ['a summary', { reasoning: { summary: 'auto' } }],
  ])('the same answer from the deltas as from the end: %s', async (_name, fields) => {
    const end: TurnEvent = { type: 'turn-end', reason: 'tool-calls' }
    const events = [...thought, text('Hel'), text('lo'), { type: 'refusal-delta', text: 'No' } as const, ...calls]
    const stream = encodeAll(openEncoder({ fields }), ...[...events, end].map((event) => [event]))
    const snapshots: unknown[] = []
    const running = clientThatGets(stream).responses.stream(QUESTION)
    running.on('event', () => snapshots.push(null))
    const final = await running.finalResponse()
    expect(final.output_text).toBe('Hello')
    expect(final.output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call', 'custom_tool_call'])
    expect(snapshots.length).toBeGreaterThan(20)
  })

  it('an answer with silences, between items too', async () => {
    const encoder = openEncoder()
    const opened = `${encoder.keepAlive()}${encoder.keepAlive()}`
    const adapter = encoder.translate(eventReader())
    const emitted = [[text('Hel')], [text('lo')], calls, [{ type: 'turn-end', reason: 'tool-calls' } as const]].map(
      (events) => `${adapter.read(frameOf(...events)).bytes}${encoder.keepAlive()}`,
    )
    const final = await finalOf(opened + emitted.join('') + adapter.close(settledCharge()))
    expect([final.status, final.output_text, final.output.length]).toEqual(['completed', 'Hello', 3])
  })

  it('an answer without items, as a whole one', async () => {
    const final = await finalOf(encodeAll(openEncoder(), [{ type: 'turn-end', reason: 'stop' }]))
    expect([final.status, final.output_text, final.output]).toEqual(['completed', '', []])
  })

  it('an answer that was cut', async () => {
    const final = await finalOf(encodeAll(openEncoder(), [text('Hel'), { type: 'turn-end', reason: 'length' }]))
    expect([final.status, final.output_text]).toEqual(['incomplete', 'Hel'])
  })
})

describe('the openai client throws on a failure', () => {
  const failing = (): string => {
    const encoder = openEncoder()
    const emitted = encoder.translate(eventReader()).read(frameOf(text('Hel'))).bytes
    return `${emitted}${encoder.fail(problem('upstream_error', 'It broke.'))}`
  }

  it('with its helper', async () => {
    const failed = await finalOf(failing()).catch((error: unknown) => error)
    expect(failed).toMatchObject({ code: 'upstream_error' })
  })

  it('and without it, event by event', async () => {
    const events = await clientThatGets(failing()).responses.create({ ...QUESTION, stream: true })
    const types: string[] = []
    const failed = await (async () => {
      for await (const { type } of events) types.push(type)
    })().catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(APIError)
    expect(failed).toMatchObject({ code: 'upstream_error', type: 'server_error' })
    expect(types).toContain('response.output_text.delta')
  })
})
