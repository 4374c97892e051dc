import { describe, expect, it } from 'vitest'
import { PASSWORD, signUp } from '../../support/console-session.ts'
import { codeIn, sendBytes } from '../../support/send-bytes.ts'
import { hello } from '../../support/send-chat.ts'
import { readSetCookie } from '../../support/set-cookie.ts'
import { openAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const ORIGIN = 'https://example.com'
const HOST = { host: 'example.com' }

/** As a proxy sends paths that removes the prefix, and as one that keeps it. */
describe.each([
  ['removes', ''],
  ['keeps', '/llm'],
])('behind a proxy that %s the path of the public URL', (_, prefix) => {
  const server = useServer({ config: `${TEST_CONFIG}\nserver: { public_url: "${ORIGIN}/llm/" }\n` })
  const get = (path: string, headers = {}) => sendBytes(server(), prefix + path, { headers: { ...HOST, ...headers } })
  const textOf = async (path: string) => (await get(path, { accept: 'text/html' })).bytes.toString()

  it('serves the API', async () => {
    const { key } = await openAccount(server())
    const answer = await sendBytes(server(), `${prefix}/v1/chat/completions?x=1`, {
      method: 'POST',
      headers: { ...HOST, authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'swift', messages: hello() }),
    })
    expect(answer.status).toBe(200)
    expect((await get('/readyz')).status).toBe(200)
    expect(codeIn(await get('/v2'))).toBe('endpoint_not_provided')
  })

  it('links to what is there', async () => {
    const links = [...(await textOf('/')).matchAll(/href="([^"]*)"/g)].map(([, path]) => path)
    expect(links).toEqual(['/llm/console', '/llm/docs/', '/llm/readyz'])
    expect(JSON.parse((await get('')).bytes.toString()).base_url).toBe(`${ORIGIN}/llm/v1`)
    expect(JSON.parse((await get('/openapi.json')).bytes.toString()).servers).toEqual([{ url: `${ORIGIN}/llm` }])
    const { email } = await openAccount(server())
    const invited = await server().operate('people.invite', { email, role: 'owner' })
    expect(JSON.stringify(invited)).toContain(`${ORIGIN}/llm/console/setup?code=`)
  })

  it('serves the documentation, and its redirects stay below the prefix', async () => {
    expect((await get('/docs')).headers.location).toBe('docs/')
    expect((await get('/docs/operate/running/')).headers.location).toBe('../running')
    expect((await get('/docs/operate/running')).status).toBe(200)
  })

  it('serves the console, whose page names its files with the prefix', async () => {
    for (const path of ['/console', '/console/', '/console/keys/key_1?x=1']) {
      const page = await textOf(path)
      const files = [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, file = '']) => file)
      expect(files.length).toBeGreaterThan(3)
      for (const file of files) {
        expect(file).toMatch(/^\/llm\/console\/assets\//)
        expect((await get(file.slice('/llm'.length))).status).toBe(200)
      }
    }
    const compressed = await get('/console/', { 'accept-encoding': 'gzip, br' })
    expect(compressed.headers['content-encoding']).toBeUndefined()
  })

  it('lets people sign in, from pages of its own origin alone', async () => {
    const email = 'owner@example.com'
    await signUp(server(), { email, account: (await openAccount(server())).id })
    const signIn = (origin: string) =>
      sendBytes(server(), `${prefix}/console/api/session`, {
        method: 'POST',
        headers: { ...HOST, origin, 'content-type': 'application/json' },
        body: JSON.stringify({ email, password: PASSWORD }),
      })
    expect(codeIn(await signIn('https://elsewhere.example'))).toBe('other_site')
    const signedIn = await signIn(ORIGIN)
    expect(signedIn.status).toBe(200)
    const { name, value, attributes } = readSetCookie(signedIn.headers['set-cookie']?.[0] ?? '')
    expect([name, new Map(attributes).get('path')]).toEqual(['__Host-millrace_session', '/'])
    const session = await get('/console/api/session', { cookie: `${name}=${value}` })
    expect(JSON.parse(session.bytes.toString()).person.email).toBe(email)
  })
})

describe('the path of the public URL', () => {
  const server = useServer({ config: `${TEST_CONFIG}\nserver: { public_url: "${ORIGIN}/llm" }\n` })

  it.each(['/llmx/v1/models', '/LLM/v1/models', '/x/llm/v1/models', '/llm/llm/v1/models'])(
    'is a whole beginning of a path: %s is not served',
    async (path) => {
      expect(codeIn(await sendBytes(server(), path))).toBe('endpoint_not_provided')
    },
  )

  it('is removed once, also from the target that a proxy is sent', async () => {
    expect((await sendBytes(server(), 'http://example.com/llm/readyz')).status).toBe(200)
    expect((await sendBytes(server(), '/llm?x')).status).toBe(200)
    expect((await sendBytes(server(), '/llm/')).status).toBe(200)
  })
})
