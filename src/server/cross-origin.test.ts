import { afterEach, describe, expect, it } from 'vitest'
import {
  ask,
  COMPLETED,
  chatRequest,
  closeTestEdges,
  getRequest,
  head,
  openTestEdge,
  type RawAnswer,
} from '../../test/fixtures/server/edge.ts'
import { expectProblem } from '../../test/fixtures/server/envelope.ts'

afterEach(closeTestEdges)

const PAGE = 'https://app.example.org'
const OTHER = 'https://evil.example.org'
const openFor = (origins: readonly string[] = [PAGE, 'http://localhost:5173']) =>
  openTestEdge({
    options: { allowedOrigins: origins },
    limitStatuses: () => [{ kind: 'requests', limit: 10, remaining: 9, resetMs: 1000 }],
  })

const corsOf = ({ headers }: RawAnswer) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')))
const exposedBy = (answer: RawAnswer) => (answer.headers['access-control-expose-headers'] ?? '').split(', ')

const preflight = (origin: string, ...headers: string[]) =>
  head({
    method: 'OPTIONS',
    target: '/v1/chat/completions',
    headers: ['host: test', `origin: ${origin}`, 'access-control-request-method: POST', ...headers],
  })

describe('a preflight', () => {
  const SDK = 'Authorization,content-type,x-stainless-lang,x-stainless-retry-count'

  it.each([PAGE, 'http://localhost:5173'])('of the listed origin %s is allowed', async (origin) => {
    const { port, logs } = await openFor()
    const answer = await ask(port, preflight(origin, `access-control-request-headers: ${SDK}`))
    expect(answer.status).toBe(200)
    expect(corsOf(answer)).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
      'access-control-allow-headers':
        'authorization, content-type, idempotency-key, x-millrace-run, x-millrace-tags, x-stainless-lang, x-stainless-retry-count',
      'access-control-max-age': '7200',
    })
    expect(answer.headers.vary).toBe('origin')
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials')
    expect(logs).toHaveLength(1)
  })

  it('of a path that is not there is allowed too, so that the page can read the error', async () => {
    const { port } = await openFor()
    const asked = String(preflight(PAGE)).replace('/v1/chat/completions', '/v1/nowhere')
    expect((await ask(port, asked)).headers['access-control-allow-origin']).toBe(PAGE)
  })

  it.each([OTHER, 'https://app.example.org.evil.example', 'https://app.example.org:8443', 'HTTPS://APP.EXAMPLE.ORG'])(
    'of %s gets 403 and nothing else',
    async (origin) => {
      const { port } = await openFor()
      const answer = await ask(port, preflight(origin))
      expectProblem(answer, 'browser_not_allowed')
      expect(corsOf(answer)).toEqual({})
    },
  )

  it.each(['null', 'app://obsidian.md', 'http://localhost:3000'])(
    'of %s, which is not listed, is a method like another',
    async (origin) => {
      const { port } = await openFor()
      const answer = await ask(port, preflight(origin))
      expectProblem(answer, 'method_not_allowed')
      expect(corsOf(answer)).toEqual({})
    },
  )

  it('cannot write into our headers, nor make them long', async () => {
    const { port } = await openFor()
    const names = Array.from({ length: 500 }, (_, index) => `x-${index}`).join(',')
    for (const asked of ['a b, x:y, <z>, "q", x-good', names, `${'x'.repeat(10_000)}, x-late`]) {
      const allowed = (await ask(port, preflight(PAGE, `access-control-request-headers: ${asked}`))).headers[
        'access-control-allow-headers'
      ]!.split(', ')
      expect(allowed.slice(0, 5)).toEqual([
        ...['authorization', 'content-type', 'idempotency-key'],
        ...['x-millrace-run', 'x-millrace-tags'],
      ])
      expect(allowed.length).toBeLessThanOrEqual(5 + 64)
      expect(allowed.every((name) => /^[a-z0-9-]{1,100}$/.test(name))).toBe(true)
    }
  })

  it('is refused where no origin is listed', async () => {
    const { port } = await openFor([])
    const answer = await ask(port, preflight(PAGE))
    expectProblem(answer, 'browser_not_allowed')
    expect([corsOf(answer), answer.headers.vary]).toEqual([{}, undefined])
  })

  it('outside /v1 is a method like another', async () => {
    const { port } = await openFor()
    const asked = String(preflight(PAGE)).replace('/v1/chat/completions', '/healthz')
    const answer = await ask(port, asked)
    expectProblem(answer, 'method_not_allowed')
    expect(corsOf(answer)).toEqual({})
  })
})

describe('an answer to a page of a listed origin', () => {
  const from = (origin: string, body = '{"model":"demo"}') => chatRequest({ headers: [`origin: ${origin}`], body })

  it('can be read by it: JSON, a stream, errors before and behind the key', async () => {
    const { port } = await openFor()
    const wrongKey = head({ target: '/v1/models', headers: ['host: x', `origin: ${PAGE}`, 'authorization: Bearer no'] })
    const twice = getRequest('/v1/models', `origin: ${PAGE}`, 'idempotency-key: a', 'idempotency-key: b')
    const answers = await Promise.all([
      ask(port, from(PAGE)),
      ask(port, from(PAGE, '{"model":"demo","stream":true}')),
      ask(port, from(PAGE, 'no json')),
      ask(port, wrongKey),
      ask(port, twice),
      ask(port, getRequest('/v1/nowhere', `origin: ${PAGE}`)),
      ask(port, getRequest('/v1/models', `origin: ${PAGE}`)),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 401, 400, 404, 200])
    for (const answer of answers) {
      expect(answer.headers['access-control-allow-origin']).toBe(PAGE)
      expect(answer.headers.vary).toBe('origin')
      expect(exposedBy(answer)).toContain('x-request-id')
      expect(answer.headers).not.toHaveProperty('access-control-allow-credentials')
    }
    const limits = ['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-ratelimit-reset-requests']
    expect(exposedBy(answers.at(-1)!)).toEqual(['x-request-id', ...limits])
  })

  it('exposes every header of ours that is in it', async () => {
    const { port } = await openTestEdge({
      options: { allowedOrigins: [PAGE] },
      async serveTurn({ sink }) {
        sink.announce({ 'x-millrace-lane': 'one', 'idempotency-replayed': 'true' })
        sink.end(Buffer.from('{}'))
        return COMPLETED
      },
    })
    const answer = await ask(port, from(PAGE))
    expect(exposedBy(answer)).toEqual(expect.arrayContaining(['x-millrace-lane', 'idempotency-replayed']))
    const denied = await openTestEdge({
      options: { allowedOrigins: [PAGE] },
      unauthenticatedLimiter: { take: () => ({ kind: 'refused', perMinute: 10, waitMs: 5000 }) },
    })
    const wait = await ask(denied.port, head({ target: '/v1/key', headers: ['host: x', `origin: ${PAGE}`] }))
    expect([wait.status, exposedBy(wait).includes('retry-after')]).toEqual([429, true])
  })

  it('has no CORS headers for other origins, and only `vary` without an origin', async () => {
    const { port } = await openFor()
    const [refused, local, none] = await Promise.all([
      ask(port, from(OTHER)),
      ask(port, from('http://127.0.0.1:9')),
      ask(port, chatRequest()),
    ])
    expect([refused.status, local.status, none.status]).toEqual([403, 200, 200])
    for (const answer of [refused, local, none]) {
      expect(corsOf(answer)).toEqual({})
      expect(answer.headers.vary).toBe('origin')
    }
  })
})
