import { afterEach, describe, expect, it } from 'vitest'
import { emitsFirstText, emitsInTwo } from '../../fakes/emit-items.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { openRawSocket } from '../../support/raw-socket.ts'
import { answerOf, get } from '../../support/send-chat.ts'
import { beginReading, respond, sendResponse, streamResponse } from '../../support/send-responses.ts'
import { openAccount } from '../../support/test-account.ts'
import { createPause, FAR_MODELS, HELLO, useResponsesServer } from './responses-server.ts'

describe('at the edges of /v1/responses', () => {
  const setup = useResponsesServer()

  it('a WebSocket upgrade is refused before authentication', async () => {
    for (const path of ['/v1/responses', '/v1/responses?model=swift']) {
      const socket = await openRawSocket(setup().server)
      const head = [
        ...[`GET ${path} HTTP/1.1`, 'host: test', 'connection: Upgrade', 'upgrade: websocket'],
        ...['sec-websocket-version: 13', 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=='],
        'openai-beta: responses_websockets=2026-02-06',
      ]
      socket.write(`${head.join('\r\n')}\r\n\r\n`)
      const answer = await socket.answer()
      expectProblem(answer, 'websocket_not_supported', { message: /POST/ })
      expect(answer.status).toBe(426)
      expect(answer.headers.get('connection')).toBe('close')
      await socket.closed
    }
  })

  it('GET and HEAD answer 405 without a key', async () => {
    const { baseUrl } = setup().server
    const plain = await answerOf(await fetch(`${baseUrl}/responses`))
    expectProblem(plain, 'method_not_allowed', { message: /POST/ })
    expect(plain.headers.get('allow')).toBe('POST')
    const head = await fetch(`${baseUrl}/responses`, { method: 'HEAD' })
    expect([head.status, head.headers.get('allow'), await head.text()]).toEqual([405, 'POST', ''])
    const post = await fetch(`${baseUrl}/responses/resp_1`, { method: 'POST' })
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD, DELETE'])
  })

  it('HEAD of a stored response matches GET', async () => {
    const { server } = setup()
    const account = await openAccount(server)
    const { json } = await respond(server, account)
    const headers = { authorization: `Bearer ${account.key}` }
    const head = await fetch(`${server.baseUrl}/responses/${json.id}`, { method: 'HEAD', headers })
    expect([head.status, await head.text()]).toEqual([200, ''])
    expect(head.headers.get('content-type')).toMatch(/^application\/json/)
    const streamed = await streamResponse(server, account)
    const again = `${server.baseUrl}/responses/${streamed.id}?stream=true`
    const headOfStream = await fetch(again, { method: 'HEAD', headers })
    expect([headOfStream.status, await headOfStream.text()]).toEqual([200, ''])
  })

  it.each([
    ['/responses/input_tokens', /usage/],
    ['/responses/resp_1/input_items', /GET \/v1\/responses/],
  ])('%s is not supported, and the error says what to do instead', async (path, message) => {
    const { server } = setup()
    const account = await openAccount(server)
    const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' }
    for (const method of ['POST', 'GET']) {
      const body = method === 'POST' ? { body: '{"model":"swift","input":"x"}' } : {}
      const answer = await answerOf(await fetch(`${server.baseUrl}${path}`, { method, headers, ...body }))
      expectProblem(answer, 'endpoint_not_provided', { message })
      expect(answer.json.error.message).toContain('POST /v1/responses')
    }
  })

  it('a web page is refused, and GET /v1 lists the endpoints', async () => {
    const { server } = setup()
    const account = await openAccount(server)
    const page = await respond(server, account, {}, { headers: { origin: 'https://example.com' } })
    expectProblem(page, 'browser_not_allowed')
    const { endpoints } = (await get(server, account, '')).json
    for (const named of ['POST /v1/responses', 'GET /v1/responses/{id}', 'DELETE /v1/responses/{id}']) {
      expect(endpoints).toContain(named)
    }
  })

  it.each(FAR_MODELS)(
    'a provider of %s that fails before content is a status, and nothing is stored or charged',
    async (model) => {
      const { server, description } = setup()
      const account = await openAccount(server)
      description(async (providerAnswer) => {
        await providerAnswer.head(500)
        await providerAnswer.bytes('{"error":{"message":"no"}}')
        await providerAnswer.end()
      })
      for (const stream of [true, false]) {
        const answer = await respond(server, account, { model, stream })
        expect([answer.status, answer.json.error.code]).toEqual([503, 'server_is_overloaded'])
        expect(answer.json.error.request_id).toBe(answer.requestId)
      }
      description(async (providerAnswer) => providerAnswer.close())
      expect((await respond(server, account, { model, stream: true })).status).toBe(503)
      expect((await account.receipts()).map((row) => row.charge_nano)).toEqual([0n, 0n, 0n])
    },
  )

  it.each(FAR_MODELS)('a provider of %s that breaks after content: error, response.failed, [DONE]', async (model) => {
    const { server, description } = setup()
    const account = await openAccount(server)
    description(emitsFirstText(HELLO, async (providerAnswer) => providerAnswer.close()))
    const { text, events, requestId } = await streamResponse(server, account, { model })
    const [error, failed] = events.slice(-2)
    expect([error?.type, failed?.type]).toEqual(['error', 'response.failed'])
    expect(error).toMatchObject({ code: 'upstream_error', param: null, error: { request_id: requestId } })
    expect(text.endsWith('\n\ndata: [DONE]\n\n')).toBe(true)
    const [receipt] = await account.receipts()
    expect(receipt).toMatchObject({ state: 'settled', outcome: 'upstream_failed' })
    expect(receipt!.charge_nano).toBeGreaterThan(0n)
  })
})

describe.each(FAR_MODELS)('a silent provider of %s', (model) => {
  const config = 'streams: { silence_before_head: 10ms, keep_alive: 10ms }'
  const setup = useResponsesServer({ config })
  const pause = createPause()
  // A test that fails must not leave its provider waiting.
  afterEach(pause.goOn)
  const count = (text: string, of: string) => text.split(of).length - 1

  it('before content: the response is created and in progress', async () => {
    const { server, description } = setup()
    const account = await openAccount(server)
    description(async (providerAnswer) => {
      await pause.wait(providerAnswer)
      await emitsInTwo(HELLO, async () => {})(providerAnswer)
    })
    const reading = beginReading(await sendResponse(server, account, { model, stream: true }))
    const events = await reading.until(({ length }) => length >= 5)
    const types = events.map(({ type }) => type)
    expect(types[0]).toBe('response.created')
    expect(new Set(types.slice(1))).toEqual(new Set(['response.in_progress']))
    pause.goOn()
    const all = await reading.rest()
    expect(all.at(-1)).toMatchObject({ type: 'response.completed' })
    const { id } = all[0]!.response as { id: string }
    const again = await fetch(`${server.baseUrl}/responses/${id}?stream=true`, {
      headers: { authorization: `Bearer ${account.key}` },
    })
    expect(await again.text()).toBe(withoutComments(reading.text))
  })

  it('between deltas: an empty delta keeps it alive', async () => {
    const { server, description } = setup()
    const account = await openAccount(server)
    description(emitsInTwo(HELLO, pause.wait))
    const key = { headers: { 'idempotency-key': `silent-${model}` } }
    const reading = beginReading(await sendResponse(server, account, { model, stream: true }, key))
    const empty = '"delta":""'
    await reading.until(() => count(reading.text, empty) >= 3)
    pause.goOn()
    const all = await reading.rest()
    const response = all.at(-1)?.response as { id: string; output: readonly object[] }
    expect(response.output).toMatchObject([{ content: [{ text: 'Good morning' }] }])
    const headers = { authorization: `Bearer ${account.key}` }
    const again = await fetch(`${server.baseUrl}/responses/${response.id}?stream=true`, { headers })
    expect(await again.text()).toBe(withoutComments(reading.text))
    const replay = await sendResponse(server, account, { model, stream: true }, key)
    expect(replay.headers.get('idempotency-replayed')).toBe('true')
    expect(await replay.text()).toBe(withoutComments(reading.text))
    expect(await account.receipts()).toHaveLength(1)
  })
})

/** Comments are no part of an answer: they come where its row is not stored yet. */
const withoutComments = (text: string): string => text.replaceAll(': keep-alive\n\n', '')
