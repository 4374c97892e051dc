import { chromium } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { signUp } from '../../support/console-session.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'
import { cookieFor } from './cookie-for.mjs'
import { findChromium } from './find-chromium.mjs'
import { watchPages } from './watch-page.mjs'

export const CHROMIUM = findChromium(process.env)

/** Time for a page to get somewhere; how long it took is nobody's business. */
const PATIENCE_MS = 20_000
const DESK = { width: 1280, height: 800 }

/** One browser for the tests of a file. After each of them every page has to have been well behaved, and is closed. */
export function useBrowser() {
  let browser
  let opened = []
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  })
  afterEach(async () => {
    const complaints = opened.flatMap((each) => each.complaints.filter((complaint) => !each.isForgiven(complaint)))
    await Promise.all(opened.map(({ context }) => context.close()))
    opened = []
    expect(complaints, 'what pages did that none may').toEqual([])
  })
  afterAll(() => browser?.close())

  /** A page in a browser profile of its own. `isForgiven`: complaints that the test itself gives reason for. */
  return async function openPage(origin, path = '/', { cookie, isForgiven = () => false, ...look } = {}) {
    const context = await browser.newContext({ viewport: DESK, locale: 'en-US', timezoneId: 'Europe/Lisbon', ...look })
    context.setDefaultTimeout(PATIENCE_MS)
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin })
    const complaints = await watchPages(context, origin)
    opened.push({ context, complaints, isForgiven })
    if (cookie !== undefined) await context.addCookies([cookieFor(origin, cookie)])
    const page = await context.newPage()
    await page.goto(`${origin}/console${path}`)
    return page
  }
}

/** The real server beside it, in this process, so that its clock can be moved on. */
export function useConsole(options = {}) {
  const server = useServer(options)
  const openPage = useBrowser()
  const origin = () => `http://127.0.0.1:${server().port}`
  let people = 0
  return {
    server,
    origin,
    /** Somebody with an account, money and a session. */
    async person({ role = 'owner', credit = '10.00' } = {}) {
      people += 1
      const account = await openAccount(server(), { credit })
      const email = `somebody-${people}@browser.example`
      const asked = await signUp(server(), { email, role, account: account.id })
      return { email, account, asked }
    },
    /** A page as that person sees it, or as a stranger does. */
    open: (path, person, look = {}) =>
      openPage(origin(), path, { ...look, ...(person && { cookie: person.asked.cookie }) }),
  }
}
