import { createServer, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findFreePort } from '../program/free-port.mjs'
import { createRandom } from '../program/random.mjs'
import { PASSWORD } from '../support/console-session.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const PREFIX = '/llm'
const proxyPort = await findFreePort(createRandom(process.pid))

describe.skipIf(CHROMIUM === undefined)('below a path prefix', () => {
  const { server, person, open } = useConsole({
    config: `${TEST_CONFIG}\nserver: { public_url: "http://127.0.0.1:${proxyPort}${PREFIX}" }\n`,
  })
  let keepsPrefix
  let proxy
  /** Paths outside of the prefix belong to something else. */
  beforeAll(async () => {
    proxy = createServer((asked, answer) => {
      if (!asked.url.startsWith(`${PREFIX}/`)) return answer.writeHead(404).end()
      const path = keepsPrefix ? asked.url : asked.url.slice(PREFIX.length)
      const { method, headers } = asked
      const sent = request({ host: '127.0.0.1', port: server().port, path, method, headers }, (received) => {
        answer.writeHead(received.statusCode, received.headers)
        received.pipe(answer)
      })
      sent.on('error', () => answer.destroy())
      asked.pipe(sent)
    })
    await new Promise((resolve) => proxy.listen(proxyPort, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    proxy.closeAllConnections()
    await new Promise((resolve) => proxy.close(resolve))
  })

  it.each([
    { title: 'that the proxy removes', keeps: false },
    { title: 'that the proxy keeps', keeps: true },
  ])(
    '$title, the console signs in, moves between pages, reloads, and links to the documentation',
    async ({ keeps }) => {
      keepsPrefix = keeps
      const { email } = await person()
      const home = `http://127.0.0.1:${proxyPort}${PREFIX}`
      const page = await open('/requests?model=calm', undefined, { at: home })
      const heading = (name) => page.getByRole('heading', { name, exact: true }).waitFor()
      await heading('Sign in')
      await page.getByLabel('Email').fill(email)
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
      await page.getByRole('button', { name: 'Sign in' }).click()
      await heading('Requests')
      expect(page.url()).toBe(`${home}/console/requests?model=calm`)
      await page.getByRole('link', { name: 'Playground' }).click()
      await heading('Playground')
      expect(page.url()).toBe(`${home}/console/playground`)
      await page.reload()
      await heading('Playground')
      await page.getByRole('link', { name: 'Connect' }).click()
      await page.getByText(`${home}/v1`).first().waitFor()
      await page.goto(`${home}/`)
      await page.getByRole('link', { name: 'Documentation' }).click()
      await page.getByRole('link', { name: 'Reverse proxies' }).first().click()
      await heading('Reverse proxies')
    },
  )
})
