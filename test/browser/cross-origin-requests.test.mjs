import { createServer } from 'node:http'
import { chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { useServer } from '../support/use-server.ts'
import { CHROMIUM } from './lib/use-console.mjs'

/** Two other sites. Only the first one is allowed. */
const site = createServer((_, answer) =>
  answer.writeHead(200, { 'content-type': 'text/html' }).end('<title>a site</title>'),
)
await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve))
const { port: sitePort } = site.address()
const LISTED = `http://127.0.0.1:${sitePort}`
const OTHER = `http://localhost:${sitePort}`

describe.skipIf(CHROMIUM === undefined)('pages of other sites', () => {
  const server = useServer({ config: `${TEST_CONFIG}\nserver: { allowed_origins: ['${LISTED}'] }\n` })
  let browser
  let key
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
    key = (await openAccount(server(), { credit: '10.00' })).key
  })
  afterAll(async () => {
    await browser?.close()
    site.close()
  })

  /** The response that a page of that site can read, or the browser's error. */
  async function fetchFrom(origin, { body, method = 'POST', path = '/chat/completions', secret = key }) {
    const page = await browser.newPage()
    await page.goto(origin)
    const response = await page.evaluate(
      async ({ url, method, body, secret }) => {
        try {
          const answer = await fetch(url, {
            method,
            headers: {
              authorization: `Bearer ${secret}`,
              'content-type': 'application/json',
              'x-stainless-lang': 'js',
            },
            ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          })
          const { status, headers } = answer
          return { status, requestId: headers.get('x-request-id'), text: await answer.text() }
        } catch (error) {
          return { refused: String(error) }
        }
      },
      { url: `${server().baseUrl}${path}`, method, body, secret },
    )
    await page.close()
    return response
  }

  const CHAT = { model: 'calm', messages: [{ role: 'user', content: 'Hello' }], stream: true }

  it('can read streams, models and errors if their origin is allowed', async () => {
    const streamed = await fetchFrom(LISTED, { body: CHAT })
    expect(streamed).toMatchObject({ status: 200, requestId: expect.stringMatching(/^req_/) })
    expect(streamed.text).toContain('data: [DONE]')
    const models = await fetchFrom(LISTED, { method: 'GET', path: '/models' })
    expect(JSON.parse(models.text).data.length).toBeGreaterThan(0)
    const refused = await fetchFrom(LISTED, { body: CHAT, secret: 'sk-unknown' })
    expect(refused.status).toBe(401)
    expect(JSON.parse(refused.text).error.code).toBe('invalid_api_key')
  })

  it('can send nothing and pay nothing if their origin is not allowed', async () => {
    const before = await server().operate('accounts.list', {})
    expect(await fetchFrom(OTHER, { body: CHAT })).toEqual({ refused: 'TypeError: Failed to fetch' })
    expect(await server().operate('accounts.list', {})).toEqual(before)
  })
})
