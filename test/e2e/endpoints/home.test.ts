import { describe, expect, it } from 'vitest'
import type { TestServer } from '../../support/start-server.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

const home = ({ port }: TestServer, accept: string, method = 'GET') =>
  fetch(`http://127.0.0.1:${port}/`, { method, headers: { accept }, redirect: 'manual' })

const linksIn = (html: string) => [...html.matchAll(/href="([^"]*)"/g)].map(([, path]) => path)

describe('GET /', () => {
  const server = useServer()

  it('tells a program the name, the version, the base URL and where to go on', async () => {
    for (const accept of ['*/*', 'application/json']) {
      const answer = await home(server(), accept)
      expect([answer.status, answer.headers.get('vary')]).toEqual([200, 'accept'])
      expect(await answer.json()).toEqual({
        ...{ object: 'server', name: 'millrace', version: 'test', base_url: '/v1' },
        ...{ console: '/console', docs: '/docs/', status: '/readyz' },
      })
    }
  })

  it('shows a browser a page whose links are there', async () => {
    const answer = await home(server(), BROWSER)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    const html = await answer.text()
    expect(html).toContain('Millrace test')
    expect(linksIn(html)).toEqual(['console', 'docs/', 'readyz'])
    for (const path of linksIn(html)) {
      const linked = await fetch(`http://127.0.0.1:${server().port}/${path}`)
      expect([linked.status, (await linked.text()).length > 0]).toEqual([200, true])
    }
  })

  it('answers HEAD without a body, and refuses other methods', async () => {
    const head = await home(server(), BROWSER, 'HEAD')
    expect([head.status, await head.text()]).toEqual([200, ''])
    const refused = await home(server(), '*/*', 'POST')
    expect([refused.status, await refused.text()]).toEqual([405, expect.stringContaining('method_not_allowed')])
  })
})

describe('GET / of a server with a public address, without console and documentation', () => {
  const server = useServer({
    config: `${TEST_CONFIG}\nserver: { public_url: "https://llm.example.com/gate", docs: false }\nconsole: { enabled: false }\n`,
  })

  it('names the public address, and only what is served', async () => {
    expect(await (await home(server(), '*/*')).json()).toEqual({
      ...{ object: 'server', name: 'millrace', version: 'test' },
      ...{ base_url: 'https://llm.example.com/gate/v1', status: 'https://llm.example.com/gate/readyz' },
    })
    expect(linksIn(await (await home(server(), BROWSER)).text())).toEqual(['/gate/readyz'])
  })
})
