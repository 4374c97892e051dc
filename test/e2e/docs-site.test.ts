import { beforeAll, describe, expect, it } from 'vitest'
import { sendBytes } from '../support/send-bytes.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { useServer } from '../support/use-server.ts'

const server = useServer()
const get = async (path: string) => {
  const { status, headers, bytes } = await sendBytes(server(), path)
  return { status, headers, text: bytes.toString('utf8') }
}

describe('the documentation', () => {
  let addresses: string[]

  beforeAll(async () => {
    const { text } = await get('/docs/search.json')
    addresses = [...new Set((JSON.parse(text) as { address: string }[]).map(({ address }) => address.split('#')[0]!))]
  })

  it('begins at /docs, for a proxy that adds a path too', async () => {
    expect((await get('/docs')).headers.location).toBe('docs/')
    const first = await get('/docs/')
    expect(first).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
    expect(first.headers['content-security-policy']).toContain("default-src 'none'")
    expect(first.text).toContain('<h1 id="documentation">Documentation</h1>')
  })

  it('has every page, and each of its links leads to a page, a place in it, or a file', async () => {
    expect(addresses.length).toBeGreaterThan(80)
    const pages = new Map<string, string>()
    const read = async (path: string) => {
      const known = pages.get(path)
      if (known !== undefined) return known
      const { status, text } = await get(path)
      const found = status === 200 ? text : ''
      pages.set(path, found)
      return found
    }
    const dead: string[] = []
    for (const address of addresses) {
      const from = new URL(`http://site/docs/${address}`)
      const html = await read(from.pathname)
      expect(html, address).toContain('<main id="content">')
      for (const [, href = ''] of html.matchAll(/(?:href|src)="([^"]*)"/g)) {
        const target = new URL(href.replaceAll('&amp;', '&'), from)
        if (target.host !== 'site') continue
        const text = await read(target.pathname)
        const anchor = decodeURIComponent(target.hash.slice(1))
        if (text === '' || (anchor !== '' && !text.includes(`id="${anchor}"`))) dead.push(`${address}: ${href}`)
      }
    }
    expect(dead).toEqual([])
  })

  it('redirects the address of a page with a slash to the one whose relative links are right', async () => {
    const { status, headers } = await get('/docs/api/admin/?q=1')
    expect(status).toBe(308)
    expect(new URL(headers.location ?? '', 'http://site/llm/docs/api/admin/').pathname).toBe('/llm/docs/api/admin')
    expect((await get('/docs/api/nothing/')).status).toBe(404)
  })

  it('says what to do about a page that does not exist', async () => {
    for (const path of [
      '/docs/operate/nothing',
      '/docs/../package.json',
      '/docs/%2e%2e/package.json',
      '/docs/operate',
    ]) {
      const { status, text } = await get(path)
      expect(status).toBe(404)
      expect(text).not.toContain('"dependencies"')
    }
    expect((await get('/docs/operate/nothing')).text).toContain('/docs/')
  })
})

describe('an operator who switches the documentation off', () => {
  const silent = useServer({ config: `${TEST_CONFIG}\nserver:\n  docs: false\n` })

  it('has none', async () => {
    for (const path of ['/docs', '/docs/', '/docs/operate/keys']) {
      expect((await sendBytes(silent(), path)).status).toBe(404)
    }
  })
})
