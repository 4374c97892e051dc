import { describe, expect, it } from 'vitest'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

/** A telephone on a slow line has to get it too. */
const SCRIPT_BYTES_MAX = 160_000
/** The overview asks for 11; more than these is something new that everybody waits for. */
const REQUESTS_MAX = 11

describe.skipIf(CHROMIUM === undefined)('the first load', () => {
  const { origin, person, open } = useConsole()

  /** What goes over the wire from an empty cache until the page is there, by the browser's own count. */
  async function load(path, somebody, ready) {
    const page = await open('/nowhere-yet', somebody)
    // What that page still asks for is no part of this one.
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
  ])('of $page is compressed, small, and made of few requests', async ({ path, ready, signedIn }) => {
    const requests = await load(path, signedIn ? await person() : undefined, ready)
    const scripts = requests.filter(({ type }) => type === 'Script')
    expect(scripts.length).toBeGreaterThan(0)
    expect(scripts.filter(({ headers }) => !/^(gzip|br)$/.test(headers['content-encoding']))).toEqual([])
    expect(scripts.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(SCRIPT_BYTES_MAX)
    // The picture of the tab is asked for by the browser, and nothing waits for it.
    // What is polled was asked for once, and then again.
    const asked = requests.filter(({ type }) => type !== 'Other').map(({ url }) => url.slice(origin().length))
    const addresses = [...new Set(asked)]
    expect(addresses.length, addresses.join('\n')).toBeLessThanOrEqual(REQUESTS_MAX)
  })
})
