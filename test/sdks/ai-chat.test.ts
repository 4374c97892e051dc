import { createOpenAI } from '@ai-sdk/openai'
import { generateObject, generateText, stepCountIs, streamText, tool } from 'ai'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openAccount } from '../support/test-account.ts'
import { BROKEN_LANES, LANES, useLanes } from './lanes.ts'

const setup = useLanes()
let provider: ReturnType<typeof createOpenAI>

beforeEach(async () => {
  const { key } = await openAccount(setup())
  provider = createOpenAI({ apiKey: key, baseURL: setup().baseUrl })
})

const inputSchema = z.object({ city: z.string() })
const tools = {
  get_weather: tool({ inputSchema, execute: ({ city }) => `snow in ${city}` }),
  get_time: tool({ inputSchema, execute: () => 'noon' }),
}

describe.each(LANES)('the chat provider of the AI SDK over $lane', ({ model, callsAgain }) => {
  it.each([
    ['one after the other', 'Use get_weather then get_time.', callsAgain ? 3 : 2],
    ['both at once', 'Use get_weather and get_time.', 2],
  ])('loops over tools: %s', async (_how, prompt, steps) => {
    const receivedRequest = { model: provider.chat(model), tools, stopWhen: stepCountIs(5), maxRetries: 0, prompt }
    const whole = await generateText(receivedRequest)
    const stream = streamText(receivedRequest)
    for (const text of [whole.text, await stream.text]) {
      expect(text).toContain(callsAgain ? '"snow in demo" and "noon"' : '"snow in demo"')
    }
    expect([whole.steps.length, (await stream.steps).length]).toEqual([steps, steps])
    expect((await stream.totalUsage).outputTokens).toBe(whole.totalUsage.outputTokens)
    const messages = [
      { role: 'user' as const, content: prompt },
      ...whole.response.messages,
      { role: 'user' as const, content: 'count to 3' },
    ]
    expect((await generateText({ model: provider.chat(model), tools, messages })).text).toBe('1 2 3')
  })

  it('generates objects by a schema', async () => {
    const schema = z.object({ city: z.string(), degrees: z.number() })
    const { object } = await generateObject({ model: provider.chat(model), prompt: 'How is it?', schema })
    expect(object).toEqual({ city: 'demo', degrees: 1 })
  })
})

describe.each(BROKEN_LANES)('the chat provider of the AI SDK over $lane that $how in the middle', ({ model }) => {
  it('hears of it in the stream', async () => {
    const errors: unknown[] = []
    const receivedRequest = { model: provider.chat(model), prompt: 'count to 9', maxRetries: 0 }
    const stream = streamText({ ...receivedRequest, onError: ({ error }) => void errors.push(error) })
    let text = ''
    for await (const part of stream.fullStream) if (part.type === 'text-delta') text += part.text
    expect(text).toBe('1 2')
    expect(JSON.stringify(errors)).toMatch(/upstream_/)
    expect(await stream.finishReason).toBe('error')
  })
})
