import { createOpenAI, type OpenAIResponsesProviderOptions } from '@ai-sdk/openai'
import { APICallError, generateObject, generateText, Output, stepCountIs, streamText, tool } from 'ai'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { openAccount, type TestAccount } from '../support/test-account.ts'
import { until } from '../support/until.ts'
import { BROKEN_LANES, LANES, useLanes } from './lanes.ts'

globalThis.AI_SDK_LOG_WARNINGS = false

const setup = useLanes()
let account: TestAccount
let provider: ReturnType<typeof createOpenAI>
/** What the SDK has sent, oldest first. */
let sent: { input: { type?: string; id?: string }[]; store?: boolean; include?: string[] }[]

beforeEach(async () => {
  account = await openAccount(setup())
  sent = []
  provider = createOpenAI({
    apiKey: account.key,
    baseURL: setup().baseUrl,
    fetch(url, init) {
      if (typeof init?.body === 'string') sent.push(JSON.parse(init.body))
      return fetch(url, init)
    },
  })
})

const cities = z.object({ city: z.string() })
const networkFaults = vi.fn(({ city }: { city: string }) => `snow in ${city}`)
const tools = {
  get_weather: tool({ description: 'Tells the weather.', inputSchema: cities, execute: networkFaults }),
  get_time: tool({ description: 'Tells the time.', inputSchema: cities, execute: () => 'noon' }),
}

/** An agent that thinks: the SDK takes no model for one that reasons unless it knows its name or is told so. */
const agent = (model: string, options: OpenAIResponsesProviderOptions = {}) => ({
  model: provider(model),
  tools,
  stopWhen: stepCountIs(5),
  maxRetries: 0,
  prompt: 'Use get_weather then get_time.',
  providerOptions: {
    openai: {
      forceReasoning: true,
      reasoningEffort: 'low',
      reasoningSummary: 'auto',
      ...options,
    } satisfies OpenAIResponsesProviderOptions,
  },
})

const typesSent = () => sent.map(({ input }) => input.map(({ type = 'message' }) => type))

describe.each(LANES)('the AI SDK over $lane', ({ model, callsAgain, seals }) => {
  const steps = callsAgain ? 3 : 2

  it('generates a text, and streams one', async () => {
    const receivedRequest = { model: provider(model), prompt: 'count to 4', maxRetries: 0 }
    const whole = await generateText(receivedRequest)
    expect(whole).toMatchObject({ text: '1 2 3 4', finishReason: 'stop', usage: { outputTokens: 4 } })
    const stream = streamText(receivedRequest)
    const words: string[] = []
    for await (const word of stream.textStream) words.push(word)
    expect(words.length).toBeGreaterThan(1)
    expect(words.join('')).toBe('1 2 3 4')
    expect(await stream.finishReason).toBe('stop')
    expect((await stream.usage).outputTokens).toBe(4)
  })

  it.each(['whole', 'streamed'])('loops over tools, referring to what is stored: %s', async (how) => {
    networkFaults.mockClear()
    const result = how === 'whole' ? await generateText(agent(model)) : streamText(agent(model))
    expect(await result.text).toContain(callsAgain ? '"snow in demo" and "noon"' : '"snow in demo"')
    expect(await result.steps).toHaveLength(steps)
    expect(networkFaults).toHaveBeenCalledTimes(1)
    expect(typesSent()[1]?.slice(1)).toEqual(['item_reference', 'function_call', 'function_call_output'])
    expect(sent).toHaveLength(steps)
    expect(await account.receipts()).toHaveLength(steps)
    expect((await result.totalUsage).totalTokens).toBeGreaterThan(0)
  })

  it.each(['whole', 'streamed'])('loops over tools without anything stored: %s', async (how) => {
    const receivedRequest = agent(model, { store: false })
    const result = how === 'whole' ? await generateText(receivedRequest) : streamText(receivedRequest)
    expect(await result.text).toContain('"snow in demo"')
    expect(await result.steps).toHaveLength(steps)
    expect(sent.map(({ store }) => store)).toEqual(Array(steps).fill(false))
    expect(sent[0]?.include).toEqual(['reasoning.encrypted_content'])
    expect(typesSent().flat()).not.toContain('item_reference')
    // Without a seal the SDK leaves its reasoning out: no provider could tell what it was.
    expect(typesSent()[1]?.slice(1)).toEqual([
      ...(seals ? ['reasoning'] : []),
      ...['function_call', 'function_call_output'],
    ])
  })

  it('tells what it thought', async () => {
    const stream = streamText({ ...agent(model), prompt: 'count to 2' })
    const types = new Set<string>()
    for await (const { type } of stream.fullStream) types.add(type)
    expect([...types]).toEqual(expect.arrayContaining(['reasoning-start', 'reasoning-end', 'text-delta', 'finish']))
    expect(types).not.toContain('error')
    // The SDK shows summaries alone.
    expect(await stream.reasoningText).toMatch(/think/i)
    expect((await stream.usage).outputTokenDetails.reasoningTokens).toBeGreaterThan(0)
  })

  it('goes on from a conversation of its own, and from a response by its id', async () => {
    const first = await generateText(agent(model))
    const messages = [
      { role: 'user' as const, content: 'Use get_weather then get_time.' },
      ...first.response.messages,
      { role: 'user' as const, content: 'count to 3' },
    ]
    const { prompt: _prompt, ...receivedRequest } = agent(model)
    expect(await streamText({ ...receivedRequest, messages }).text).toBe('1 2 3')
    const previousResponseId = String(first.providerMetadata?.openai?.responseId)
    const next = await generateText({ ...agent(model, { previousResponseId }), prompt: 'count to 2' })
    expect(next.text).toBe('1 2')
    expect(sent.at(-1)?.input).toHaveLength(1)
  })

  it('generates objects by a schema, whole and streamed', async () => {
    const schema = z.object({ city: z.string(), degrees: z.number() })
    const receivedRequest = { model: provider(model), prompt: 'How is it?', maxRetries: 0 }
    expect((await generateObject({ ...receivedRequest, schema })).object).toEqual({ city: 'demo', degrees: 1 })
    const stream = streamText({ ...receivedRequest, output: Output.object({ schema }) })
    expect(await stream.output).toEqual({ city: 'demo', degrees: 1 })
  })
})

describe.each(BROKEN_LANES)('the AI SDK over $lane that $how in the middle', ({ model }) => {
  it('hears of it in the stream, with our code, and takes nothing for a whole answer', async () => {
    const errors: unknown[] = []
    const receivedRequest = { model: provider(model), prompt: 'count to 9', maxRetries: 0 }
    const stream = streamText({ ...receivedRequest, onError: ({ error }) => void errors.push(error) })
    let text = ''
    for await (const part of stream.fullStream) if (part.type === 'text-delta') text += part.text
    expect(text).toBe('1 2')
    expect(JSON.stringify(errors)).toMatch(/upstream_/)
    expect(await stream.finishReason).toBe('error')
    const receipt = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
    expect(receipt).toMatchObject({ state: 'settled', outcome: 'upstream_failed' })
  })
})

describe('the AI SDK is refused', () => {
  it('what is not stored, in words that help', async () => {
    const messages = [
      { role: 'user' as const, content: 'Hi' },
      {
        role: 'assistant' as const,
        content: [{ type: 'text' as const, text: 'Hello', providerOptions: { openai: { itemId: 'msg_nothing' } } }],
      },
      { role: 'user' as const, content: 'And now?' },
    ]
    const failed = await generateText({ model: provider('demo'), messages, maxRetries: 0 }).catch((error) => error)
    expect(APICallError.isInstance(failed)).toBe(true)
    expect(failed).toMatchObject({ statusCode: 400, data: { error: { code: 'item_not_found' } } })
    expect(failed.message).toContain('Send the item itself')
  })
})
