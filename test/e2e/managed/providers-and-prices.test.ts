import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAdminKey, sendToAdmin } from '../../support/admin-api.ts'
import { chat, hello } from '../../support/send-chat.ts'
import { nanoOf, openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer()

async function operator() {
  const { secret: key } = await createAdminKey(server(), ['admin'])
  return (name: Parameters<typeof sendToAdmin>[1], sent: object = {}) => sendToAdmin(server(), name, { key, ...sent })
}

const frame = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const chunk = (delta: object, more: object = {}) =>
  frame({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt-5',
    choices: [{ index: 0, delta, ...more }],
  })

/** A provider of Chat Completions that wants a key. */
const provider = createServer((request, response) => {
  const isKnown = request.headers.authorization === 'Bearer sk-right'
  const answer = (status: number, type: string, text: string) =>
    void response.writeHead(status, { 'content-type': type }).end(text)
  if (!isKnown)
    return answer(401, 'application/json', '{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}')
  if (request.url === '/v1/models')
    return answer(200, 'application/json', '{"data":[{"id":"gpt-5"},{"id":"own-model"},{"id":"bad name"},{"id":7}]}')
  if (request.url === '/page/v1/models') return answer(200, 'text/html', '<html></html>')
  return void drain(request).then(() =>
    answer(
      200,
      'text/event-stream',
      `${chunk({ role: 'assistant', content: 'OK' })}${chunk({}, { finish_reason: 'stop' })}${frame({
        ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-5', choices: [] },
        usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 },
      })}data: [DONE]\n\n`,
    ),
  )
})

async function drain(request: IncomingMessage) {
  for await (const _ of request);
}

let base: string
beforeAll(async () => {
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
})
afterAll(() => new Promise((resolve) => provider.close(resolve)))

const upstream = (more: object = {}) => ({
  ...{ id: 'local', wire: 'chat', base_url: `${base}/v1`, allow_private: true, dialect: 'openai', api_key: 'sk-right' },
  ...more,
})

describe('a provider that is not saved', () => {
  it('says which models it has, with entries for those that are known', async () => {
    const ask = await operator()
    const { status, json } = await ask('POST /managed/models', { body: { upstream: upstream() } })
    expect([status, json.ok]).toEqual([200, true])
    expect(json.models).toEqual([
      {
        id: 'gpt-5',
        proposal: expect.objectContaining({
          ...{ id: 'gpt-5', price: expect.objectContaining({ input: '1.25' }) },
          lanes: [expect.objectContaining({ cost: expect.objectContaining({ input: '1.25' }) })],
        }),
      },
      { id: 'own-model', proposal: null },
    ])
  })

  it.each([
    ['a wrong key', { api_key: 'sk-wrong' }, /401: Incorrect API key/],
    ['an address that answers with a page', { base_url: '/page/v1' }, /not a list of models/],
    ['an address where nothing listens', { base_url: 'http://127.0.0.1:9/v1' }, /local|connect/i],
  ])('says what is wrong with %s', async (_, more, message) => {
    const ask = await operator()
    const at = 'base_url' in more && more.base_url.startsWith('/') ? { base_url: base + more.base_url } : more
    const { json } = await ask('POST /managed/models', { body: { upstream: upstream(at) } })
    expect(json).toMatchObject({ ok: false, models: [], message: expect.stringMatching(message) })
    expect(JSON.stringify(json)).not.toMatch(/sk-/)
  })

  it('is not called at a private address without leave', async () => {
    const ask = await operator()
    const refused = await ask('POST /managed/models', { body: { upstream: upstream({ allow_private: false }) } })
    expect([refused.status, refused.error?.code]).toEqual([400, 'managed_invalid'])
  })

  it('is tested, saved, and serves the first request; later its stored key is used for its own address only', async () => {
    const ask = await operator()
    const test = await ask('POST /managed/test', { body: { upstream: upstream(), model: 'gpt-5' } })
    expect(test.json).toMatchObject({ ok: true })
    const { json } = await ask('POST /managed/models', { body: { upstream: upstream() } })
    const [{ proposal }] = json.models as [{ proposal: object }]
    expect((await ask('POST /managed', { body: { upstreams: [upstream()], models: [proposal] } })).status).toBe(200)
    const account = await openAccount(server())
    const streamed = await fetch(`${server().baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-5', stream: true, messages: [{ role: 'user', content: 'Hi' }] }),
    })
    expect(await streamed.text()).toMatch(/\[DONE\]/)
    const [receipt] = await account.receipts()
    // 9 tokens at 1.25 and 1 at 10.00 dollars a million.
    expect(receipt).toMatchObject({ uncached_input: 9, output: 1, charge_nano: 21_250n })
    const named = await ask('POST /managed/models', { body: { upstream: { id: 'local' } } })
    expect(named.json.ok).toBe(true)
    const elsewhere = await ask('POST /managed/models', {
      body: { upstream: { id: 'local', wire: 'chat', base_url: `${base}/other/v1`, allow_private: true } },
    })
    expect(elsewhere.error?.code).toBe('managed_key_needed')
  })
})

const SANDBOX = {
  upstreams: [{ id: 'sandbox', wire: 'demo' }],
  models: [
    {
      ...{ id: 'sandbox-1', context_tokens: 128_000, max_output_tokens: 100, price: { input: '0', output: '500' } },
      lanes: [{ upstream: 'sandbox', model: 'demo-fast', cost: { input: '0', output: '100' } }],
    },
  ],
}

describe('a change of a price', () => {
  it('is previewed exactly, by account', async () => {
    const ask = await operator()
    await ask('POST /managed', { body: SANDBOX })
    const accounts = [await openAccount(server()), await openAccount(server())] as const
    for (const account of [accounts[0], accounts[0], accounts[1]])
      expect((await chat(server(), account, { model: 'sandbox-1' })).status).toBe(200)
    await chat(server(), accounts[1], { model: 'swift' })
    const body = { model: 'sandbox-1', price: { input: '0', output: '750', per_request: '0.01' } }
    const { status, json } = await ask('POST /managed/preview', { body })
    expect(status).toBe(200)
    const receipts = (await Promise.all(accounts.map((account) => account.receipts())))
      .flat()
      .filter(({ model }) => model === 'sandbox-1')
    const sum = (of: (output: bigint) => bigint) =>
      receipts.reduce((total, { output }) => total + of(BigInt(output ?? 0)), 0n)
    const charged = sum((output) => output * 500_000n)
    const wouldBe = sum((output) => output * 750_000n + 10_000_000n)
    const cost = sum((output) => output * 100_000n)
    expect(json).toMatchObject({ model: 'sandbox-1', requests: 3, complete: true, accounts_total: 2 })
    expect(
      ['charged', 'would_be', 'change', 'cost', 'margin_would_be'].map((key) => nanoOf(json[key] as string)),
    ).toEqual([...[charged, wouldBe, wouldBe - charged, cost, wouldBe - cost]])
    const rows = json.accounts as { email: string; requests: number; charged: string }[]
    expect(rows.map(({ email, requests }) => [email, requests])).toContainEqual([accounts[0].email, 2])
    expect(rows.reduce((total, row) => total + nanoOf(row.charged), 0n)).toBe(charged)
    const bad = await ask('POST /managed/preview', { body: { model: 'sandbox-1', price: { input: 'x' } } })
    expect(bad.error?.code).toBe('managed_invalid')
  })

  it('takes effect at its moment, and every request has the price of its beginning', async () => {
    const ask = await operator()
    await ask('POST /managed', { body: SANDBOX })
    const account = await openAccount(server())
    await chat(server(), account, { model: 'sandbox-1' })
    const [first] = await account.receipts()
    const at = Date.now() + 3000
    const prices = [{ model: 'sandbox-1', price: { input: '0', output: '600' }, from: new Date(at).toISOString() }]
    expect((await ask('POST /managed', { body: { prices } })).status).toBe(200)
    /** By request: when it was sent, and when its answer was there. */
    const times = new Map<string, readonly [number, number]>()
    const client = async () => {
      while (Date.now() < at + 1000) {
        const sentAt = Date.now()
        const { status, requestId } = await chat(server(), account, { model: 'sandbox-1' })
        expect(status).toBe(200)
        times.set(requestId, [sentAt, Date.now()])
        // A fast machine would reach the limit of the key.
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
    }
    // Its head arrives before the moment, its body long after the reload that the moment brings.
    const slow = async () => {
      const body = Buffer.from(JSON.stringify({ model: 'sandbox-1', messages: hello() }))
      const { port, pathname } = new URL(`${server().baseUrl}/chat/completions`)
      const request = httpRequest({
        ...{ port, path: pathname, method: 'POST' },
        headers: {
          authorization: `Bearer ${account.key}`,
          'content-type': 'application/json',
          'content-length': body.length,
        },
      })
      request.write(body.subarray(0, 5))
      await new Promise((resolve) => setTimeout(resolve, at + 700 - Date.now()))
      request.end(body.subarray(5))
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      await drain(response)
      return String(response.headers['x-request-id'])
    }
    const [late] = await Promise.all([slow(), client(), client(), client(), client()])
    const receipts = await account.receipts()
    const isNew = ({ price_version }: { price_version: number }) => price_version > first!.price_version
    for (const receipt of receipts) {
      const { request_id, output, charge_nano } = receipt
      expect(charge_nano).toBe(BigInt(output ?? 0) * (isNew(receipt) ? 600_000n : 500_000n))
      const [sentAt = 0, doneAt = 0] = times.get(request_id) ?? []
      if (doneAt < at) expect(isNew(receipt), `${at - doneAt} ms before`).toBe(false)
      if (sentAt > at) expect(isNew(receipt), `${sentAt - at} ms after`).toBe(true)
    }
    expect(isNew(receipts.find(({ request_id }) => request_id === late)!)).toBe(false)
    expect(receipts.filter(isNew).length).toBeGreaterThan(0)
    expect(receipts.filter((each) => !isNew(each)).length).toBeGreaterThan(1)
    const { items } = (await ask('GET /managed')).json as {
      items: { name: string; prices: unknown[]; entry: unknown }[]
    }
    const shown = items.find(({ name }) => name === 'sandbox-1')
    expect(shown).toMatchObject({ prices: [], entry: { price: { output: '600' } } })
  })

  it('is called off, and a later change of the model keeps those that are left', async () => {
    const ask = await operator()
    await ask('POST /managed', { body: SANDBOX })
    const price = (output: string, from: string) => ({ model: 'sandbox-1', price: { input: '0', output }, from })
    const days = ['2099-01-01', '2027-06-01', '2027-07-01']
    const far = await ask('POST /managed', { body: { prices: [price('1', days[0]!)] } })
    expect(far.error?.code).toBe('invalid_expiry')
    await ask('POST /managed', { body: { prices: [price('1', days[1]!), price('2', days[2]!)] } })
    await ask('POST /managed', { body: { models: [{ ...SANDBOX.models[0], max_output_tokens: 200 }] } })
    const off = await ask('POST /managed', { body: { prices: [{ model: 'sandbox-1', price: null, from: days[1] }] } })
    const items = off.json.items as { name: string; prices: { from: string }[] }[]
    expect(items.find(({ name }) => name === 'sandbox-1')?.prices.map(({ from }) => from.slice(0, 10))).toEqual([
      days[2],
    ])
    const again = await ask('POST /managed', { body: { prices: [{ model: 'sandbox-1', price: null, from: days[1] }] } })
    expect(again.error?.code).toBe('managed_not_found')
  })
})
