import { afterEach, describe, expect, it } from 'vitest'
import {
  chatRequest,
  closeTestEdges,
  connectRaw,
  EMPTY_ACCOUNT,
  GOOD_KEY,
  getRequest,
  head,
  openTestEdge,
} from '../../test/fixtures/server/edge.ts'
import { expectProblem } from '../../test/fixtures/server/envelope.ts'
import { createMetricsServer } from './metrics-server.ts'

afterEach(closeTestEdges)

/** A smuggled request: it is in the body of another one. */
const HIDDEN = chatRequest({ body: '{"model":"demo","hidden":true}' })

/** An edge whose key description answers only when the test says so, so that bytes can arrive behind a running answer. */
async function openSlowEdge() {
  let release = () => {}
  let arrived = () => {}
  const asked = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const opened = await openTestEdge({
    async accountStatus() {
      arrived()
      await held
      return EMPTY_ACCOUNT
    },
  })
  return { ...opened, asked, release: () => release() }
}

const soon = (ms = 30) => new Promise((resolve) => setTimeout(resolve, ms))

/** Sends `first`, waits until its answer is being made, sends `rest`, and collects everything that comes back. */
async function attack(first: Buffer, rest: Buffer) {
  const { port, bodies, logs, asked, release } = await openSlowEdge()
  const client = connectRaw(port)
  client.send(first)
  await asked
  client.send(rest)
  await soon()
  release()
  const answer = await client.answer()
  const left = answer.headers.connection === 'close' ? await client.closed() : 'the connection stays open'
  client.socket.destroy()
  return { answer, left, bodies, logs }
}

const OFFERS: readonly (readonly [string, readonly string[]])[] = [
  ['h2c', ['connection: Upgrade, HTTP2-Settings', 'upgrade: h2c', 'http2-settings: AAA']],
  ['an unknown token', ['connection: Upgrade', 'upgrade: foo/3']],
  ['TLS', ['connection: upgrade', 'upgrade: TLS/1.3, HTTP/1.1']],
  ['a list of tokens', ['connection: keep-alive , UPGRADE', 'upgrade: HTTP/2.0, foo']],
  ['two Connection headers', ['connection: keep-alive', 'connection: Upgrade', 'upgrade: h2c']],
  ['two Upgrade headers', ['connection: Upgrade', 'upgrade: h2c', 'upgrade: foo']],
  ['no Connection header', ['upgrade: h2c']],
]

describe.each(OFFERS)('behind an offered upgrade (%s)', (_name, offer) => {
  const offering = getRequest('/v1/key', ...offer)

  it('the body of a pipelined request never runs as a request', async () => {
    const adapter = chatRequest({ headers: [`content-length: ${HIDDEN.length}`], body: '' })
    const { answer, left, bodies, logs } = await attack(Buffer.concat([offering, adapter]), HIDDEN)
    expect([answer.status, answer.headers.connection, left]).toEqual([200, 'close', ''])
    expect(bodies).toEqual([])
    expect(logs).toHaveLength(1)
  })

  it('no later request of the connection runs', async () => {
    const { answer, left, bodies, logs } = await attack(offering, Buffer.concat([HIDDEN, HIDDEN]))
    expect([answer.status, answer.headers.connection, left]).toEqual([200, 'close', ''])
    expect([bodies.length, logs.length]).toEqual([0, 1])
  })

  it('the same holds in HTTP/1.0', async () => {
    const old = Buffer.from(String(offering).replace('HTTP/1.1', 'HTTP/1.0'))
    const { answer, left, bodies } = await attack(old, HIDDEN)
    expect([answer.status, answer.headers.connection, left, bodies.length]).toEqual([200, 'close', '', 0])
  })

  it.each(['content-length', 'chunked'])('its own body (%s) is a body, and nothing follows it', async (framing) => {
    const { port, bodies, logs } = await openTestEdge()
    const client = connectRaw(port)
    const asked = JSON.stringify({ model: 'demo', text: String(HIDDEN) })
    const chunks = `${asked.length.toString(16)}\r\n${asked}\r\n0\r\n\r\n`
    const bytes =
      framing === 'chunked'
        ? chatRequest({ headers: ['transfer-encoding: chunked', ...offer], body: chunks })
        : chatRequest({ headers: offer, body: asked })
    client.send(bytes.subarray(0, bytes.length - 20))
    await soon()
    client.send(Buffer.concat([bytes.subarray(bytes.length - 20), HIDDEN]))
    const answer = await client.answer()
    expect([answer.status, answer.headers.connection]).toEqual([200, 'close'])
    client.send(HIDDEN)
    expect(await client.closed()).toBe('')
    expect(bodies).toMatchObject([{ value: { text: String(HIDDEN) } }])
    expect(logs).toHaveLength(1)
  })
})

describe('an upgrade in the trailers of a body', () => {
  it('changes nothing: the next request is one', async () => {
    const { port, bodies } = await openTestEdge()
    const client = connectRaw(port)
    const body = '10\r\n{"model":"demo"}\r\n0\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n'
    client.send(Buffer.concat([chatRequest({ headers: ['transfer-encoding: chunked'], body }), getRequest('/healthz')]))
    expect((await client.answer()).status).toBe(200)
    expect((await client.answer()).body).toBe('{"status":"ok"}')
    expect(bodies).toHaveLength(1)
    client.socket.destroy()
  })
})

describe('CONNECT', () => {
  it('behind a running answer closes the connection and is never taken for that answer', async () => {
    const { port, asked, release } = await openSlowEdge()
    const client = connectRaw(port)
    client.send(getRequest('/v1/key'))
    await asked
    client.send(head({ method: 'CONNECT', target: 'example.org:443' }))
    expect(await client.closed()).toBe('')
    release()
  })

  it('is refused, and what follows it never runs as a request', async () => {
    const { port, bodies, logs } = await openTestEdge()
    const client = connectRaw(port)
    client.send(Buffer.concat([head({ method: 'CONNECT', target: 'example.org:443' }), HIDDEN]))
    expectProblem(await client.answer(), 'method_not_allowed')
    client.send(HIDDEN)
    expect(await client.closed()).toBe('')
    expect([bodies.length, logs.length]).toEqual([0, 0])
  })
})

describe('requests behind an answer that closes its connection', () => {
  it('are bounded in number: a client that goes on sending them is cut off', async () => {
    const { port, asked, release } = await openSlowEdge()
    const client = connectRaw(port)
    client.send(getRequest('/v1/key', 'connection: Upgrade', 'upgrade: h2c'))
    await asked
    client.send(Buffer.concat(Array.from({ length: 200 }, () => getRequest('/healthz'))))
    expect(await client.closed()).toBe('')
    release()
  })
})

describe('only HTTP/1.0 and HTTP/1.1', () => {
  const versions = ['HTTP/2.0', 'HTTP/1.2', 'HTTP/3.0', 'HTTP/0.9', 'HTTP/9.9', 'HTTP/1', 'http/1.1', 'HTTPS/1.1']
  const lines = versions.map((version): [string, string] => [version, `GET /healthz ${version}\r\nhost: test\r\n\r\n`])

  it.each<[string, string]>([
    ...lines,
    ['no version, as HTTP/0.9 has it', 'GET /healthz\r\n\r\n'],
    ['no version and a space', 'GET /healthz \r\n\r\n'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ])('a request line with %s is refused and closed', async (_name, bytes) => {
    const { port, bodies } = await openTestEdge()
    const client = connectRaw(port)
    client.send(Buffer.concat([Buffer.from(bytes), HIDDEN]))
    const answer = await client.answer()
    expectProblem(answer, 'malformed_request')
    expect(answer.headers.connection).toBe('close')
    client.send(HIDDEN)
    expect(await client.closed()).toBe('')
    expect(bodies).toEqual([])
  })
})

describe('the bound on headers', () => {
  const KiB = 1024

  it('counts the separators too', async () => {
    const { port } = await openTestEdge()
    // 4 bytes of names and values, 20 on the wire with their separators.
    const many = Array.from({ length: 3000 }, () => 'a: 1')
    const wire = getRequest('/healthz', ...many)
    expect(wire.length).toBeGreaterThan(16 * KiB)
    const client = connectRaw(port)
    client.send(wire)
    const answer = await client.answer()
    expectProblem(answer, 'headers_too_large')
    expect(answer.headers.connection).toBe('close')
    expect(await client.closed()).toBe('')
  })

  it('is exact: one byte less is served', async () => {
    const { port } = await openTestEdge()
    const bare = getRequest('/healthz', 'a: ').length
    const exact = getRequest('/healthz', `a: ${'x'.repeat(16 * KiB - bare)}`)
    expect(exact).toHaveLength(16 * KiB)
    const fits = connectRaw(port)
    fits.send(exact)
    expect((await fits.answer()).status).toBe(200)
    fits.socket.destroy()
    const over = connectRaw(port)
    over.send(getRequest('/healthz', `a: ${'x'.repeat(16 * KiB - bare + 1)}`))
    expectProblem(await over.answer(), 'headers_too_large')
    expect(await over.closed()).toBe('')
  })
})

describe('the port of the metrics', () => {
  const openMetrics = async () => {
    let rendered = 0
    const server = createMetricsServer({
      async render() {
        rendered += 1
        await soon()
        return { contentType: 'text/plain', body: 'up 1\n' }
      },
    })
    const listening = await server.listen({ host: '127.0.0.1', port: 0 })
    if (listening.kind !== 'listening') throw new Error(listening.kind)
    return { server, port: listening.port, rendered: () => rendered }
  }
  const METRICS = head({ target: '/metrics' })

  it.each([
    ['behind an offered upgrade', head({ target: '/metrics', headers: ['host: x', ...OFFERS[0]![1]] }), METRICS],
    [
      'in the body of a request behind it',
      Buffer.concat([
        head({ target: '/metrics', headers: ['host: x', ...OFFERS[0]![1]] }),
        head({ method: 'POST', target: '/', headers: ['host: x', `content-length: ${METRICS.length}`] }),
      ]),
      METRICS,
    ],
    ['pipelined', Buffer.concat([METRICS, METRICS]), METRICS],
  ])('serves one request a connection: nothing %s', async (_name, first, rest) => {
    const { server, port, rendered } = await openMetrics()
    const client = connectRaw(port)
    client.send(first)
    await soon(10)
    client.send(rest)
    const answer = await client.answer()
    expect([answer.status, answer.headers.connection, answer.body]).toEqual([200, 'close', 'up 1\n'])
    expect(await client.closed()).toBe('')
    expect(rendered()).toBe(1)
    server.close()
  })

  it.each([
    ['POST', head({ method: 'POST', target: '/metrics', headers: ['host: x', 'content-length: 0'] }), 405],
    ['HTTP/2.0', Buffer.from('GET /metrics HTTP/2.0\r\nhost: x\r\n\r\n'), 400],
    ['another path', head({ target: '/' }), 404],
  ])('refuses %s', async (_name, bytes, status) => {
    const { server, port, rendered } = await openMetrics()
    const client = connectRaw(port)
    client.send(bytes)
    const answer = await client.answer()
    expect([answer.status, answer.headers.connection]).toEqual([status, 'close'])
    expect(await client.closed()).toBe('')
    expect(rendered()).toBe(0)
    server.close()
  })

  it('closes on CONNECT without a word', async () => {
    const { server, port } = await openMetrics()
    const client = connectRaw(port)
    client.send(head({ method: 'CONNECT', target: 'example.org:443' }))
    expect(await client.closed()).toBe('')
    server.close()
  })
})

describe('a WebSocket', () => {
  it('is refused, and nothing behind it runs', async () => {
    const { port, bodies } = await openTestEdge()
    const client = connectRaw(port)
    const headers = ['host: test', `authorization: Bearer ${GOOD_KEY}`, 'connection: Upgrade', 'upgrade: websocket']
    client.send(Buffer.concat([head({ headers }), HIDDEN]))
    expectProblem(await client.answer(), 'websocket_not_supported')
    client.send(HIDDEN)
    expect(await client.closed()).toBe('')
    expect(bodies).toEqual([])
  })
})
