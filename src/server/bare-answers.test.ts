import { afterEach, describe, expect, it } from 'vitest'
import {
  ask,
  COMPLETED,
  chatRequest,
  closeTestEdges,
  connectRaw,
  EMPTY_ACCOUNT,
  getRequest,
  head,
  openTestEdge,
} from '../../test/fixtures/server/edge.ts'
import { expectProblem } from '../../test/fixtures/server/envelope.ts'

afterEach(closeTestEdges)

describe('where Node would answer bare, our envelope stands', () => {
  it.each([
    ['no HTTP at all', 'hello\r\n\r\n'],
    ['a TLS handshake', Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 1, 0])],
    ['HTTP/2 by prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a space in a header name', 'GET /v1 HTTP/1.1\r\nho st: x\r\n\r\n'],
    ['a bare line feed in a header', 'GET /v1 HTTP/1.1\r\nhost: x\nfoo: bar\rbaz\r\n\r\n'],
    ['a length that is no number', 'POST /v1 HTTP/1.1\r\nhost: x\r\ncontent-length: 1x\r\n\r\n'],
    [
      'length and chunks together',
      'POST /v1 HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n',
    ],
  ])('%s is 400 malformed_request', async (_name, bytes) => {
    const { port, logs, connectionLogs } = await openTestEdge()
    const client = connectRaw(port)
    client.send(bytes)
    const answer = await client.answer()
    expectProblem(answer, 'malformed_request')
    expect(answer.headers.connection).toBe('close')
    expect(await client.closed()).toBe('')
    const line = { code: 'malformed_request', request_id: answer.headers['x-request-id'] }
    expect([logs, connectionLogs]).toMatchObject([[], [line]])
  })

  it.each(['gzip', 'gzip, chunked', 'chunked, chunked'])(
    'the transfer coding %s is 400 malformed_request',
    async (coding) => {
      const { port } = await openTestEdge()
      const body = '2\r\n{}\r\n0\r\n\r\n'
      const asked = chatRequest({ headers: [`transfer-encoding: ${coding}`], body })
      expectProblem(await ask(port, asked), 'malformed_request')
    },
  )

  it('chunks in HTTP/1.0, which has none, are 400 malformed_request', async () => {
    const { port } = await openTestEdge()
    const headers = ['transfer-encoding: chunked', 'connection: keep-alive']
    const asked = String(chatRequest({ headers, body: '2\r\n{}\r\n0\r\n\r\n' }))
    const client = connectRaw(port)
    client.send(asked.replace('HTTP/1.1', 'HTTP/1.0'))
    expectProblem(await client.answer(), 'malformed_request', /HTTP\/1\.1/)
    expect(await client.closed()).toBe('')
  })

  it('two lengths are 400 duplicate_header', async () => {
    const { port } = await openTestEdge()
    expectProblem(
      await ask(port, chatRequest({ headers: ['content-length: 1', 'content-length: 1'] })),
      'duplicate_header',
    )
    expectProblem(
      await ask(port, chatRequest({ headers: ['content-length: 1', 'content-length: 2'] })),
      'duplicate_header',
    )
  })

  it('no Host is 400, but not for HTTP/1.0', async () => {
    const { port } = await openTestEdge()
    expectProblem(await ask(port, 'GET /healthz HTTP/1.1\r\n\r\n'), 'malformed_request', /Host/)
    expect((await ask(port, 'GET /healthz HTTP/1.0\r\n\r\n')).status).toBe(200)
  })

  it('headers that are too large are 431', async () => {
    const { port } = await openTestEdge()
    expectProblem(await ask(port, getRequest('/v1/models', `x: ${'x'.repeat(20_000)}`)), 'headers_too_large')
    expectProblem(await ask(port, getRequest(`/v1/${'x'.repeat(20_000)}`)), 'headers_too_large')
  })

  it('thousands of small headers do not push a second Authorization out of sight', async () => {
    const { port } = await openTestEdge({ options: { headerBytesMax: 64 * 1024 } })
    const many = Array.from({ length: 4000 }, () => 'a: 1')
    expectProblem(await ask(port, getRequest('/v1/models', ...many, 'authorization: Bearer other')), 'duplicate_header')
  })

  it('an unknown Expect is 417', async () => {
    const { port } = await openTestEdge()
    expectProblem(await ask(port, chatRequest({ headers: ['expect: 200-maybe'] })), 'expectation_failed')
  })

  it('CONNECT is 405', async () => {
    const { port } = await openTestEdge()
    const answer = await ask(port, head({ method: 'CONNECT', target: 'example.org:443' }))
    expectProblem(answer, 'method_not_allowed')
    expect(answer.headers.allow).toBe('GET, HEAD, POST')
  })

  it('a slow head is 408', async () => {
    const { port } = await openTestEdge({ options: { headersTimeoutMs: 200, requestTimeoutMs: 400 } })
    const client = connectRaw(port)
    client.send('GET /v1 HTTP/1.1\r\nhos')
    expectProblem(await client.answer(), 'request_timeout')
    expect(await client.closed()).toBe('')
  })

  it('a slow body is 408, with the caller in the log', async () => {
    const { port, logs } = await openTestEdge({ options: { headersTimeoutMs: 200, requestTimeoutMs: 400 } })
    const client = connectRaw(port)
    client.send(chatRequest({ headers: ['content-length: 100'] }))
    const drip = setInterval(() => client.send(' '), 50)
    const answer = await client.answer()
    clearInterval(drip)
    expectProblem(answer, 'request_timeout')
    expect(answer.headers.connection).toBe('close')
    expect(logs).toMatchObject([{ code: 'request_timeout', account_id: 'acct_1', status: 408 }])
  })

  it.each([
    ['a chunk size that is none', 'zz\r\nhello\r\n'],
    ['a chunk that is longer than it says', '2\r\nhello\r\n'],
    ['endless chunk extensions', `2;${'x'.repeat(20_000)}\r\n{}\r\n`],
  ])('%s in the body is refused', async (_name, rubbish) => {
    const { port } = await openTestEdge()
    const client = connectRaw(port)
    client.send(chatRequest({ headers: ['transfer-encoding: chunked'], body: `2\r\n{"\r\n` }))
    client.send(rubbish)
    const answer = await client.answer()
    expectProblem(answer, rubbish.length > 1000 ? 'request_too_large' : 'malformed_request')
    expect(answer.headers.connection).toBe('close')
  })
})

describe('WebSocket and other upgrades', () => {
  it('a WebSocket gets 426 at once, without a key, wherever it knocks', async () => {
    const { port } = await openTestEdge({ findCaller: () => new Promise(() => {}) })
    for (const target of ['/v1/responses', '/v1/chat/completions', '/nowhere']) {
      const client = connectRaw(port)
      client.send(
        head({
          target,
          headers: ['host: test', 'connection: Upgrade', 'upgrade: websocket', 'sec-websocket-version: 13'],
        }),
      )
      const answer = await client.answer()
      expectProblem(answer, 'websocket_not_supported')
      expect(answer.headers.connection).toBe('close')
      expect(await client.closed()).toBe('')
    }
  })

  it('a client that offers h2c is served over HTTP/1.1, body included, and its connection ends', async () => {
    const { port, bodies } = await openTestEdge()
    const client = connectRaw(port)
    const offer = ['connection: Upgrade, HTTP2-Settings', 'upgrade: h2c', 'http2-settings: AAA']
    client.send(chatRequest({ headers: offer }))
    const answer = await client.answer()
    expect([answer.status, answer.headers.connection]).toEqual([200, 'close'])
    expect(await client.closed()).toBe('')
    expect(bodies).toHaveLength(1)
  })
})

describe('pipelining', () => {
  it('two good requests are answered in order', async () => {
    const { port } = await openTestEdge({
      accountStatus: () => new Promise((resolve) => setTimeout(resolve, 30, EMPTY_ACCOUNT)),
    })
    const client = connectRaw(port)
    client.send(Buffer.concat([getRequest('/v1/key'), chatRequest(), getRequest('/healthz')]))
    expect(JSON.parse((await client.answer()).body)).toMatchObject({ object: 'key' })
    expect((await client.answer()).body).toBe('{"answer":"hello"}')
    expect((await client.answer()).body).toBe('{"status":"ok"}')
  })

  it('garbage behind a running answer lets it finish, and then the connection closes', async () => {
    let go = () => {}
    const { port } = await openTestEdge({
      async serveTurn({ sink }) {
        await sink.write(Buffer.from('data: one\n\n'))
        await new Promise<void>((resolve) => {
          go = resolve
        })
        sink.end(Buffer.from('data: two\n\n'))
        return COMPLETED
      },
    })
    const client = connectRaw(port)
    client.send(Buffer.concat([chatRequest({ body: '{"stream":true}' }), Buffer.from('garbage\r\n\r\n')]))
    while (!client.received().includes('one')) await new Promise((resolve) => setTimeout(resolve, 5))
    client.send('more garbage\r\n\r\n')
    await new Promise((resolve) => setTimeout(resolve, 50))
    go()
    const answer = await client.answer()
    expect({ status: answer.status, body: answer.body }).toEqual({ status: 200, body: 'data: one\n\ndata: two\n\n' })
    expect(await client.closed()).toBe('')
  })

  it('nothing behind a request whose answer closes the connection is taken for a request', async () => {
    const { port, bodies, logs } = await openTestEdge()
    const client = connectRaw(port)
    client.send(chatRequest({ headers: ['transfer-encoding: chunked', 'authorization: Bearer wrong'], body: '' }))
    const answer = await client.answer()
    expect([answer.status, answer.headers.connection]).toEqual([401, 'close'])
    client.send(Buffer.concat([Buffer.from('2\r\n{}\r\n0\r\n\r\n'), chatRequest()]))
    expect(await client.closed()).toBe('')
    expect([bodies.length, logs.length]).toEqual([0, 1])
  })

  it('garbage behind an answer that has not begun makes it say Connection: close', async () => {
    const { port } = await openTestEdge({
      accountStatus: () => new Promise((resolve) => setTimeout(resolve, 50, EMPTY_ACCOUNT)),
    })
    const client = connectRaw(port)
    client.send(Buffer.concat([getRequest('/v1/key'), Buffer.from('garbage\r\n\r\n')]))
    const answer = await client.answer()
    expect([answer.status, answer.headers.connection]).toEqual([200, 'close'])
    expect(await client.closed()).toBe('')
  })
})

describe('listening', () => {
  it('says by name that the port is taken', async () => {
    const { port } = await openTestEdge()
    const { edge } = await openTestEdge()
    await edge.stopAccepting()
    expect(await edge.listen({ host: '127.0.0.1', port })).toEqual({ kind: 'address-in-use' })
  })
})
