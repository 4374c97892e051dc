import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { nanoOf, openAccount } from '../support/test-account.ts'
import { until } from '../support/until.ts'
import { useServer } from '../support/use-server.ts'
import { type ChangeRequest, countedClient, errorOf, words } from './openai-client.ts'

const server = useServer()
const clientOf = (who: { key: string }, changeRequest?: ChangeRequest) => countedClient(server(), who, changeRequest)

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
    const answer = await client.chat.completions.create({ model: 'swift', messages: words('count to 4') })
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
      messages: words('count to 9'),
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
        messages: words('count to 6'),
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
      .stream({ model: 'swift-low', messages: words('count to 6'), stream_options: { include_usage: true } })
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
    const stream = await client.chat.completions.create({
      model: 'calm',
      stream: true,
      messages: words('count to 5000'),
    })
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
    const stream = await client.chat.completions.create({
      model: 'calm',
      stream: true,
      messages: words('count to 5000'),
    })
    for await (const _chunk of stream) break
    const receipt = await until(async () => (await account.receipts()).find((row) => row.state !== 'open'))
    expect(receipt.outcome).toBe('client_gone')
  })

  it('until the server says that it cannot go on: the client throws, and takes nothing for a whole answer', async () => {
    const account = await openAccount(server())
    const { client, requests } = clientOf(account)
    const stream = await client.chat.completions.create({
      model: 'calm',
      stream: true,
      messages: words('count to 5000'),
    })
    const error = await errorOf(
      (async () => {
        for await (const _chunk of stream) server().serving.abortTurns()
      })(),
    )
    expect(error).toMatchObject({ code: 'server_draining', type: 'server_error' })
    expect(requests.sent).toBe(1)
    expect((await account.receipts())[0]).toMatchObject({ state: 'settled', outcome: 'drained' })
  })
})

describe('the openai package calls tools', () => {
  const networkFaults = {
    type: 'function' as const,
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  }

  it('by hand: the call comes down, its result goes up, the answer comes', async () => {
    const { client } = clientOf(await openAccount(server()))
    const messages: OpenAI.ChatCompletionMessageParam[] = words('Use get_weather, please')
    const receivedRequest = await client.chat.completions.create({ model: 'swift', tools: [networkFaults], messages })
    const message = receivedRequest.choices[0]!.message
    const call = message.tool_calls?.[0]
    if (call?.type !== 'function') throw new Error('no function was called')
    expect(JSON.parse(call.function.arguments)).toEqual({ city: 'demo' })
    messages.push(message, { role: 'tool', tool_call_id: call.id, content: 'snow' })
    const reported = await client.chat.completions.create({ model: 'swift', tools: [networkFaults], messages })
    expect(reported.choices[0]?.message.content).toContain('snow')
    expect(reported.choices[0]?.finish_reason).toBe('stop')
  })

  it.each([false, true])('by its own loop, streamed: %s', async (stream) => {
    const { client, requests } = clientOf(await openAccount(server()))
    const receivedRequest: unknown[] = []
    const params = {
      model: 'swift',
      messages: words('Use get_weather, please'),
      tools: [
        {
          type: 'function' as const,
          function: {
            name: 'get_weather',
            description: 'Tells the weather.',
            parameters: networkFaults.function.parameters,
            parse: JSON.parse,
            function: (reported: object) => {
              receivedRequest.push(reported)
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
    expect(receivedRequest).toEqual([{ city: 'demo' }])
    expect(requests.sent).toBe(2)
  })
})
