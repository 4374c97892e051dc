import { describe, expect, it } from 'vitest'
import { get, hello } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'
import { errorOf, expectReplay, sendTurn } from './keyed.ts'

const DAY_MS = 86_400_000

const BODIES = {
  json: { model: 'swift', messages: hello('count to 50') },
  stream: { model: 'swift', stream: true, messages: hello('count to 50') },
  'stream with usage': {
    model: 'swift-high',
    stream: true,
    stream_options: { include_usage: true },
    messages: hello('count to 5'),
  },
  'choices and a tool': {
    ...{ model: 'swift', n: 1, stream: true, messages: hello('get_weather now') },
    tools: [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: {} } } }],
  },
}

describe('the same key', () => {
  const server = useServer()
  let keys = 0
  const fresh = () => `key-${++keys}`

  it.each(Object.entries(BODIES))('replays the same answer, charged once: %s', async (_name, body) => {
    const account = await openAccount(server())
    const receivedRequest = { key: account.key, idempotencyKey: fresh() }
    const first = await sendTurn(server(), receivedRequest, body)
    expect(first.status).toBe(200)
    const { balance } = await account.wallet()
    for (let times = 0; times < 3; times++) expectReplay(await sendTurn(server(), receivedRequest, body), first)
    expectReplay(
      await sendTurn(server(), { ...receivedRequest, idempotencyKey: `"${receivedRequest.idempotencyKey}"` }, body),
      first,
    )
    expect((await account.wallet()).balance).toBe(balance)
    expect(await account.receipts()).toHaveLength(1)
  })

  it('replays whatever the wallet’s balance is', async () => {
    const account = await openAccount(server(), { credit: '1.00' })
    const receivedRequest = { key: account.key, idempotencyKey: fresh() }
    const body = { model: 'paid', max_tokens: 1000, messages: hello('count to 2000') }
    const first = await sendTurn(server(), receivedRequest, body)
    expect((await account.wallet()).balance).toBe(0n)
    expectReplay(await sendTurn(server(), receivedRequest, body), first)
    expect((await sendTurn(server(), { key: account.key }, body)).status).toBe(402)
  })

  it('is scoped to one API key', async () => {
    const account = await openAccount(server())
    const other = await openAccount(server())
    const second = await account.createKey()
    const idempotencyKey = fresh()
    const answers = []
    for (const { key } of [account, second, other]) {
      answers.push(await sendTurn(server(), { key, idempotencyKey }, BODIES.json))
    }
    expect(new Set(answers.map(({ requestId }) => requestId)).size).toBe(3)
    for (const answer of answers) expect(answer.headers.get('idempotency-replayed')).toBe(null)
    expect([(await account.receipts()).length, (await other.receipts()).length]).toEqual([2, 1])
  })

  it('with another body is an error, even if only whitespace differs', async () => {
    const account = await openAccount(server())
    const receivedRequest = { key: account.key, idempotencyKey: fresh() }
    await sendTurn(server(), receivedRequest, BODIES.json)
    for (const body of [{ ...BODIES.json, stream: true }, ` ${JSON.stringify(BODIES.json)}`, '{']) {
      const answer = await sendTurn(server(), receivedRequest, body)
      expect([answer.status, errorOf(answer).code]).toEqual([422, 'idempotency_key_reused'])
    }
    expect(await account.receipts()).toHaveLength(1)
  })

  it('is free again after an uncharged refusal', async () => {
    const account = await openAccount(server())
    const receivedRequest = { key: account.key, idempotencyKey: fresh() }
    expect((await sendTurn(server(), receivedRequest, '{')).status).toBe(400)
    expect((await sendTurn(server(), receivedRequest, { ...BODIES.json, model: 'nowhere' })).status).toBe(404)
    const poor = await openAccount(server(), { credit: '0' })
    const poorly = { key: poor.key, idempotencyKey: fresh() }
    expect((await sendTurn(server(), poorly, BODIES.json)).status).toBe(402)
    await poor.credit('1.00')
    for (const each of [receivedRequest, poorly]) {
      const first = await sendTurn(server(), each, BODIES.json)
      expect(first.status).toBe(200)
      expectReplay(await sendTurn(server(), each, BODIES.json), first)
    }
  })

  it('lets one of two concurrent requests run; the other gets 409', async () => {
    const account = await openAccount(server())
    const receivedRequest = { key: account.key, idempotencyKey: fresh() }
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => sendTurn(server(), receivedRequest, BODIES.stream)),
    )
    const ran = answers.filter(({ status, headers }) => status === 200 && !headers.has('idempotency-replayed'))
    expect(ran).toHaveLength(1)
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect([answer.status, errorOf(answer).code]).toEqual([409, 'idempotency_in_progress'])
      // Where the database decides, the first may have ended since this one was looked up.
      const seconds = errorOf(answer).message.includes('has just ended') ? '1' : '2'
      expect(answer.headers.get('retry-after')).toBe(seconds)
    }
    expectReplay(await sendTurn(server(), receivedRequest, BODIES.stream), ran[0]!)
    expect(await account.receipts()).toHaveLength(1)
  })

  it('counts every attempt against request limits', async () => {
    const account = await openAccount(server())
    const { key } = await account.createKey({ limits: { requests_per_minute: 3 } })
    const receivedRequest = { key, idempotencyKey: fresh() }
    const first = await sendTurn(server(), receivedRequest, BODIES.json)
    expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('2')
    const again = await sendTurn(server(), receivedRequest, BODIES.json)
    expectReplay(again, first)
    expect(again.headers.get('x-ratelimit-remaining-requests')).toBe('1')
    expectReplay(await sendTurn(server(), receivedRequest, BODIES.json), first)
    const refused = await sendTurn(server(), receivedRequest, BODIES.json)
    expect([refused.status, errorOf(refused).code]).toEqual([429, 'rate_limit_exceeded'])
  })

  it('has no effect on GET', async () => {
    const account = await openAccount(server())
    const response = await fetch(`${server().baseUrl}/models`, {
      headers: { authorization: `Bearer ${account.key}`, 'idempotency-key': 'not a key' },
    })
    expect(response.status).toBe(200)
  })

  it('expires after its retention; then the request runs again', async () => {
    const account = await openAccount(server())
    const receivedRequest = { key: account.key, idempotencyKey: fresh() }
    const first = await sendTurn(server(), receivedRequest, BODIES.json)
    server().advance(DAY_MS - 60_000)
    expectReplay(await sendTurn(server(), receivedRequest, BODIES.json), first)
    server().advance(60_000)
    const afterExpiry = await sendTurn(server(), receivedRequest, BODIES.json)
    expect([afterExpiry.status, afterExpiry.headers.get('idempotency-replayed')]).toEqual([200, null])
    expect(await account.receipts()).toHaveLength(2)
    expectReplay(await sendTurn(server(), receivedRequest, BODIES.json), afterExpiry)
    const { db } = server().app.operations
    // Long after, nothing of any of them is left in the books.
    server().advance(DAY_MS)
    await until(async () => (await db.selectFrom('claims').selectAll().execute()).length === 0)
  })

  it('leaves one receipt, under the id of the first request', async () => {
    const account = await openAccount(server())
    const receivedRequest = { key: account.key, idempotencyKey: fresh() }
    const first = await sendTurn(server(), receivedRequest, BODIES.json)
    const again = await sendTurn(server(), receivedRequest, BODIES.json)
    expect((await get(server(), account, `/requests/${first.requestId}`)).status).toBe(200)
    expect((await get(server(), account, `/requests/${again.requestId}`)).status).toBe(404)
  })
})

describe('the storage for kept answers', () => {
  const server = useServer({
    config: `
upstreams: [{ id: demo, wire: demo }]
models:
  - id: swift
    context_tokens: 128000
    max_output_tokens: 8192
    price: { input: "0.10", output: "0.40" }
    lanes: [{ upstream: demo, model: demo-fast }]
retention: { idempotency_bytes: 1500B }
`,
  })

  it('evicts the oldest answers; their keys stay taken and never run again', async () => {
    const account = await openAccount(server())
    const keys = ['a', 'b', 'c', 'd', 'e', 'f']
    for (const idempotencyKey of keys) {
      expect((await sendTurn(server(), { key: account.key, idempotencyKey }, BODIES.json)).status).toBe(200)
    }
    const old = await sendTurn(server(), { key: account.key, idempotencyKey: 'a' }, BODIES.json)
    expect([old.status, errorOf(old).code]).toEqual([409, 'idempotency_not_replayable'])
    expect(old.headers.get('x-should-retry')).toBe('false')
    const young = await sendTurn(server(), { key: account.key, idempotencyKey: 'f' }, BODIES.json)
    expect(young.headers.get('idempotency-replayed')).toBe('true')
    expect(await account.receipts()).toHaveLength(keys.length)
  })
})
