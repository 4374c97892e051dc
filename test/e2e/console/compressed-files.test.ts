import { readFile } from 'node:fs/promises'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { type BytesReceived, codeIn, sendBytes } from '../../support/send-bytes.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer()
/** As it is shipped: `npm test` builds it first. */
const BUILT = new URL('../../../dist/console/', import.meta.url)
let script: string

beforeAll(async () => {
  const page = await readFile(new URL('index.html', BUILT), 'utf8')
  script = /src="\/console\/(assets\/[\w.-]+\.js)"/.exec(page)![1]!
})

const unpacked = ({ headers, bytes }: BytesReceived): Buffer => {
  const coding = headers['content-encoding']
  if (coding === undefined) return bytes
  return coding === 'br' ? brotliDecompressSync(bytes) : gunzipSync(bytes)
}

const accepting = (accepted: string | undefined) =>
  accepted === undefined ? {} : { headers: { 'accept-encoding': accepted } }

describe('a file of the console', () => {
  it.each([
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['BR', 'br'],
    ['br;q=0.001', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['br; q=0.000, gzip ; q=0', undefined],
    ['brotli, x-gzip', undefined],
    ['identity', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('is served with Accept-Encoding %j as %j, with identical content', async (accepted, coding) => {
    for (const path of ['index.html', script]) {
      const reported = await sendBytes(server(), `/console/${path}`, accepting(accepted))
      const built = await readFile(new URL(path, BUILT))
      expect(reported.status).toBe(200)
      expect(reported.headers['content-encoding']).toBe(coding)
      expect(reported.headers['content-length']).toBe(String(reported.bytes.length))
      expect(reported.headers.vary).toBe('accept-encoding')
      expect(unpacked(reported).equals(built)).toBe(true)
      if (coding !== undefined) expect(reported.bytes.length).toBeLessThan(built.length)
    }
  })

  it('is cached forever when its name is hashed; the page is revalidated', async () => {
    const [file, page] = [await sendBytes(server(), `/console/${script}`), await sendBytes(server(), '/console/')]
    expect(file.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    })
    expect(page.headers).toMatchObject({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' })
    for (const { headers } of [file, page]) {
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['content-security-policy']).toContain("default-src 'none'")
      expect(headers['set-cookie']).toBeUndefined()
    }
  })

  it('answers 304 to a matching ETag', async () => {
    for (const path of ['/console/', `/console/${script}`]) {
      const first = await sendBytes(server(), path, accepting('br'))
      const { etag } = first.headers
      expect(etag).toMatch(/^"[\w-]{22}-br"$/)
      const again = await sendBytes(server(), path, { headers: { 'if-none-match': etag, 'accept-encoding': 'br' } })
      expect([again.status, again.bytes.length]).toEqual([304, 0])
      for (const name of ['etag', 'cache-control', 'vary', 'content-security-policy']) {
        expect(again.headers[name]).toBe(first.headers[name])
      }
      const other = await sendBytes(server(), path, { headers: { 'if-none-match': '"another"' } })
      expect(other.status).toBe(200)
    }
  })

  it('has one ETag per encoding', async () => {
    const path = `/console/${script}`
    const tags = new Map<string | undefined, string>()
    for (const accepted of ['br', 'gzip', undefined]) {
      tags.set(accepted, (await sendBytes(server(), path, accepting(accepted))).headers.etag!)
    }
    expect(new Set(tags.values()).size).toBe(3)
    for (const [accepted, known] of tags) {
      const statuses = [...tags.values()].map(async (tag) => {
        const headers = { ...accepting(accepted).headers, 'if-none-match': `"old", W/${tag}` }
        return (await sendBytes(server(), path, { headers })).status
      })
      expect(await Promise.all(statuses)).toEqual([...tags.values()].map((tag) => (tag === known ? 304 : 200)))
    }
  })

  it('answers HEAD with the same headers and no body', async () => {
    const receivedRequest = accepting('gzip')
    const [got, reported] = [
      await sendBytes(server(), `/console/${script}`, receivedRequest),
      await sendBytes(server(), `/console/${script}`, { ...receivedRequest, method: 'HEAD' }),
    ]
    expect([reported.status, reported.bytes.length]).toEqual([200, 0])
    const words = ({ headers: { date, 'x-request-id': id, ...rest } }: BytesReceived) => [rest, typeof date, typeof id]
    expect(words(reported)).toEqual(words(got))
  })

  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('refuses %s', async (method) => {
    const reported = await sendBytes(server(), '/console/keys', { method })
    expect([reported.status, codeIn(reported)]).toEqual([405, 'method_not_allowed'])
  })
})

describe('a path below the console', () => {
  it.each(['', '/', '/keys', '/keys/key_1', '/constructor', '/__proto__', '/index.html.br', '/requests?model=a/b'])(
    'that is no file serves the page: %j',
    async (path) => {
      const [reported, page] = [
        await sendBytes(server(), `/console${path}`),
        await sendBytes(server(), '/console/index.html'),
      ]
      expect([reported.status, reported.headers.etag]).toEqual([200, page.headers.etag])
    },
  )

  it('answers 404 for a file of another build instead of the page', async () => {
    for (const name of ['index-00000000.js', `${script.slice('assets/'.length)}.br`, 'constructor', '..']) {
      const reported = await sendBytes(server(), `/console/assets/${name}`)
      expect([reported.status, codeIn(reported), reported.headers['cache-control']], name).toEqual([
        404,
        'not_found',
        'no-store',
      ])
    }
  })

  it.each([
    '../package.json',
    '../../package.json',
    'assets/../../../package.json',
    '%2e%2e/%2e%2e/package.json',
    'assets/..%2f..%2f..%2fpackage.json',
    '..\\..\\package.json',
    '..%5c..%5cpackage.json',
    '%00../../package.json',
    '/package.json',
    '../app/main.js',
  ])('never redirects elsewhere: %s', async (path) => {
    const [reported, page] = [await sendBytes(server(), `/console/${path}`), await sendBytes(server(), '/console/')]
    if (reported.status === 200) expect(reported.bytes.equals(page.bytes)).toBe(true)
    else expect([reported.status, codeIn(reported)]).toEqual([404, 'not_found'])
  })
})
