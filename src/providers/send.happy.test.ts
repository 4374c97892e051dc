import { afterEach, describe, expect, test } from 'vitest'
import {
  answered,
  caller,
  chunked,
  closeAll,
  jsonAnswer,
  LAST_CHUNK,
  rawProvider,
  readAll,
  SSE_HEAD,
  until,
  upstreamAt,
} from '../../test/fixtures/providers/provider.ts'
import type { StopSignal } from '../lib/async.ts'
import { Secret } from '../lib/secret.ts'

afterEach(closeAll)

describe('a call', () => {
  test('goes to the path below the base URL, with its own and the configured headers', async () => {
    const provider = await rawProvider(({ socket }) => socket.write(jsonAnswer('{}')))
    const upstream = upstreamAt(`${provider.url}/`, {
      apiKey: new Secret('sk-1'),
      headers: new Map([
        ['x-team', new Secret('seven')],
        ['user-agent', new Secret('ours/2')],
      ]),
    })
    const answer = answered(await caller().call(upstream, { delivery: 'json' }))
    expect(answer.status).toBe(200)
    expect((await readAll(answer)).text).toBe('{}')
    expect(provider.requests[0]!.body).toBe('{"a":1}')
    expect(provider.requests[0]!.head.split('\r\n')).toEqual([
      'POST /v1/chat/completions HTTP/1.1',
      `host: 127.0.0.1:${provider.port}`,
      'connection: keep-alive',
      'user-agent: ours/2',
      'authorization: Bearer sk-1',
      'x-team: seven',
      'content-type: application/json',
      'accept: application/json',
      'accept-encoding: identity',
      'content-length: 7',
    ])
  })

  test('of the azure dialect sends api-key; a stream sends accept', async () => {
    const provider = await rawProvider(({ socket }) => socket.write(jsonAnswer('{}')))
    const upstream = upstreamAt(provider.url, { apiKey: new Secret('az-1'), dialect: 'azure' })
    await readAll(answered(await caller().call(upstream)))
    const { head } = provider.requests[0]!
    expect(head).toMatch(/^api-key: az-1$/m)
    expect(head).toMatch(/^accept: text\/event-stream$/m)
    expect(head).not.toMatch(/^authorization/m)
  })

  test('of GitHub Copilot has no version in its path and names the initiator', async () => {
    const provider = await rawProvider(({ socket }) => socket.write(jsonAnswer('{}')))
    const upstream = upstreamAt(new URL(provider.url).origin, {
      apiKey: new Secret('gho_1'),
      dialect: 'github-copilot',
    })
    const asked = (body: object, over: Partial<typeof upstream> = {}) =>
      caller().call({ ...upstream, ...over }, { body: Buffer.from(JSON.stringify(body, null, 1)) })
    const user = { role: 'user', content: 'say "role":"tool"' }
    const called = { role: 'assistant', tool_calls: [] }
    const long = { role: 'tool', content: 'x'.repeat(300_000) }
    const tools = [{ function: { parameters: { properties: { role: { type: 'string' } }, required: ['role'] } } }]
    for (const body of [
      { messages: [user], tools },
      { messages: [user, called, long], tools },
      { input: [user, { type: 'function_call', name: 'f' }, { type: 'function_call_output', output: 'x' }] },
      { input: 'hi' },
    ]) {
      await readAll(answered(await asked(body)))
    }
    await readAll(answered(await asked({}, { headers: new Map([['x-initiator', new Secret('agent')]]) })))
    const heads = provider.requests.map(({ head }) => head)
    expect(heads[0]).toMatch(/^POST \/chat\/completions HTTP/)
    for (const header of [
      'authorization: Bearer gho_1',
      'openai-intent: conversation-edits',
      'copilot-vision-request: true',
    ])
      expect(heads[0]!.split('\r\n')).toContain(header)
    const initiators = heads.map((head) => [...head.matchAll(/^x-initiator: (\w+)\r$/gm)].map(([, word]) => word))
    expect(initiators).toEqual([['user'], ['agent'], ['agent'], ['user'], ['agent']])
  })

  test('of Vertex AI sends a bearer token on both interfaces', async () => {
    const provider = await rawProvider(({ socket }) => socket.write(jsonAnswer('{}')))
    const project = `${provider.url}/projects/p/locations/global`
    const token = { apiKey: new Secret('ya29.1'), dialect: 'google-vertex' }
    const native = upstreamAt(`${project}/publishers/google`, { ...token, wire: 'gemini' })
    await readAll(answered(await caller().call(native, { model: 'gemini-9' })))
    await readAll(answered(await caller().call(upstreamAt(`${project}/endpoints/openapi`, token))))
    const [first, second] = provider.requests.map(({ head }) => head)
    expect(first).toMatch(
      /^POST \/v1\/projects\/p\/locations\/global\/publishers\/google\/models\/gemini-9:streamGenerateContent\?alt=sse HTTP/,
    )
    expect(second).toMatch(/^POST \/v1\/projects\/p\/locations\/global\/endpoints\/openapi\/chat\/completions HTTP/)
    for (const head of [first, second]) {
      expect(head).toMatch(/^authorization: Bearer ya29\.1\r$/m)
      expect(head).not.toMatch(/x-goog-api-key/)
    }
  })

  test.each(['anthropic-compat', 'vercel-gateway', 'bedrock'])(
    'of the dialect %s is one of the wire',
    async (dialect) => {
      const provider = await rawProvider(({ socket }) => socket.write(jsonAnswer('{}')))
      await readAll(answered(await caller().call(upstreamAt(provider.url, { apiKey: new Secret('k-1'), dialect }))))
      expect(provider.requests[0]!.head).toMatch(/^POST \/v1\/chat\/completions HTTP/)
      expect(provider.requests[0]!.head).toMatch(/^authorization: Bearer k-1\r$/m)
    },
  )

  test('of the anthropic wire sends anthropic-version', async () => {
    const provider = await rawProvider(({ socket }) => socket.write(jsonAnswer('{}')))
    const upstream = upstreamAt(provider.url, { wire: 'anthropic', apiKey: new Secret('ak-1') })
    await readAll(answered(await caller().call(upstream)))
    await readAll(answered(await caller().call({ ...upstream, apiVersion: '2026-10-21' })))
    const [first, second] = provider.requests.map(({ head }) => head)
    expect(first).toMatch(/^POST \/v1\/messages HTTP/)
    expect(first).toMatch(/^x-api-key: ak-1\r\nanthropic-version: 2023-06-01\r$/m)
    expect(first).not.toMatch(/^authorization/m)
    expect(second).toMatch(/^anthropic-version: 2026-10-21\r$/m)
  })

  test('that may drop thinking sends the beta for it, beside those of the configuration', async () => {
    const provider = await rawProvider(({ socket }) => socket.write(jsonAnswer('{}')))
    const upstream = upstreamAt(provider.url, { wire: 'anthropic', prefixMismatch: 'drop' })
    await readAll(answered(await caller().call(upstream)))
    const headers = new Map([['anthropic-beta', new Secret('one-2026-01-01')]])
    await readAll(answered(await caller().call({ ...upstream, headers })))
    const [first, second] = provider.requests.map(({ head }) => head)
    expect(first).toMatch(/^anthropic-beta: thinking-binding-controls-2026-08-01\r$/m)
    expect(second).toMatch(/^anthropic-beta: one-2026-01-01,thinking-binding-controls-2026-08-01\r$/m)
  })

  test('returns only the headers that are used', async () => {
    const head = 'Retry-After: 3\r\nX-Request-Id: r1\r\nX-Request-ID: r2\r\nset-cookie: a=b\r\n'
    const provider = await rawProvider(({ socket }) => socket.write(jsonAnswer('{}', head)))
    const answer = answered(await caller().call(upstreamAt(provider.url)))
    expect(answer.headers).toEqual({ 'content-type': 'application/json', 'retry-after': '3', 'x-request-id': 'r1, r2' })
  })

  test('skips 1xx responses', async () => {
    const provider = await rawProvider(({ socket }) => {
      socket.write('HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n')
      socket.write(jsonAnswer('{"b":2}'))
    })
    const answer = answered(await caller().call(upstreamAt(provider.url)))
    expect([answer.status, (await readAll(answer)).text]).toEqual([200, '{"b":2}'])
  })

  test('returns error statuses as answers', async () => {
    const provider = await rawProvider(({ socket }) => socket.write('HTTP/1.1 429 No\r\ncontent-length: 2\r\n\r\nno'))
    const answer = answered(await caller().call(upstreamAt(provider.url)))
    expect([answer.status, (await readAll(answer)).text]).toEqual([429, 'no'])
  })

  test('ends its body by length, last chunk or close', async () => {
    const endings = [
      jsonAnswer('whole'),
      `${SSE_HEAD}${chunked('whole')}0\r\nx-trailer: 1\r\n\r\n`,
      'HTTP/1.0 200 OK\r\n\r\nwhole',
      'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nwhole',
    ]
    const provider = await rawProvider(({ socket }) => {
      const bytes = endings[provider.requests.length - 1]!
      if (/HTTP\/1.0|close/.test(bytes)) socket.end(bytes)
      else socket.write(bytes)
    })
    const { call } = caller()
    for (const _ of endings) {
      const { text, error } = await readAll(answered(await call(upstreamAt(provider.url))))
      expect([text, error]).toEqual(['whole', undefined])
    }
  })
})

test('one socket read is one body read', async () => {
  const frames = Array.from({ length: 50 }, (_, n) => chunked(`data: ${n}\n\n`)).join('')
  const provider = await rawProvider(({ socket }) => socket.write(SSE_HEAD + frames + LAST_CHUNK))
  const { text, reads } = await readAll(answered(await caller().call(upstreamAt(provider.url))))
  expect(text.match(/data/g)).toHaveLength(50)
  expect(reads).toBe(1)
})

describe('connections', () => {
  test('are reused, one per concurrent call', async () => {
    const provider = await rawProvider(({ socket }) => socket.write(jsonAnswer('{}')))
    const { call, pools } = caller()
    const upstream = upstreamAt(provider.url)
    const once = async () => void (await readAll(answered(await call(upstream))))
    for (let n = 0; n < 20; n++) await once()
    // A connection that has just served rests for a turn of the loop; who comes in that moment opens the second.
    expect(provider.counted.opened).toBeLessThanOrEqual(2)
    await Promise.all(Array.from({ length: 8 }, once))
    expect([8, 9]).toContain(provider.counted.opened)
    expect(provider.requests).toHaveLength(28)
    expect(await pools.connectionsOf(upstream)).toBe(provider.counted.opened)
    await pools.close()
    await until(() => provider.counted.closed === provider.counted.opened)
  })

  test('closed while idle are replaced', async () => {
    const provider = await rawProvider(({ socket }) => socket.write(jsonAnswer('{}')))
    const { call } = caller()
    const upstream = upstreamAt(provider.url)
    for (const how of ['end', 'resetAndDestroy', 'destroy'] as const) {
      await readAll(answered(await call(upstream)))
      const closed = provider.counted.closed
      provider.requests.at(-1)!.socket[how]()
      await until(() => provider.counted.closed > closed)
      await readAll(answered(await call(upstream)))
    }
    expect(provider.requests).toHaveLength(6)
  })

  test('are reused after a released body ends, and closed when it does not', async () => {
    const provider = await rawProvider(({ socket }) => {
      socket.write(SSE_HEAD + chunked('data: [DONE]\n\n'))
      if (provider.requests.length === 1) setTimeout(() => socket.write(chunked(': late') + LAST_CHUNK), 20)
    })
    const { call } = caller()
    const upstream = upstreamAt(provider.url)
    for (const opened of [1, 1]) {
      const answer = answered(await call(upstream))
      await answer.body.read()
      answer.body.release()
      expect(provider.counted.opened).toBe(opened)
      if (provider.requests.length === 1) await new Promise((resolve) => setTimeout(resolve, 80))
    }
    await until(() => provider.counted.closed === 1)
  })

  test('are closed when a released body continues', async () => {
    const provider = await rawProvider(({ socket }) => {
      socket.write(SSE_HEAD)
      const more = setInterval(() => socket.write(chunked('x'.repeat(50_000))), 5)
      socket.on('close', () => clearInterval(more))
    })
    const answer = answered(await caller().call(upstreamAt(provider.url)))
    await answer.body.read()
    answer.body.release()
    await until(() => provider.counted.closed === 1)
  })
})

test('a call leaves no listener on its signal', async () => {
  const provider = await rawProvider(({ socket }) => {
    if (provider.requests.length % 4 === 0) socket.destroy()
    else socket.write(jsonAnswer('{}'))
  })
  const { call } = caller()
  const upstream = upstreamAt(provider.url)
  const signal: StopSignal = { stopped: false, onStop: undefined }
  const CALLS = 2000
  for (let n = 0; n < CALLS; n++) {
    const outcome = await call(upstream, { signal })
    if (outcome.kind === 'answer') {
      if (n % 3 === 0) outcome.body.cancel()
      await readAll(outcome)
    }
    expect(signal.onStop).toBeUndefined()
  }
})
