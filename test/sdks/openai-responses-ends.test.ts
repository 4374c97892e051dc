import { AuthenticationError, BadRequestError, InternalServerError, NotFoundError, RateLimitError } from 'openai'
import { describe, expect, it } from 'vitest'
import { openAccount } from '../support/test-account.ts'
import { until } from '../support/until.ts'
import { BROKEN_LANES, LANES, useLanes } from './lanes.ts'
import { errorOf, everyOf, openaiFor } from './openai-client.ts'

const setup = useLanes()

async function open() {
  const account = await openAccount(setup())
  return { account, client: openaiFor(setup(), account) }
}

const ended = (account: Awaited<ReturnType<typeof open>>['account']) =>
  until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))

describe.each(LANES)('over $lane', ({ endless }) => {
  const question = (model: string) => ({ model, input: 'count to 5000' })

  it('a stream that its client cancels is settled for what was produced', async () => {
    const { account, client } = await open()
    const stream = await client.responses.create({ ...question(endless), stream: true })
    let id = ''
    for await (const event of stream) {
      if (event.type === 'response.created') id = event.response.id
      if (event.type === 'response.output_text.delta') stream.controller.abort()
    }
    const receipt = await ended(account)
    expect(receipt).toMatchObject({ state: 'settled', outcome: 'client_gone' })
    expect(receipt.charge_nano).toBeGreaterThan(0n)
    expect(receipt.charge_nano).toBeLessThan(receipt.hold_nano)
    await until(async () => (await client.responses.retrieve(id)).status !== 'in_progress')
    expect((await client.responses.retrieve(id)).status).toBe('cancelled')
    const goesOn = errorOf(client.responses.create({ ...question(endless), previous_response_id: id }))
    expect(await goesOn).toMatchObject({ status: 400, code: 'previous_response_not_found' })
  })

  it('the helper, aborted, settles too', async () => {
    const { account, client } = await open()
    const running = client.responses.stream(question(endless))
    running.on('response.output_text.delta', () => running.abort())
    await expect(running.finalResponse()).rejects.toThrow(/abort/)
    expect(await ended(account)).toMatchObject({ state: 'settled', outcome: 'client_gone' })
  })

  it('a server that has to stop says so in the middle of a stream: iteration and helper throw', async () => {
    const { account, client } = await open()
    const stream = await client.responses.create({ ...question(endless), stream: true })
    const types: string[] = []
    const error = await errorOf(
      (async () => {
        for await (const { type } of stream) {
          types.push(type)
          if (type === 'response.output_text.delta') setup().serving.abortTurns()
        }
      })(),
    )
    expect(error).toMatchObject({ code: 'server_draining', type: 'server_error' })
    expect(types).toContain('response.output_text.delta')
    expect(await ended(account)).toMatchObject({ state: 'settled', outcome: 'drained' })
    const running = client.responses.stream(question(endless))
    running.on('response.output_text.delta', () => setup().serving.abortTurns())
    expect(await running.finalResponse().catch((failed: unknown) => failed)).toMatchObject({ code: 'server_draining' })
  })
})

describe.each(BROKEN_LANES)('over $lane that $how in the middle', ({ model }) => {
  const question = { model, input: 'count to 9' }

  it('a stream throws with our code, and its response has failed', async () => {
    const { account, client } = await open()
    const stream = await client.responses.create({ ...question, stream: true })
    let id = ''
    let text = ''
    const error = await errorOf(
      (async () => {
        for await (const event of stream) {
          if (event.type === 'response.created') id = event.response.id
          if (event.type === 'response.output_text.delta') text += event.delta
        }
      })(),
    )
    expect(error).toMatchObject({ code: expect.stringMatching(/^upstream_/), type: 'server_error' })
    expect(text).toBe('1 2')
    const stored = await client.responses.retrieve(id)
    expect(stored).toMatchObject({ status: 'failed', error: { code: error.code } })
    expect(await ended(account)).toMatchObject({ state: 'settled', outcome: 'upstream_failed' })
  })

  it('the helper throws it too', async () => {
    const { client } = await open()
    const error = await errorOf(client.responses.stream(question).finalResponse())
    expect(error).toMatchObject({ code: expect.stringMatching(/^upstream_/) })
  })

  it('an answer in one piece is an InternalServerError that costs nothing', async () => {
    const { account, client } = await open()
    // A lane of the client's own protocol is asked for one piece, and has no middle then.
    const answer = client.responses.create({ ...question, tools: [{ type: 'custom', name: 'patch' }] })
    if (model.startsWith('thinker')) {
      expect((await answer).output_text).toBe('1 2 3 4 5 6 7 8 9')
      return
    }
    expect(await errorOf(answer)).toBeInstanceOf(InternalServerError)
    expect((await account.receipts())[0]?.charge_nano).toBe(0n)
  })
})

describe('refusals have their types', () => {
  const hello = { model: 'demo', input: 'Hello' }

  it('AuthenticationError for a wrong key', async () => {
    const client = openaiFor(setup(), { key: 'sk-wrong' })
    const calls = [errorOf(client.responses.create(hello)), errorOf(client.responses.retrieve('resp_nothing'))]
    for (const error of await Promise.all(calls)) {
      expect(error).toBeInstanceOf(AuthenticationError)
      expect(error).toMatchObject({ status: 401, code: 'invalid_api_key' })
    }
  })

  it.each([false, true])('NotFoundError for a model that is not there, streamed: %s', async (stream) => {
    const { client } = await open()
    const error = await errorOf(client.responses.create({ ...hello, model: 'nowhere', stream }))
    expect(error).toBeInstanceOf(NotFoundError)
    expect(error).toMatchObject({ status: 404, code: 'model_not_found', param: 'model' })
    expect(error.requestID).toMatch(/^req_/)
  })

  it('BadRequestError for what is not stored, and for a result of no call', async () => {
    const { client } = await open()
    const [unknown, reference, orphan] = await Promise.all([
      errorOf(client.responses.create({ ...hello, previous_response_id: 'resp_nothing' })),
      errorOf(client.responses.create({ ...hello, input: [{ type: 'item_reference', id: 'msg_nothing' }] })),
      errorOf(
        client.responses.create({
          ...hello,
          input: [{ type: 'function_call_output', call_id: 'call_nothing', output: 'snow' }],
        }),
      ),
    ])
    for (const error of [unknown, reference, orphan]) expect(error).toBeInstanceOf(BadRequestError)
    expect(unknown).toMatchObject({ code: 'previous_response_not_found', param: 'previous_response_id' })
    expect(reference).toMatchObject({ code: 'item_not_found', param: 'input[0]' })
    expect(orphan).toMatchObject({ code: 'invalid_value' })
  })

  it('NotFoundError for a response of another account', async () => {
    const [mine, theirs] = [await open(), await open()]
    const { id } = await mine.client.responses.create(hello)
    const calls = [errorOf(theirs.client.responses.retrieve(id)), errorOf(theirs.client.responses.delete(id))]
    for (const error of await Promise.all(calls)) {
      expect(error).toBeInstanceOf(NotFoundError)
      expect(error).toMatchObject({ code: 'response_not_found' })
    }
    const goesOn = errorOf(theirs.client.responses.create({ ...hello, previous_response_id: id }))
    expect(await goesOn).toMatchObject({ code: 'previous_response_not_found' })
  })

  it('RateLimitError with the time to wait', async () => {
    const { account } = await open()
    const client = openaiFor(setup(), await account.createKey({ limits: { requests_per_minute: 1 } }))
    await client.responses.create(hello)
    const error = await errorOf(client.responses.create({ ...hello, stream: true }))
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    expect(Number(error.headers?.get('retry-after'))).toBeGreaterThan(0)
  })

  it('nothing of an answer that was not to be stored', async () => {
    const { client } = await open()
    const events = await everyOf(await client.responses.create({ ...hello, store: false, stream: true }))
    const last = events.at(-1)
    if (last?.type !== 'response.completed') throw new Error('the answer is not complete')
    expect(last.response).toMatchObject({ store: false })
    expect(await errorOf(client.responses.retrieve(last.response.id))).toBeInstanceOf(NotFoundError)
  })
})
