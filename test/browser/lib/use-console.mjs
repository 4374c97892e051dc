import { chromium } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { signUp } from '../../support/console-session.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'
import { cookieFor } from './cookie-for.mjs'
import { findChromium } from './find-chromium.mjs'
import { watchPages } from './watch-page.mjs'

export const CHROMIUM = findChromium(process.env)

/** Timeout of page actions. */
const PATIENCE_MS = 20_000
const VIEWPORT = { width: 1280, height: 800 }

/** One browser for the tests of a file. After each test, pages are checked for complaints and closed. */
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
    expect(complaints, 'complaints of the pages').toEqual([])
  })
  afterAll(() => browser?.close())

  /** Opens a page in its own browser profile. `isForgiven` accepts complaints that the test causes. */
  return async function openPage(origin, path = '/', { cookie, isForgiven = () => false, ...look } = {}) {
    const context = await browser.newContext({
      viewport: VIEWPORT,
      locale: 'en-US',
      timezoneId: 'Europe/Lisbon',
      ...look,
    })
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

/** Runs the real server in this process, so that tests can advance its clock. */
export function useConsole(options = {}) {
  const server = useServer(options)
  const openPage = useBrowser()
  const origin = () => `http://127.0.0.1:${server().port}`
  let people = 0
  return {
    server,
    origin,
    /** A person with an account, funds and a session. */
    async person({ role = 'owner', credit = '10.00' } = {}) {
      people += 1
      const account = await openAccount(server(), { credit })
      const email = `person-${people}@browser.example`
      const session = await signUp(server(), { email, role, account: account.id })
      return { email, account, session }
    },
    /** Opens a page as that person or signed out. `at`: another address of this server. */
    open: (path, person, { at = origin(), ...look } = {}) =>
      openPage(at, path, { ...look, ...(person && { cookie: person.session.cookie }) }),
  }
}
