import type { OutgoingHttpHeaders } from 'node:http'
import { beforeAll, describe, expect, it } from 'vitest'
import { PASSWORD, signUp } from '../../support/console-session.ts'
import { type BytesReceived, codeIn, sendBytes } from '../../support/send-bytes.ts'
import { readSetCookie } from '../../support/set-cookie.ts'
import type { TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

/** Another machine's name for this one: no name that only this machine can mean. */
const ELSEWHERE = '192.0.2.7:4600'
const EMAIL = 'owner@walk.example'

const withOwner = (server: () => TestServer): void =>
  beforeAll(async () => {
    const { id } = await openAccount(server())
    await signUp(server(), { email: EMAIL, account: id })
  })

/** Signs in as a page does that was opened under this address. */
function signIn(server: TestServer, origin: string, headers: OutgoingHttpHeaders = {}): Promise<BytesReceived> {
  return sendBytes(server, '/console/api/session', {
    method: 'POST',
    headers: {
      ...{ host: new URL(origin).host, origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
      ...headers,
    },
    body: JSON.stringify({ email: EMAIL, password: PASSWORD }),
  })
}

const cookieIn = ({ headers }: BytesReceived) => {
  const { name, value, attributes } = readSetCookie(headers['set-cookie']?.[0] ?? '')
  return { name, value, attributes: Object.fromEntries(attributes) }
}

const IN_THE_CLEAR = { path: '/', httponly: '', samesite: 'Lax', 'max-age': '604800' }
/** No domain: with one, no browser would take the name. */
const OVER_TLS = { ...IN_THE_CLEAR, secure: '' }

/** Whose browser it is, by what it sends along. */
async function whoseIs(server: TestServer, headers: OutgoingHttpHeaders): Promise<unknown> {
  const reported = await sendBytes(server, '/console/api/session', { headers })
  return JSON.parse(reported.bytes.toString()).person?.email
}

describe('from another machine without TLS', () => {
  const server = useServer()
  withOwner(server)

  it.each([{}, { 'x-forwarded-proto': 'https' }, { forwarded: 'proto=https' }])(
    'sign-in is refused, whatever forwarded headers say: %j',
    async (headers) => {
      const reported = await signIn(server(), `http://${ELSEWHERE}`, headers)
      expect([reported.status, codeIn(reported), reported.headers['set-cookie']]).toEqual([
        403,
        'https_needed',
        undefined,
      ])
    },
  )

  it('no other mutation works either', async () => {
    const here = await signIn(server(), `http://127.0.0.1:${server().port}`)
    const { name, value } = cookieIn(here)
    const { csrf } = JSON.parse(here.bytes.toString())
    for (const path of ['keys', 'sign-up', 'wallet/redeem', 'session/confirm']) {
      const reported = await sendBytes(server(), `/console/api/${path}`, {
        method: 'POST',
        headers: {
          ...{ host: ELSEWHERE, origin: `http://${ELSEWHERE}`, 'content-type': 'application/json' },
          ...{ cookie: `${name}=${value}`, 'x-csrf-token': csrf },
        },
        body: '{}',
      })
      expect(codeIn(reported), path).toBe('https_needed')
    }
  })

  it('the page still opens and explains why', async () => {
    const page = await sendBytes(server(), '/console/', { headers: { host: ELSEWHERE } })
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await whoseIs(server(), { host: ELSEWHERE })).toBeUndefined()
  })

  it('localhost can sign in', async () => {
    const reported = await signIn(server(), `http://127.0.0.1:${server().port}`)
    expect(reported.status).toBe(200)
    expect(cookieIn(reported)).toMatchObject({ name: 'millrace_session', attributes: IN_THE_CLEAR })
    expect(cookieIn(reported).attributes).not.toHaveProperty('secure')
  })
})

describe('behind a proxy that is trusted', () => {
  const server = useServer({ config: `${TEST_CONFIG}\nserver: { trust_proxy: [127.0.0.0/8, "::1"] }\n` })
  withOwner(server)

  it.each(['https', 'HTTPS', 'http, https'])(
    'that forwards %s, the session cookie is Secure and host-only',
    async (emitted) => {
      const headers = { 'x-forwarded-proto': emitted }
      const reported = await signIn(server(), `https://${ELSEWHERE}`, headers)
      expect(reported.status).toBe(200)
      const { name, value, attributes } = cookieIn(reported)
      expect(name).toBe('__Host-millrace_session')
      expect(attributes).toEqual(OVER_TLS)
      expect(await whoseIs(server(), { host: ELSEWHERE, ...headers, cookie: `${name}=${value}` })).toBe(EMAIL)
      // A page on another port, or of a host beside this one, could have set the plain name.
      expect(
        await whoseIs(server(), { host: ELSEWHERE, ...headers, cookie: `millrace_session=${value}` }),
      ).toBeUndefined()
    },
  )

  it.each(['http', 'https, http', ''])('that forwards %j, sign-in is refused', async (emitted) => {
    const reported = await signIn(server(), `http://${ELSEWHERE}`, { 'x-forwarded-proto': emitted })
    expect([reported.status, codeIn(reported)]).toEqual([403, 'https_needed'])
  })

  it('a page of the same host without TLS is another site', async () => {
    const reported = await signIn(server(), `http://${ELSEWHERE}`, { 'x-forwarded-proto': 'https' })
    expect([reported.status, codeIn(reported)]).toEqual([403, 'other_site'])
  })

  it('signing out clears that cookie', async () => {
    const headers = { 'x-forwarded-proto': 'https' }
    const reported = await signIn(server(), `https://${ELSEWHERE}`, headers)
    const { name, value } = cookieIn(reported)
    const left = await sendBytes(server(), '/console/api/session', {
      method: 'DELETE',
      headers: {
        ...{ host: ELSEWHERE, origin: `https://${ELSEWHERE}`, ...headers, cookie: `${name}=${value}` },
        'x-csrf-token': JSON.parse(reported.bytes.toString()).csrf,
      },
    })
    expect(left.status).toBe(200)
    expect(cookieIn(left)).toEqual({ name, value: '', attributes: { ...OVER_TLS, 'max-age': '0' } })
    expect(await whoseIs(server(), { host: ELSEWHERE, ...headers, cookie: `${name}=${value}` })).toBeUndefined()
  })
})

describe('with a configured public URL', () => {
  const server = useServer({ config: `${TEST_CONFIG}\nserver: { public_url: "https://millrace.example" }\n` })
  withOwner(server)

  it('TLS is assumed without forwarded headers', async () => {
    const reported = await signIn(server(), 'https://millrace.example')
    expect(reported.status).toBe(200)
    expect(cookieIn(reported)).toMatchObject({ name: '__Host-millrace_session', attributes: OVER_TLS })
    expect(codeIn(await signIn(server(), 'http://millrace.example'))).toBe('other_site')
  })
})

describe('console.allow_http', () => {
  const server = useServer({ config: `${TEST_CONFIG}\nconsole: { allow_http: true, hosts: [millrace.internal] }\n` })
  withOwner(server)

  it.each([`http://${ELSEWHERE}`, 'http://millrace.internal:4600'])('allows sign-in from %s', async (origin) => {
    const reported = await signIn(server(), origin)
    expect(reported.status).toBe(200)
    const { name, value, attributes } = cookieIn(reported)
    expect([name, attributes]).toEqual(['millrace_session', IN_THE_CLEAR])
    expect(await whoseIs(server(), { host: new URL(origin).host, cookie: `${name}=${value}` })).toBe(EMAIL)
  })

  it.each(['millrace.example', 'www.millrace.internal', 'not-millrace.internal', 'millrace.internal.evil.example'])(
    'does not accept other host names: %s',
    async (host) => {
      const reported = await signIn(server(), `http://${host}:4600`)
      expect([reported.status, codeIn(reported)]).toEqual([421, 'host_not_allowed'])
    },
  )
})

describe('console.enabled: false', () => {
  const server = useServer({ config: `${TEST_CONFIG}\nconsole: { enabled: false }\n` })

  it.each([
    '/console',
    '/console/',
    '/console/assets/x.js',
    '/console/api/session',
    '/console/api/playground/responses',
  ])('serves nothing at %s', async (path) => {
    for (const method of ['GET', 'POST']) {
      const reported = await sendBytes(server(), path, { method })
      expect(reported.status === 404 || reported.status === 405).toBe(true)
      expect(['endpoint_not_provided', 'method_not_allowed']).toContain(codeIn(reported))
    }
  })
})
