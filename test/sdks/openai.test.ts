import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai'
import { describe, expect, it } from 'vitest'
import { nanoOf, openAccount, type TestAccount } from '../support/test-account.ts'
import { until } from '../support/until.ts'
import { useServer } from '../support/use-server.ts'

const server = useServer()

interface CountedClient {
  readonly client: OpenAI
  readonly requests: { sent: number }
}

interface Wish {
  readonly maxRetries?: number
  readonly headers?: Record<string, string>
  /** Sees each answer before the client does. */
  readonly onAnswer?: (response: Response) => Promise<void>
}

/** The client as anybody would make it, but for counting what it really sends. */
function clientOf(who: { key: string }, { maxRetries = 2, headers = {}, onAnswer }: Wish = {}): CountedClient {
  const requests = { sent: 0 }
  const client = new OpenAI({
    apiKey: who.key,
    baseURL: server().baseUrl,
    maxRetries,
    defaultHeaders: headers,
    async fetch(url, init) {
      requests.sent += 1
      const response = await fetch(url, init)
      await onAnswer?.(response)
      return response
    },
  })
  return { client, requests }
}

const ask = (words: string) => [{ role: 'user' as const, content: words }]

/** What a call was refused with; that it is refused is the point of the test. */
async function errorOf(call: Promise<unknown>): Promise<InstanceType<typeof APIError>> {
  try {
    await call
  } catch (error) {
    if (error instanceof APIError) return error
    throw error
  }
  throw new Error('the call was not refused')
}

/** The typed error says everything that the envelope says, and one request id. */
function expectTold(error: InstanceType<typeof APIError>, expected: { status: number; code: string; param?: string }) {
  expect(error).toMatchObject(expected)
  const body = error.error as { request_id: string; source: string; message: string }
  expect(error.requestID).toMatch(/^req_/)
  expect(body.request_id).toBe(error.requestID)
  expect(body.source).toBe('gateway')
  expect(error.message).toContain(body.message)
}

describe('the openai package lists models', () => {
  it('page by page, and retrieves one, slash included', async () => {
    const { client } = clientOf(await openAccount(server()))
    const ids: string[] = []
    for await (const model of client.models.list()) ids.push(model.id)
    expect(ids).toEqual(expect.arrayContaining(['swift', 'swift-high', 'vendor/slashed']))
    const one = await client.models.retrieve('vendor/slashed')
    expect(one).toMatchObject({ id: 'vendor/slashed', object: 'model', owned_by: 'millrace' })
    expect(one._request_id).toMatch(/^req_/)
  })
})

describe('the openai package completes', () => {
  it('with an answer, its usage and the id of the request', async () => {
    const account = await openAccount(server())
    const { client } = clientOf(account)
    const answer = await client.chat.completions.create({ model: 'swift', messages: ask('count to 4') })
    expect(answer.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { role: 'assistant', content: '1 2 3 4' },
    })
    expect(answer.usage?.completion_tokens).toBe(4)
    const [receipt] = await account.receipts()
    expect(receipt?.request_id).toBe(answer._request_id)
    const { millrace } = answer.usage as unknown as { millrace: { charge: string } }
    expect(nanoOf(millrace.charge)).toBe(receipt?.charge_nano)
  })

  it('with an effort, a cap and a stop word', async () => {
    const { client } = clientOf(await openAccount(server()))
    const answer = await client.chat.completions.create({
      model: 'swift',
      reasoning_effort: 'low',
      max_completion_tokens: 100,
      stop: ['4'],
      messages: ask('count to 9'),
    })
    expect(answer.choices[0]?.message.content).toBe('1 2 3 ')
    expect(answer.usage?.completion_tokens_details?.reasoning_tokens).toBe(8)
  })
})

describe('the openai package streams', () => {
  it('by iteration, with a usage chunk only when it asks for one', async () => {
    const { client } = clientOf(await openAccount(server()))
    for (const include_usage of [false, true]) {
      const stream = await client.chat.completions.create({
        model: 'swift',
        stream: true,
        messages: ask('count to 6'),
        ...(include_usage ? { stream_options: { include_usage } } : {}),
      })
      let text = ''
      const usages: unknown[] = []
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        if (chunk.usage) usages.push([chunk.choices.length, chunk.usage.completion_tokens])
      }
      expect(text).toBe('1 2 3 4 5 6')
      expect(usages).toEqual(include_usage ? [[0, 6]] : [])
    }
  })

  it('by its helper, which gathers the whole answer', async () => {
    const { client } = clientOf(await openAccount(server()))
    const deltas: string[] = []
    const runner = client.chat.completions
      .stream({ model: 'swift-low', messages: ask('count to 6'), stream_options: { include_usage: true } })
      .on('content', (delta) => deltas.push(delta))
    const whole = await runner.finalChatCompletion()
    expect(deltas.join('')).toBe('1 2 3 4 5 6')
    expect(whole.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: '1 2 3 4 5 6' } })
    expect(whole.model).toBe('swift-low')
    expect((await runner.totalUsage()).completion_tokens).toBe(14)
  })

  it('until it cancels: the turn is settled for what was produced', async () => {
    const account = await openAccount(server())
    const { client } = clientOf(account)
    const stream = await client.chat.completions.create({ model: 'calm', stream: true, messages: ask('count to 5000') })
    let seen = 0
    for await (const _chunk of stream) {
      seen += 1
      if (seen === 4) stream.controller.abort()
    }
    const receipt = await until(async () => (await account.receipts()).find((row) => row.state !== 'open'))
    expect(receipt).toMatchObject({ state: 'settled', outcome: 'client_gone' })
    expect(receipt.charge_nano).toBeGreaterThan(0n)
    expect(receipt.charge_nano).toBeLessThan(receipt.hold_nano)
    expect(await account.receipts()).toHaveLength(1)
  })

  it('until it leaves the loop', async () => {
    const account = await openAccount(server())
    const { client } = clientOf(account)
    const stream = await client.chat.completions.create({ model: 'calm', stream: true, messages: ask('count to 5000') })
    for await (const _chunk of stream) break
    const receipt = await until(async () => (await account.receipts()).find((row) => row.state !== 'open'))
    expect(receipt.outcome).toBe('client_gone')
  })

  it('until the server says that it cannot go on: the client throws, and takes nothing for a whole answer', async () => {
    const account = await openAccount(server())
    const { client, requests } = clientOf(account)
    const stream = await client.chat.completions.create({ model: 'calm', stream: true, messages: ask('count to 5000') })
    const error = await errorOf(
      (async () => {
        for await (const _chunk of stream) server().serving.cutTurns()
      })(),
    )
    expect(error).toMatchObject({ code: 'server_draining', type: 'service_unavailable_error' })
    expect(requests.sent).toBe(1)
    expect((await account.receipts())[0]).toMatchObject({ state: 'settled', outcome: 'drained' })
  })
})

describe('the openai package calls tools', () => {
  const weather = {
    type: 'function' as const,
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  }

  it('by hand: the call comes down, its result goes up, the answer comes', async () => {
    const { client } = clientOf(await openAccount(server()))
    const messages: OpenAI.ChatCompletionMessageParam[] = ask('Use get_weather, please')
    const asked = await client.chat.completions.create({ model: 'swift', tools: [weather], messages })
    const message = asked.choices[0]!.message
    const call = message.tool_calls?.[0]
    if (call?.type !== 'function') throw new Error('no function was called')
    expect(JSON.parse(call.function.arguments)).toEqual({ city: 'demo' })
    messages.push(message, { role: 'tool', tool_call_id: call.id, content: 'snow' })
    const told = await client.chat.completions.create({ model: 'swift', tools: [weather], messages })
    expect(told.choices[0]?.message.content).toContain('snow')
    expect(told.choices[0]?.finish_reason).toBe('stop')
  })

  it.each([false, true])('by its own loop, streamed: %s', async (stream) => {
    const { client, requests } = clientOf(await openAccount(server()))
    const asked: unknown[] = []
    const params = {
      model: 'swift',
      messages: ask('Use get_weather, please'),
      tools: [
        {
          type: 'function' as const,
          function: {
            name: 'get_weather',
            description: 'Tells the weather.',
            parameters: weather.function.parameters,
            parse: JSON.parse,
            function: (told: object) => {
              asked.push(told)
              return 'hail'
            },
          },
        },
      ],
    }
    const runner = stream
      ? client.chat.completions.runTools({ ...params, stream })
      : client.chat.completions.runTools(params)
    expect(await runner.finalContent()).toContain('hail')
    expect(asked).toEqual([{ city: 'demo' }])
    expect(requests.sent).toBe(2)
  })
})

describe('the openai package tells refusals by their type', () => {
  const hello = { model: 'swift', messages: ask('Hello') }

  /** Refusals that no retry can cure are sent once. */
  async function refusal(who: { key: string }, body: object, wish: Wish = {}) {
    const { client, requests } = clientOf(who, wish)
    const error = await errorOf(client.chat.completions.create({ ...hello, ...body }))
    expect(requests.sent).toBe(1)
    return error
  }

  it('AuthenticationError for a wrong key', async () => {
    const error = await refusal({ key: 'sk-wrong' }, {})
    expect(error).toBeInstanceOf(AuthenticationError)
    expectTold(error, { status: 401, code: 'invalid_api_key' })
  })

  it('NotFoundError for a wrong model, called or retrieved', async () => {
    const account = await openAccount(server())
    const error = await refusal(account, { model: 'nowhere' })
    expect(error).toBeInstanceOf(NotFoundError)
    expectTold(error, { status: 404, code: 'model_not_found', param: 'model' })
    const { client } = clientOf(account)
    expectTold(await errorOf(client.models.retrieve('no/where')), { status: 404, code: 'model_not_found' })
  })

  it('NotFoundError for what is not provided, with a sentence', async () => {
    const { client, requests } = clientOf(await openAccount(server()))
    const error = await errorOf(client.embeddings.create({ model: 'swift', input: 'x' }))
    expect(error).toBeInstanceOf(NotFoundError)
    expectTold(error, { status: 404, code: 'endpoint_not_provided' })
    expect(requests.sent).toBe(1)
  })

  it('BadRequestError for a wrong body, streamed or not', async () => {
    const account = await openAccount(server())
    for (const stream of [false, true]) {
      const error = await refusal(account, { temperature: 5, stream })
      expect(error).toBeInstanceOf(BadRequestError)
      expectTold(error, { status: 400, code: 'invalid_value', param: 'temperature' })
    }
  })

  it('BadRequestError for efforts that disagree', async () => {
    const error = await refusal(await openAccount(server()), { model: 'swift-low', reasoning_effort: 'high' })
    expect(error).toBeInstanceOf(BadRequestError)
    expectTold(error, { status: 400, code: 'reasoning_effort_conflict', param: 'reasoning_effort' })
  })

  it('PermissionDeniedError for a web page', async () => {
    const error = await refusal(await openAccount(server()), {}, { headers: { origin: 'https://page.example.com' } })
    expect(error).toBeInstanceOf(PermissionDeniedError)
    expectTold(error, { status: 403, code: 'browser_not_allowed' })
  })

  it('APIError 402 for an empty wallet, not tried again because x-should-retry says so', async () => {
    const error = await refusal(await openAccount(server(), { credit: '0' }), {}, { maxRetries: 5 })
    expectTold(error, { status: 402, code: 'insufficient_balance' })
    expect(error.headers?.get('x-should-retry')).toBe('false')
  })

  it('RateLimitError with the time to wait', async () => {
    const made = await limited({ requests_per_minute: 1 })
    const { client, requests } = clientOf(made, { maxRetries: 0 })
    await client.chat.completions.create(hello)
    const error = await errorOf(client.chat.completions.create(hello))
    expect(error).toBeInstanceOf(RateLimitError)
    expectTold(error, { status: 429, code: 'rate_limit_exceeded' })
    const wait = Number(error.headers?.get('retry-after'))
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(60)
    expect(requests.sent).toBe(2)
  })

  it('nothing at all where waiting helps: it waits as it is told and is served', async () => {
    const made = await limited({ concurrent: 1 })
    const stream = await clientOf(made).client.chat.completions.create({ ...hello, model: 'calm', stream: true })
    const statuses: number[] = []
    const { client } = clientOf(made, {
      async onAnswer({ status }) {
        statuses.push(status)
        if (status === 429) for await (const _chunk of stream);
      },
    })
    const answer = await client.chat.completions.create(hello)
    expect(answer.choices[0]?.finish_reason).toBe('stop')
    expect(statuses).toEqual([429, 200])
  })

  it('RateLimitError without a retry for a request that is larger than its limit', async () => {
    const error = await refusal(await limited({ tokens_per_minute: 100 }), { max_tokens: 900 })
    expect(error).toBeInstanceOf(RateLimitError)
    expectTold(error, { status: 429, code: 'request_too_large_for_limit' })
  })

  it('InternalServerError for a server that stops, with nothing charged', async () => {
    const account = await openAccount(server())
    const { client } = clientOf(account, { maxRetries: 0 })
    const call = errorOf(client.chat.completions.create({ model: 'calm', messages: ask('count to 5000') }))
    await until(async () => (await account.receipts()).length === 1)
    server().serving.cutTurns()
    const error = await call
    expect(error).toBeInstanceOf(InternalServerError)
    expectTold(error, { status: 503, code: 'server_draining' })
    expect((await account.receipts())[0]?.charge_nano).toBe(0n)
  })

  const limited = async (limits: object): Promise<{ key: string }> => {
    const account: TestAccount = await openAccount(server())
    return account.createKey({ limits })
  }
})
