import { afterEach, describe, expect, it } from 'vitest'
import {
  ask,
  COMPLETED,
  chatRequest,
  closeTestEdges,
  connectRaw,
  GOOD_KEY,
  getRequest,
  head,
  MODEL_IDS,
  openTestEdge,
} from '../../test/fixtures/server/edge.ts'
import { expectProblem } from '../../test/fixtures/server/envelope.ts'
import { isRequestId } from '../model/ids.ts'
import { problem } from '../model/problem.ts'

afterEach(closeTestEdges)

const parse = (body: string) => JSON.parse(body) as Record<string, unknown>

describe('what is offered', () => {
  it.each([
    ['/v1', { object: 'api', name: 'millrace' }],
    ['/v1/', { object: 'api' }],
    ['/v1/models', { object: 'list', data: MODEL_IDS.map((id) => ({ id, object: 'model' })) }],
    ['/v1/models/?client_version=1.2#x', { object: 'list' }],
    ['/v1/models/demo', { id: 'demo' }],
    ['/v1/models/demo/with/slashes', { id: 'demo/with/slashes' }],
    ['/v1/models/demo%2Fwith%20more', { id: 'demo/with more' }],
    ['/v1/models/demo%', { id: 'demo%' }],
    ['http://somewhere:80/v1/models/demo?x=1', { id: 'demo' }],
    ['/v1/key', { object: 'key' }],
    ['/v1/requests/req_00000000000000000000000000', { object: 'request' }],
    ['/healthz', { status: 'ok' }],
    ['/readyz', { status: 'ready' }],
  ])('GET %s', async (target, expected) => {
    const { port, logs } = await openTestEdge()
    const answer = await ask(port, getRequest(target))
    expect(answer.status).toBe(200)
    expect(parse(answer.body)).toMatchObject(expected)
    expect(isRequestId(answer.headers['x-request-id'] ?? '')).toBe(true)
    expect(logs).toMatchObject([{ request_id: answer.headers['x-request-id'], status: 200, method: 'GET' }])
  })

  it('HEAD is GET without the body, and the connection stays usable', async () => {
    const { port } = await openTestEdge()
    const client = connectRaw(port)
    for (const [target, status] of [
      ['/v1/models', 200],
      ['/nowhere', 404],
      ['/healthz', 200],
    ] as const) {
      client.send(head({ method: 'HEAD', target, headers: ['host: x', `authorization: Bearer ${GOOD_KEY}`] }))
      const answer = await client.answer({ head: true })
      expect(answer.status).toBe(status)
      expect(Number(answer.headers['content-length'])).toBeGreaterThan(0)
      expect(answer.headers['x-request-id']).toMatch(/^req_/)
    }
    expect(client.received()).toBe('')
  })

  it('a node that is not ready reports why', async () => {
    const { port } = await openTestEdge({ gate: { open: false, onOutage: () => () => {} } })
    const answer = await ask(port, getRequest('/readyz'))
    expect([answer.status, parse(answer.body)]).toEqual([503, { status: 'not-ready', reasons: ['ledger unavailable'] }])
  })
})

describe('what is not', () => {
  it.each([
    ['POST', '/v1/embeddings', /Embeddings/],
    ['POST', '/v1/completions', /Legacy/],
    ['POST', '/v1/images/generations', /Images/],
    ['POST', '/v1/audio/speech', /Audio/],
    ['GET', '/v1/files/file_1', /Files/],
    ['POST', '/v1/batches', /Batches/],
    ['POST', '/v1/assistants', /Assistants/],
    ['POST', '/v1/messages', /Anthropic/],
    ['POST', '/v1beta/models/gemini:generateContent', /Gemini/],
    ['GET', '/v1/responses/resp_1/input_items', /not listed/],
    ['POST', '/v1/responses/input_tokens', /not counted in advance/],
    ['GET', '/v1/responses/resp_1/input_tokens', /not counted in advance/],
    ['GET', '/v1/responses/resp_1/other', /no paths below its id/],
    ['POST', '/v1/v1/chat/completions', /twice/],
    ['POST', '/chat/completions', /lacks \/v1/],
    ['POST', '/chat/completions/', /lacks \/v1/],
    ['POST', '/v1/chat/completion', /Did you mean POST \/v1\/chat\/completions\?/],
    ['POST', '/v1/chat/completion/', /Did you mean POST \/v1\/chat\/completions\?/],
    ['POST', '/V1/Chat/Completions', /Did you mean POST \/v1\/chat\/completions\?/],
    ['POST', '/chat/completion', /Did you mean POST \/v1\/chat\/completions\?/],
    ['POST', '/v1/chat', /Did you mean POST \/v1\/chat\/completions\?/],
    ['POST', '/v1/response', /Did you mean POST \/v1\/responses\?/],
    ['GET', '/v1/model', /Did you mean GET \/v1\/models\?/],
    ['GET', '/v1/requests', /Did you mean GET \/v1\/requests\/\{id\}\?/],
    ['POST', '/v1/completion', /Legacy/],
    ['POST', '/completions', /Legacy/],
    ['POST', '/v1/message', /Anthropic/],
    [
      'POST',
      '/v1/chat/completions/chat/completions',
      /seems to end in \/v1\/chat\/completions: set it to the address of this server followed by \/v1\./,
    ],
    ['GET', '/v1/chat/completions/models', /seems to end in \/v1\/chat\/completions:/],
    ['POST', '/api/v1/chat/completions', /seems to end in \/api\/v1:/],
    ['POST', '/openai/deployments/gpt-5/chat/completions', /seems to end in \/openai\/deployments\/gpt-5:/],
    ['POST', '/api/chat', /Ollama/],
    ['GET', '/health', /GET \/healthz/],
    ['GET', '/metrics', /server\.metrics_port/],
    ['GET', '/wp-login.php', /nothing at GET \/wp-login\.php\. Available endpoints: /],
    ['GET', `/${'x'.repeat(5000)}`, /…/],
    ['POST', `/v1/chat/completions${'/chat/completions'.repeat(300)}`, /…\. Available endpoints: /],
    ['GET', '/v1/../v1/models', /nothing/],
  ])('%s %s is endpoint_not_provided', async (method, target, message) => {
    const { port } = await openTestEdge()
    const answer = await ask(port, chatRequest({ method, target }))
    expectProblem(answer, 'endpoint_not_provided', message)
    expect(answer.body).toContain('POST /v1/chat/completions')
  })

  it.each([
    ['GET', '/v1/chat/completions', 'POST'],
    ['POST', '/v1/models', 'GET, HEAD'],
    ['DELETE', '/v1/models/demo', 'GET, HEAD'],
    ['OPTIONS', '/v1/chat/completions', 'POST'],
    ['OPTIONS', '*', 'GET, HEAD, POST, DELETE, PUT, PATCH'],
    ['POST', '/v1/responses/resp_1', 'GET, HEAD, DELETE'],
    ['PROPFIND', '/v1/key', 'GET, HEAD'],
  ])('%s %s is 405 and says what is allowed', async (method, target, allow) => {
    const { port } = await openTestEdge()
    const answer = await ask(port, head({ method, target, headers: ['host: x'] }))
    expectProblem(answer, 'method_not_allowed')
    expect(answer.headers.allow).toBe(allow)
  })

  it('a model and a request that this key has not are 404', async () => {
    const { port } = await openTestEdge()
    expectProblem(await ask(port, getRequest('/v1/models/other')), 'model_not_found', /'other'/)
    expectProblem(await ask(port, getRequest('/v1/requests/req_00000000000000000000000001')), 'request_not_found')
    expectProblem(await ask(port, getRequest('/v1/requests/nonsense')), 'request_not_found')
  })
})

describe('authentication', () => {
  const paths = ['/v1/models', '/v1/models/demo', '/v1/key', '/v1/requests/req_00000000000000000000000000']

  it.each(paths)('GET %s needs a key', async (target) => {
    const { port } = await openTestEdge()
    const answer = await ask(port, head({ target }))
    expectProblem(answer, 'missing_api_key')
    expect(answer.headers['www-authenticate']).toBe('Bearer')
  })

  it.each([
    ['Bearer', 'invalid_api_key', /of the form/],
    ['Bearer a b', 'invalid_api_key', /spaces/],
    ['Basic c2VjcmV0', 'invalid_api_key', /of the form/],
    ['Bearer wrong-secret', 'invalid_api_key', /not known/],
    ['', 'missing_api_key', /No API key/],
  ] as const)('Authorization: %s', async (authorization, code, message) => {
    const { port } = await openTestEdge()
    const answer = await ask(
      port,
      head({ target: '/v1/models', headers: ['host: x', `authorization: ${authorization}`] }),
    )
    expectProblem(answer, code, message)
    expect(answer.body).not.toMatch(/secret|c2Vj/)
  })

  it('a key in the wrong header gets a hint, the scheme may be written in any case', async () => {
    const { port } = await openTestEdge()
    expectProblem(
      await ask(port, head({ target: '/v1/models', headers: ['host: x', 'x-api-key: k'] })),
      'missing_api_key',
      /x-api-key/,
    )
    const lower = head({ target: '/v1/models', headers: ['host: x', `authorization: bearer  ${GOOD_KEY}`] })
    expect((await ask(port, lower)).status).toBe(200)
  })

  it.each([
    ['expired', 'invalid_api_key', /has expired/],
    ['disabled', 'invalid_api_key', /owner can enable it/],
    ['revoked', 'invalid_api_key', /Create a new one/],
    [
      'malformed',
      'invalid_api_key',
      /from another server\. Keys of this server begin with mr_wallet_, mr_builder_ or mr_job_/,
    ],
    ['account-closed', 'invalid_api_key', /is closed/],
    ['account-suspended', 'account_suspended', /Ask the operator/],
  ] as const)('a key that is %s is %s, and the log knows why', async (reason, code, message) => {
    const { port, logs } = await openTestEdge({ findCaller: async () => ({ kind: 'refused', reason }) })
    expectProblem(await ask(port, chatRequest()), code, message)
    expect(logs).toMatchObject([{ key_refusal: reason, code }])
  })

  it('an early refusal is answered before the body is read', async () => {
    const { port, bodies } = await openTestEdge({
      refuseEarly: async () => problem('insufficient_balance', 'The wallet is empty.'),
    })
    const answer = await ask(port, chatRequest({ body: '', headers: ['content-length: 1000'] }))
    expectProblem(answer, 'insufficient_balance')
    expect([answer.headers['x-should-retry'], bodies.length]).toEqual(['false', 0])
  })

  it.each([
    ['https://example.org', 403],
    ['http://evil.localhost.example.org', 403],
    ['http://127.0.0.1.example.org', 403],
    ['https://', 403],
    ['https://app.example.org', 200],
    ['http://localhost:3000', 200],
    ['http://127.0.0.1:8080', 200],
    ['http://[::1]:8080', 200],
    ['app://obsidian.md', 200],
    ['vscode-webview://abc', 200],
    ['file://', 200],
    ['null', 200],
  ])('Origin %s is %i', async (origin, status) => {
    const { port } = await openTestEdge({ options: { allowedOrigins: ['https://app.example.org'] } })
    const answer = await ask(port, getRequest('/v1/models', `origin: ${origin}`))
    expect(answer.status).toBe(status)
    if (status === 403) expectProblem(answer, 'browser_not_allowed')
    const isListed = origin === 'https://app.example.org'
    expect(answer.headers['access-control-allow-origin']).toBe(isListed ? origin : undefined)
  })
})

describe('headers', () => {
  it.each(['authorization', 'idempotency-key', 'content-type', 'host'])(
    'two of %s are duplicate_header',
    async (name) => {
      const { port } = await openTestEdge()
      const upper = name.toUpperCase()
      expectProblem(
        await ask(port, head({ target: '/v1/models', headers: ['host: x', `${name}: a`, `${upper}: a`] })),
        'duplicate_header',
        new RegExp(name),
      )
    },
  )

  it('an Idempotency-Key that is none is refused before the body, and a good one is looked up', async () => {
    const { port } = await openTestEdge()
    const answer = await ask(port, chatRequest({ headers: ['idempotency-key: a b'] }))
    expectProblem(answer, 'idempotency_key_invalid', /visible ASCII/)
    expectProblem(await ask(port, chatRequest({ headers: ['idempotency-key: a'] })), 'idempotency_in_progress', /Wait/)
  })

  it("a client's own request id is logged and never used", async () => {
    const { port, logs } = await openTestEdge()
    const answer = await ask(port, getRequest('/v1/models', 'x-request-id: mine', 'user-agent: test/1'))
    expect(answer.headers['x-request-id']).toMatch(/^req_/)
    expect(logs).toMatchObject([
      { endpoint: '/v1/models', client_request_id: 'mine', user_agent: 'test/1', account_id: 'acct_1' },
    ])
    expect(JSON.stringify(logs)).not.toContain(GOOD_KEY)
  })
})

describe('draining', () => {
  it('first fails readiness and still serves, then refuses on kept-alive connections, then is closed', async () => {
    let go = () => {}
    const { edge, port } = await openTestEdge({
      async serveTurn({ sink }) {
        await sink.write(Buffer.from('data: 1\n\n'))
        await new Promise<void>((resolve) => {
          go = resolve
        })
        sink.end(Buffer.from('data: 2\n\n'))
        return COMPLETED
      },
    })
    const running = connectRaw(port)
    running.send(chatRequest({ body: '{"stream":true}' }))
    const kept = connectRaw(port)
    kept.send(getRequest('/healthz'))
    expect((await kept.answer()).status).toBe(200)
    while (!running.received().includes('data: 1')) await new Promise((resolve) => setTimeout(resolve, 5))

    edge.announceDrain()
    const ready = await ask(port, getRequest('/readyz'))
    expect([ready.status, parse(ready.body)]).toEqual([503, { status: 'not-ready', reasons: ['draining'] }])
    const served = await ask(port, getRequest('/v1/models'))
    expect([served.status, served.headers.connection]).toEqual([200, 'close'])

    // Half a request keeps a connection from being idle, as a request in flight would.
    const late = getRequest('/v1/models')
    const half = connectRaw(port)
    half.send(late.subarray(0, 10))
    await new Promise((resolve) => setTimeout(resolve, 30))
    const closed = edge.stopAccepting()
    half.send(late.subarray(10))
    const refused = await half.answer()
    expectProblem(refused, 'server_draining')
    expect([refused.headers.connection, refused.headers['retry-after']]).toEqual(['close', '1'])
    expect(await kept.closed()).toBe('')

    go()
    expect((await running.answer()).body).toBe('data: 1\n\ndata: 2\n\n')
    await closed
  })
})
