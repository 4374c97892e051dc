import { describe, expect, it } from 'vitest'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

/** The first load must work on a phone with a slow connection. */
const SCRIPT_BYTES_MAX = 168_000
/** The overview needs 12 requests. More would delay the first load. */
const REQUESTS_MAX = 12

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

describe.skipIf(CHROMIUM === undefined)('the first paint', () => {
  const { origin, person, open } = useConsole()

  /** At 50 kB a second they take a fifth of one. */
  const BYTES_BEFORE_MAX = 4_000

  it.each([
    { page: 'the sign-in', path: '/sign-in', signedIn: false },
    { page: 'the overview', path: '/', signedIn: true },
  ])('of $page needs neither the app nor its styles', async ({ path, signedIn }) => {
    const page = await open('/nowhere-yet', signedIn ? await person() : undefined)
    const held = []
    let bytes = 0
    await page.route('**/console/**', async (route) => {
      const { pathname } = new URL(route.request().url())
      if (/\/assets\/(?!before-app)/.test(pathname) || pathname.includes('/api/')) return void held.push(route)
      const response = await route.fetch()
      bytes += Number(response.headers()['content-length'] ?? (await response.body()).length)
      await route.fulfill({ response })
    })
    await page.goto(`${origin()}/console${path}`, { waitUntil: 'commit' })
    await page.getByText('Millrace', { exact: true }).waitFor()
    const painted = () =>
      page.evaluate(() => performance.getEntriesByName('first-contentful-paint').map(({ startTime }) => startTime))
    await expect.poll(painted, { timeout: 10_000 }).toHaveLength(1)
    expect(held.some((route) => route.request().url().endsWith('.css'))).toBe(true)
    expect(bytes).toBeLessThanOrEqual(BYTES_BEFORE_MAX)
    // Those that are held go on by themselves.
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await Promise.all(held.map((route) => route.continue().catch(() => {})))
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    expect(await page.locator('#first-frame').count()).toBe(0)
  })
})
