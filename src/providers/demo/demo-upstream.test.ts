import { describe, expect, it } from 'vitest'
import { Stopper, type StopSignal } from '../../lib/async.ts'
import { systemClock } from '../../lib/clock.ts'
import { secureRandom } from '../../lib/random-id.ts'
import type { UpstreamBody } from '../upstream-answer.ts'
import type { DemoReply } from './compose-reply.ts'
import { createDemoUpstream, demoChunks, pacedBody } from './demo-upstream.ts'

const demo = createDemoUpstream({ clock: systemClock, random: secureRandom })

async function ask(over: object, signal: StopSignal = new Stopper()) {
  const request = {
    model: 'demo-fast',
    max_completion_tokens: 4096,
    messages: [{ role: 'user', content: 'Hello' }],
    ...over,
  }
  const outcome = await demo.answer(Buffer.from(JSON.stringify(request)), signal)
  if (outcome.kind !== 'answer') throw new Error(outcome.reason)
  return outcome
}

async function wholeOf(body: UpstreamBody): Promise<string> {
  const parts: Buffer[] = []
  for (let chunks = await body.read(); chunks.length > 0; chunks = await body.read()) parts.push(...chunks)
  return Buffer.concat(parts).toString()
}

const jsonOf = async (over: object) => JSON.parse(await wholeOf((await ask(over)).body))

async function streamOf(over: object) {
  const text = await wholeOf((await ask({ ...over, stream: true })).body)
  const frames = text.split('\n\n').filter((frame) => frame !== '')
  expect(frames.at(-1)).toBe('data: [DONE]')
  const chunks = frames.slice(0, -1).map((frame) => JSON.parse(frame.slice('data: '.length)))
  const deltas = chunks.flatMap((chunk) => chunk.choices).map((choice) => choice.delta)
  return {
    text: deltas.map((delta) => delta.content ?? '').join(''),
    reasoning: deltas.map((delta) => delta.reasoning_content ?? '').join(''),
    finish: chunks.flatMap((chunk) => chunk.choices).at(-1)?.finish_reason,
    usage: chunks.at(-1)?.usage,
  }
}

describe('the demo', () => {
  it('gives the same answer and usage as stream and JSON', async () => {
    const question = { messages: [{ role: 'user', content: 'Hello there' }], reasoning_effort: 'low' }
    const [json, stream] = [await jsonOf(question), await streamOf(question)]
    expect(stream.text).toBe(json.choices[0].message.content)
    expect(stream.reasoning).toBe(json.choices[0].message.reasoning_content)
    expect(stream.usage).toEqual(json.usage)
    expect(stream.text).toContain('Hello there')
    expect(stream.text).toContain('demo')
  })

  it('reasons more with more effort, and counts it', async () => {
    const tokens = async (effort: string | undefined) =>
      (await streamOf({ reasoning_effort: effort })).usage.completion_tokens_details.reasoning_tokens
    expect(await tokens(undefined)).toBe(0)
    expect(await tokens('high')).toBeGreaterThan(await tokens('low'))
  })

  it('stays within its output cap', async () => {
    const cut = await streamOf({ max_completion_tokens: 3, messages: [{ role: 'user', content: 'count to 100' }] })
    expect(cut).toMatchObject({ text: '1 2 3', finish: 'length', usage: { completion_tokens: 3 } })
    const thought = await streamOf({ max_completion_tokens: 5, reasoning_effort: 'high' })
    expect(thought).toMatchObject({ text: '', finish: 'length', usage: { completion_tokens: 5 } })
  })

  it('stops before a stop sequence', async () => {
    expect(await streamOf({ messages: [{ role: 'user', content: 'count to 9' }], stop: ['5'] })).toMatchObject({
      text: '1 2 3 4 ',
      finish: 'stop',
    })
  })

  it('calls a tool that is forced or named, and answers after its result', async () => {
    const tools = [
      {
        type: 'function',
        function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
      },
    ]
    const asked = await jsonOf({ tools, messages: [{ role: 'user', content: 'Use get_weather please' }] })
    expect(asked.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: null,
        tool_calls: [{ type: 'function', function: { name: 'get_weather', arguments: '{"city":"demo"}' } }],
      },
    })
    const delivered = await jsonOf({ tools, messages: [{ role: 'tool', content: 'rain', tool_call_id: 'x' }] })
    expect(delivered.choices[0].message.content).toContain('rain')
    expect((await jsonOf({ tools, tool_choice: 'required' })).choices[0].finish_reason).toBe('tool_calls')
    expect(
      (await jsonOf({ tools, tool_choice: 'none', messages: [{ role: 'user', content: 'get_weather' }] })).choices[0]
        .finish_reason,
    ).toBe('stop')
  })

  const named = (...names: string[]) =>
    names.map((name) => ({
      type: 'function',
      function: { name, parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
    }))
  const TOOLS = named('searchFlights', 'get_weather', 'get_weather_alerts', 'get_time')

  it.each([
    ['What is the weather in Oslo?', 'get_weather', 'Oslo'],
    ['Are there weather alerts for New York today', 'get_weather_alerts', 'New York'],
    ['find me a flight to "Bergen"', 'searchFlights', 'Bergen'],
    ['what time is it', 'get_time', 'demo'],
    ['GET_TIME', 'get_time', 'demo'],
    ['Say hello', undefined, undefined],
    ['get it for me with this tool', undefined, undefined],
  ])('calls the tool that a question names: %s', async (content, name, city) => {
    const { choices } = await jsonOf({ tools: TOOLS, messages: [{ role: 'user', content }] })
    const [call] = choices[0].message.tool_calls ?? []
    expect([call?.function.name, call && JSON.parse(call.function.arguments)]).toEqual([name, city && { city }])
  })

  it('with tool_choice required calls the named tool, else the first, and still ends loops', async () => {
    const called = async (tool_choice: unknown, messages: object[]) =>
      (await jsonOf({ tools: TOOLS, tool_choice, messages })).choices[0].message.tool_calls?.[0].function.name
    const user = { role: 'user', content: 'And the time?' }
    expect(await called('required', [user])).toBe('get_time')
    expect(await called('required', [{ role: 'user', content: 'Hello' }])).toBe('searchFlights')
    expect(await called({ type: 'function', function: { name: 'get_weather' } }, [user])).toBe('get_weather')
    const result = { role: 'tool', tool_call_id: 'x', content: 'noon' }
    expect(await called('required', [user, result])).toBeUndefined()
    expect(await called('required', [user, result, { role: 'system', content: 'Be brief.' }])).toBeUndefined()
    expect(await called('auto', [user, result, user])).toBe('get_time')
  })

  it('answers with JSON that fits the schema', async () => {
    const city = { type: 'object', properties: { city: { type: 'string' }, degrees: { type: 'integer' } } }
    const response_format = { type: 'json_schema', json_schema: { name: 'forecast', schema: city } }
    expect((await streamOf({ response_format })).text).toBe('{"city":"demo","degrees":1}')
    expect((await jsonOf({ response_format: { type: 'json_object' } })).choices[0].message.content).toBe('{}')
    const plain = await streamOf({ response_format: { type: 'text' } })
    expect(plain.text).toContain('Hello')
    const cut = await streamOf({ response_format, max_completion_tokens: 1, reasoning_effort: 'low' })
    expect(cut).toMatchObject({ text: '', finish: 'length' })
  })

  it('stays within its output cap with a stop sequence', async () => {
    const capped = await streamOf({
      max_completion_tokens: 4,
      messages: [{ role: 'user', content: 'count to 9' }],
      stop: ['5'],
    })
    expect(capped).toMatchObject({ text: '1 2 3 4', finish: 'length', usage: { completion_tokens: 4 } })
  })

  it('gives n choices and counts them all', async () => {
    const question = { n: 3, reasoning_effort: 'low', messages: [{ role: 'user', content: 'count to 5' }] }
    const json = await jsonOf(question)
    expect(json.choices.map(({ index }: { index: number }) => index)).toEqual([0, 1, 2])
    expect(json.usage).toMatchObject({ completion_tokens: 39, completion_tokens_details: { reasoning_tokens: 24 } })
    const text = await wholeOf((await ask({ ...question, stream: true })).body)
    const chunks = text.match(/\{.*\}/g)!.map((frame) => JSON.parse(frame))
    const emitted = [0, 1, 2].map((wanted) =>
      chunks
        .flatMap(({ choices }) => choices)
        .filter(({ index }) => index === wanted)
        .map(({ delta }) => delta.content ?? '')
        .join(''),
    )
    expect(emitted).toEqual(Array(3).fill('1 2 3 4 5'))
    expect(chunks.at(-1).usage).toEqual(json.usage)
  })

  it('reads a bounded part of a message', async () => {
    const tools = Array.from({ length: 2000 }, (_, index) => ({
      type: 'function',
      function: { name: `tool_${index}` },
    }))
    const long = `${' \t'.repeat(2_000_000)}hello ${'a b '.repeat(500_000)}`
    const answer = await jsonOf({ tools, messages: [{ role: 'user', content: `${long} then call tool_1999 please` }] })
    expect(answer.choices[0].message.tool_calls[0].function.name).toBe('tool_1999')
    const unnamed = await jsonOf({ tools, messages: [{ role: 'user', content: `tool_3 ${long}` }] })
    expect(unnamed.choices[0].finish_reason).toBe('stop')
    expect(unnamed.choices[0].message.content.length).toBeLessThan(500)
  })

  it('composes lazily under backpressure', async () => {
    let composed = 0
    const reply: DemoReply = {
      ...{ choices: 1, reasoning: [], call: undefined, finish: 'stop' },
      ...{ promptTokens: 1, completionTokens: 1, reasoningTokens: 0 },
      *words() {
        for (;;) {
          composed++
          yield ' word'
        }
      },
    }
    const stamp = { id: 'x', callId: 'y', created: 0, model: 'demo-fast' }
    const signal = new Stopper()
    const body = pacedBody({ chunks: demoChunks(reply, stamp), pauseMs: 0, headStartMs: 0, signal })
    await body.read()
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
    const ahead = composed
    expect(ahead).toBeGreaterThan(10)
    expect(ahead).toBeLessThan(2000)
    await body.read()
    await new Promise((resolve) => setImmediate(resolve))
    expect(composed).toBeGreaterThan(ahead)
    body.cancel()
    const last = composed
    for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve))
    expect(composed).toBe(last)
  })

  it('starts no cancelled answer', async () => {
    const stopped = new Stopper()
    stopped.stop()
    for (const stream of [true, false]) {
      const outcome = await demo.answer(
        Buffer.from(JSON.stringify({ model: 'demo-fast', stream, max_completion_tokens: 9, messages: [] })),
        stopped,
      )
      expect(outcome).toMatchObject({ kind: 'failed', reason: 'cancelled' })
    }
  })

  it('ends when it is cancelled', async () => {
    const abort = new Stopper()
    const answer = await ask(
      { model: 'demo', stream: true, messages: [{ role: 'user', content: 'count to 1000' }] },
      abort,
    )
    await answer.body.read()
    abort.stop()
    await expect(
      (async () => {
        for (;;) if ((await answer.body.read()).length === 0) return
      })(),
    ).rejects.toThrow()
  })
})
