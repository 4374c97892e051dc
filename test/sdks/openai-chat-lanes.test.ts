import type OpenAI from 'openai'
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openAccount } from '../support/test-account.ts'
import { BROKEN_LANES, LANES, useLanes } from './lanes.ts'
import { errorOf, everyOf, openaiFor } from './openai-client.ts'

const setup = useLanes()
let client: OpenAI

beforeEach(async () => {
  client = openaiFor(setup(), await openAccount(setup()))
})

const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const named = (name: string) => ({ type: 'function' as const, function: { name, parameters } })
const sendTurn = (content: string) => [{ role: 'user' as const, content }]

describe.each(LANES)('the chat helper of the openai package over $lane', ({ model, callsAgain }) => {
  it('gathers an answer, with its usage', async () => {
    const stream_options = { include_usage: true }
    const running = client.chat.completions.stream({ model, messages: sendTurn('count to 4'), stream_options })
    const final = await running.finalChatCompletion()
    expect(final).toMatchObject({ model, choices: [{ finish_reason: 'stop', message: { content: '1 2 3 4' } }] })
    expect((await running.totalUsage()).completion_tokens).toBe(4)
    const whole = await client.chat.completions.create({ model, messages: sendTurn('count to 4') })
    expect(whole.choices[0]?.message.content).toBe('1 2 3 4')
    expect(whole.usage?.completion_tokens).toBe(4)
  })

  it('gathers calls, takes their results, and hears the whole history later', async () => {
    const tools = [named('get_weather'), named('get_time')]
    const messages: OpenAI.ChatCompletionMessageParam[] = sendTurn('Use get_weather and get_time.')
    const done: unknown[] = []
    const running = client.chat.completions
      .stream({ model, tools, messages, reasoning_effort: 'low' })
      .on('tool_calls.function.arguments.done', (call) => done.push(call.name))
    const receivedRequest = (await running.finalChatCompletion()).choices[0]
    expect(receivedRequest?.finish_reason).toBe('tool_calls')
    const calls = receivedRequest?.message.tool_calls ?? []
    expect(done).toEqual(callsAgain ? ['get_weather', 'get_time'] : ['get_weather'])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(done.length)
    messages.push(receivedRequest!.message)
    for (const { id } of calls)
      messages.push({ role: 'tool', tool_call_id: id, content: [{ type: 'text', text: 'hail' }] })
    const reported = await client.chat.completions.create({ model, tools, messages })
    expect(reported.choices[0]?.message.content).toContain('"hail"')
    messages.push(reported.choices[0]!.message, ...sendTurn('count to 2'))
    const last = await client.chat.completions.stream({ model, tools, messages }).finalContent()
    expect(last).toBe('1 2')
  })

  it('runs tools by itself', async () => {
    const parsedOutput: unknown[] = []
    const look = (reported: object) => {
      parsedOutput.push(reported)
      return 'fog'
    }
    const runner = client.chat.completions.runTools({
      model,
      stream: true,
      messages: sendTurn('Use look.'),
      tools: [
        {
          type: 'function',
          function: { name: 'look', description: 'Looks.', parameters, parse: JSON.parse, function: look },
        },
      ],
    })
    expect(await runner.finalContent()).toContain('"fog"')
    expect(parsedOutput).toEqual([{ city: 'demo' }])
  })

  it('has arguments and answers parsed by the schemas it gave', async () => {
    const Forecast = z.object({ city: z.string(), degrees: z.number() })
    const response_format = zodResponseFormat(Forecast, 'forecast')
    const reported = await client.chat.completions.parse({ model, messages: sendTurn('How is it?'), response_format })
    expect(reported.choices[0]?.message.parsed).toEqual({ city: 'demo', degrees: 1 })
    const tools = [zodFunction({ name: 'look', parameters: z.object({ city: z.string() }) })]
    const called = await client.chat.completions
      .stream({ model, messages: sendTurn('Use look.'), tools })
      .finalChatCompletion()
    const call = called.choices[0]?.message.tool_calls?.[0]
    expect(call).toMatchObject({ type: 'function', function: { parsed_arguments: { city: 'demo' } } })
  })
})

describe.each(BROKEN_LANES)('the chat client of the openai package over $lane that $how in the middle', ({ model }) => {
  it('throws with our code, with its helper and without', async () => {
    const question = { model, messages: sendTurn('count to 9') }
    const stream = await client.chat.completions.create({ ...question, stream: true })
    const errors = [
      await errorOf(everyOf(stream)),
      await errorOf(client.chat.completions.stream(question).finalChatCompletion()),
    ]
    for (const error of errors) expect(error).toMatchObject({ code: expect.stringMatching(/^upstream_/) })
  })
})
