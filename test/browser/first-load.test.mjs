import { describe, expect, it } from 'vitest'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

/** The first load must work on a phone with a slow connection. */
const SCRIPT_BYTES_MAX = 160_000
/** The overview needs 11 requests. More would delay the first load. */
const REQUESTS_MAX = 11

describe.skipIf(CHROMIUM === undefined)('the first load', () => {
  const { origin, person, open } = useConsole()

  /** The bytes transferred with an empty cache until the page is shown, as the browser counts them. */
  async function load(path, user, ready) {
    const page = await open('/nowhere-yet', user)
    // Ignore requests of the previous page.
    await page.waitForLoadState('networkidle')
    const wire = await page.context().newCDPSession(page)
    await wire.send('Network.enable')
    await wire.send('Network.clearBrowserCache')
    const requests = new Map()
    wire.on('Network.responseReceived', ({ requestId, type, response }) =>
      requests.set(requestId, { type, url: response.url, headers: response.headers, bytes: 0 }),
    )
    wire.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const request = requests.get(requestId)
      if (request !== undefined) request.bytes = encodedDataLength
    })
    await page.goto(`${origin()}/console${path}`)
    await ready(page).first().waitFor()
    await page.waitForLoadState('networkidle')
    return [...requests.values()]
  }

  const heading = (name) => (page) => page.getByRole('heading', { name, exact: true })

  it.each([
    { page: 'the sign-in', path: '/sign-in', ready: heading('Sign in'), signedIn: false },
    { page: 'the overview', path: '/', ready: heading('Overview'), signedIn: true },
  ])('of $page is compressed, small and takes few requests', async ({ path, ready, signedIn }) => {
    const requests = await load(path, signedIn ? await person() : undefined, ready)
    const scripts = requests.filter(({ type }) => type === 'Script')
    expect(scripts.length).toBeGreaterThan(0)
    expect(scripts.filter(({ headers }) => !/^(gzip|br)$/.test(headers['content-encoding']))).toEqual([])
    expect(scripts.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(SCRIPT_BYTES_MAX)
    // The browser requests the favicon, and nothing waits for it.
    // Count polled addresses once.
    const sent = requests.filter(({ type }) => type !== 'Other').map(({ url }) => url.slice(origin().length))
    const addresses = [...new Set(sent)]
    expect(addresses.length, addresses.join('\n')).toBeLessThanOrEqual(REQUESTS_MAX)
  })
})
