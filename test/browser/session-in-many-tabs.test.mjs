import { describe, expect, it } from 'vitest'
import { PASSWORD } from '../support/console-session.ts'
import { openAccount } from '../support/test-account.ts'
import { cookieFor } from './lib/cookie-for.mjs'
import { reopenPage } from './lib/reopen-page.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const LATER = 16 * 60_000

describe.skipIf(CHROMIUM === undefined)('one session in many tabs', () => {
  const { server, origin, person, open } = useConsole()
  const heading = (page, name) => page.getByRole('heading', { name, exact: true })
  const button = (place, name) => place.getByRole('button', { name, exact: true })

  const another = async (page, path) => {
    const tab = await page.context().newPage()
    await tab.goto(`${origin()}/console${path}`)
    return tab
  }

  const signIn = async (page, email) => {
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await button(page, 'Sign in').click()
  }

  async function signOut(page, { email }) {
    await button(page, email).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await heading(page, 'Sign in').waitFor()
  }

  async function makeKey(page, name) {
    await button(page, 'New key').first().click()
    await page.getByRole('dialog').getByLabel('Name').fill(name)
    await button(page, 'Create key').click()
  }

  /** Renews the session as another tab would, without notifying this one. */
  const giveSession = (page, { session }) => page.context().addCookies([cookieFor(origin(), session.cookie)])
  const namesOf = async ({ session }) => (await session.call('GET /keys')).items.map(({ name }) => name)

  /** Waits until the page has rendered the response. */
  const twoFrames = (page) =>
    page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))

  it('closes the password dialog with its session and does not run its mutation in the next one', async () => {
    const [first, second] = [await person(), await person()]
    const page = await open('/keys', first)
    await heading(page, 'Keys').waitFor()
    server().advance(LATER)
    await makeKey(page, 'of the first')
    const question = page.getByRole('dialog', { name: 'Confirm your password' })
    await question.getByLabel('Password', { exact: true }).fill(PASSWORD)
    // Block polling, which would notice first.
    await page.route('**/console/api/keys*', () => {})
    await first.session.call('DELETE /session')
    await button(question, 'Confirm').click()
    await heading(page, 'Sign in').waitFor()
    await page.unroute('**/console/api/keys*')
    await signIn(page, second.email)
    await heading(page, 'Keys').waitFor()
    await button(page, second.email).waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(await namesOf(second)).not.toContain('of the first')
  })

  /** Creates a key here and signs out in another tab. */
  async function secretOfOneSignedOut(name) {
    const user = await person()
    const page = await open('/keys', user)
    await makeKey(page, name)
    const secret = page.getByRole('dialog', { name: 'Save your key' })
    await secret.waitFor()
    const answered = page.waitForResponse((response) => response.url().endsWith('/console/api/session'))
    await signOut(await another(page, '/settings'), user)
    await answered
    await twoFrames(page)
    return { page, secret }
  }

  it('keeps a secret on screen after a sign-out in another tab until it is dismissed', async () => {
    const { page, secret } = await secretOfOneSignedOut('kept')
    expect(await secret.getByText(/^mr_/).first().textContent()).toMatch(/^mr_/)
    expect(await page.getByText('This page could not be shown.').count()).toBe(0)
    await button(secret, 'Done').click()
    await heading(page, 'Sign in').waitFor()
  })

  it('sends no requests from a page that only waits for its secret to be dismissed', async () => {
    const { page, secret } = await secretOfOneSignedOut('still')
    const urls = []
    page.on('request', (request) => urls.push(request.url()))
    await reopenPage(page)
    await twoFrames(page)
    expect(urls).toEqual([])
    expect(await secret.getByText(/^mr_/).first().isVisible()).toBe(true)
  })

  it('leads to the plain sign-in page after a sign-out, even if a query notices first', async () => {
    const user = await person()
    const page = await open('/keys', user)
    await heading(page, 'Keys').waitFor()
    await page.route('**/console/api/session', async (route) => {
      if (route.request().method() !== 'DELETE') return route.continue()
      const response = await route.fetch()
      const noticed = page.waitForResponse((each) => each.status() === 401)
      await reopenPage(page)
      await noticed
      await twoFrames(page)
      await route.fulfill({ response })
    })
    await signOut(page, user)
    expect(page.url()).toBe(`${origin()}/console/sign-in`)
  })

  it('ignores session responses that were requested before a sign-in', async () => {
    const user = await person()
    const page = await open('/sign-in')
    await heading(page, 'Sign in').waitFor()
    let letGo = () => {}
    const held = new Promise((resolve) => {
      letGo = resolve
    })
    const fetched = new Promise((resolve) => {
      void page.route('**/console/api/session', async (route) => {
        if (route.request().method() !== 'GET') return route.continue()
        const response = await route.fetch()
        resolve()
        await held
        await route.fulfill({ response })
      })
    })
    await reopenPage(page)
    await fetched
    // The sign-in page stays until the next one has loaded.
    let show = () => {}
    const shown = new Promise((resolve) => {
      show = resolve
    })
    await page.route('**/*.js', async (route) => {
      await shown
      await route.continue()
    })
    const signedIn = page.waitForResponse((response) => response.request().method() === 'POST')
    await signIn(page, user.email)
    await signedIn
    const noticed = page.waitForResponse((response) => response.url().endsWith('/console/api/session'))
    letGo()
    await noticed
    show()
    await twoFrames(page)
    await button(page, user.email).waitFor()
    await heading(page, 'Overview').waitFor()
  })

  it('moves every tab to the start page of the person who signed in last', async () => {
    const first = await person({ credit: '12.34' })
    const page = await open('/wallet', first)
    await page.getByText('$12.34').first().waitFor()
    const email = 'second@tabs.example'
    const account = await openAccount(server(), { credit: '56.78' })
    const { link } = await server().operate('people.invite', { email, role: 'owner', account: account.id })
    const tab = await another(page, link.slice(link.indexOf('/setup')))
    await tab.getByLabel('New password').fill(PASSWORD)
    await button(tab, 'Finish setup').click()
    await button(tab, email).waitFor()
    await button(page, email).waitFor()
    await heading(page, 'Overview').waitFor()
    await page.getByText('$56.78').first().waitFor()
    expect(await page.getByText('$12.34').count()).toBe(0)
    await signOut(tab, { email })
    await heading(page, 'Sign in').waitFor()
  })

  it('runs a mutation in a new session of the same person', async () => {
    const user = await person()
    const page = await open('/keys', user)
    await heading(page, 'Keys').waitFor()
    await user.session.call('POST /session', { body: { email: user.email, password: PASSWORD } })
    await giveSession(page, user)
    await makeKey(page, 'across')
    await button(page, 'Done').click()
    expect((await namesOf(user)).filter((name) => name === 'across')).toHaveLength(1)
  })

  it('does not run a mutation in the session of another person', async () => {
    const [first, second] = [await person(), await person()]
    const page = await open('/keys', first)
    await heading(page, 'Keys').waitFor()
    await giveSession(page, second)
    await makeKey(page, 'astray')
    await button(page, second.email).waitFor()
    await heading(page, 'Overview').waitFor()
    expect([...(await namesOf(first)), ...(await namesOf(second))]).not.toContain('astray')
  })
})
