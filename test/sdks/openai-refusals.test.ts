import {
  type APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} from 'openai'
import { describe, expect, it } from 'vitest'
import { openAccount } from '../support/test-account.ts'
import { until } from '../support/until.ts'
import { useServer } from '../support/use-server.ts'
import { type ChangeRequest, countedClient, errorOf, words } from './openai-client.ts'

const server = useServer()
const clientOf = (who: { key: string }, changeRequest?: ChangeRequest) => countedClient(server(), who, changeRequest)

/** The typed error says everything that the envelope says, and one request id. */
function expectDelivered(
  error: InstanceType<typeof APIError>,
  expected: { status: number; code: string; param?: string },
) {
  expect(error).toMatchObject(expected)
  const body = error.error as { request_id: string; source: string; message: string }
  expect(error.requestID).toMatch(/^req_/)
  expect(body.request_id).toBe(error.requestID)
  expect(body.source).toBe('gateway')
  expect(error.message).toContain(body.message)
}

describe('the openai package tells refusals by their type', () => {
  const hello = { model: 'swift', messages: words('Hello') }

  /** Refusals that no retry can cure are sent once. */
  async function refusal(who: { key: string }, body: object, changeRequest: ChangeRequest = {}) {
    const { client, requests } = clientOf(who, changeRequest)
    const error = await errorOf(client.chat.completions.create({ ...hello, ...body }))
    expect(requests.sent).toBe(1)
    return error
  }

  it('AuthenticationError for a wrong key', async () => {
    const error = await refusal({ key: 'sk-wrong' }, {})
    expect(error).toBeInstanceOf(AuthenticationError)
    expectDelivered(error, { status: 401, code: 'invalid_api_key' })
  })

  it('NotFoundError for a wrong model, called or retrieved', async () => {
    const account = await openAccount(server())
    const error = await refusal(account, { model: 'nowhere' })
    expect(error).toBeInstanceOf(NotFoundError)
    expectDelivered(error, { status: 404, code: 'model_not_found', param: 'model' })
    const { client } = clientOf(account)
    expectDelivered(await errorOf(client.models.retrieve('no/where')), { status: 404, code: 'model_not_found' })
  })

  it('NotFoundError for what is not provided, with a sentence', async () => {
    const { client, requests } = clientOf(await openAccount(server()))
    const error = await errorOf(client.embeddings.create({ model: 'swift', input: 'x' }))
    expect(error).toBeInstanceOf(NotFoundError)
    expectDelivered(error, { status: 404, code: 'endpoint_not_provided' })
    expect(requests.sent).toBe(1)
  })

  it('BadRequestError for a wrong body, streamed or not', async () => {
    const account = await openAccount(server())
    for (const stream of [false, true]) {
      const error = await refusal(account, { temperature: 5, stream })
      expect(error).toBeInstanceOf(BadRequestError)
      expectDelivered(error, { status: 400, code: 'invalid_value', param: 'temperature' })
    }
  })

  it('BadRequestError for efforts that disagree', async () => {
    const error = await refusal(await openAccount(server()), { model: 'swift-low', reasoning_effort: 'high' })
    expect(error).toBeInstanceOf(BadRequestError)
    expectDelivered(error, { status: 400, code: 'reasoning_effort_conflict', param: 'reasoning_effort' })
  })

  it('PermissionDeniedError for a web page', async () => {
    const error = await refusal(await openAccount(server()), {}, { headers: { origin: 'https://page.example.com' } })
    expect(error).toBeInstanceOf(PermissionDeniedError)
    expectDelivered(error, { status: 403, code: 'browser_not_allowed' })
  })

  it('APIError 402 for an empty wallet, not tried again because x-should-retry says so', async () => {
    const error = await refusal(await openAccount(server(), { credit: '0' }), {}, { maxRetries: 5 })
    expectDelivered(error, { status: 402, code: 'insufficient_balance' })
    expect(error.headers?.get('x-should-retry')).toBe('false')
  })

  it('RateLimitError with the time to wait', async () => {
    const made = await limited({ requests_per_minute: 1 })
    const { client, requests } = clientOf(made, { maxRetries: 0 })
    await client.chat.completions.create(hello)
    const error = await errorOf(client.chat.completions.create(hello))
    expect(error).toBeInstanceOf(RateLimitError)
    expectDelivered(error, { status: 429, code: 'rate_limit_exceeded' })
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
    expectDelivered(error, { status: 429, code: 'request_too_large_for_limit' })
  })

  it('InternalServerError for a server that stops, with nothing charged', async () => {
    const account = await openAccount(server())
    const { client } = clientOf(account, { maxRetries: 0 })
    const call = errorOf(client.chat.completions.create({ model: 'calm', messages: words('count to 5000') }))
    await until(async () => (await account.receipts()).length === 1)
    server().serving.abortTurns()
    const error = await call
    expect(error).toBeInstanceOf(InternalServerError)
    expectDelivered(error, { status: 503, code: 'server_draining' })
    expect((await account.receipts())[0]?.charge_nano).toBe(0n)
  })

  const limited = async (limits: object): Promise<{ key: string }> => {
    const account = await openAccount(server())
    return account.createKey({ limits })
  }
})
