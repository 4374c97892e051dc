import { describe, expect, it } from 'vitest'
import { PASSWORD } from '../support/console-session.ts'
import { openAccount } from '../support/test-account.ts'
import { comeBack } from './lib/come-back.mjs'
import { cookieFor } from './lib/cookie-for.mjs'
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

  /** As another tab would have it renewed, without a word to this one. */
  const giveSession = (page, { asked }) => page.context().addCookies([cookieFor(origin(), asked.cookie)])
  const namesOf = async ({ asked }) => (await asked.ask('GET /keys')).items.map(({ name }) => name)

  /** Whatever an answer changes on the page has been drawn by then. */
  const twoFrames = (page) =>
    page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))

  it('a question for the password ends with its session, and does nothing in the next one', async () => {
    const [first, second] = [await person(), await person()]
    const page = await open('/keys', first)
    await heading(page, 'Keys').waitFor()
    server().advance(LATER)
    await makeKey(page, 'of the first')
    const question = page.getByRole('dialog', { name: 'Confirm your password' })
    await question.getByLabel('Password', { exact: true }).fill(PASSWORD)
    // A question that the page asks by itself would find out first.
    await page.route('**/console/api/keys*', () => {})
    await first.asked.ask('DELETE /session')
    await button(question, 'Confirm').click()
    await heading(page, 'Sign in').waitFor()
    await page.unroute('**/console/api/keys*')
    await signIn(page, second.email)
    await heading(page, 'Keys').waitFor()
    await button(page, second.email).waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(await namesOf(second)).not.toContain('of the first')
  })

  /** A key was just made here, and in another tab its person has signed out. */
  async function secretOfOneSignedOut(name) {
    const somebody = await person()
    const page = await open('/keys', somebody)
    await makeKey(page, name)
    const secret = page.getByRole('dialog', { name: 'Save your key' })
    await secret.waitFor()
    const heard = page.waitForResponse((response) => response.url().endsWith('/console/api/session'))
    await signOut(await another(page, '/settings'), somebody)
    await heard
    await twoFrames(page)
    return { page, secret }
  }

  it('a secret that is shown once stays when somebody signs out elsewhere, and the page goes when it is stored', async () => {
    const { page, secret } = await secretOfOneSignedOut('kept')
    expect(await secret.getByText(/^mr_/).first().textContent()).toMatch(/^mr_/)
    expect(await page.getByText('This page could not be shown.').count()).toBe(0)
    await button(secret, 'Done').click()
    await heading(page, 'Sign in').waitFor()
  })

  it('a page that waits for its secret to be stored asks nothing any more', async () => {
    const { page, secret } = await secretOfOneSignedOut('still')
    const asked = []
    page.on('request', (request) => asked.push(request.url()))
    await comeBack(page)
    await twoFrames(page)
    expect(asked).toEqual([])
    expect(await secret.getByText(/^mr_/).first().isVisible()).toBe(true)
  })

  it('whoever signs out comes to the plain sign-in, also where the page finds out sooner than the button', async () => {
    const somebody = await person()
    const page = await open('/keys', somebody)
    await heading(page, 'Keys').waitFor()
    await page.route('**/console/api/session', async (route) => {
      if (route.request().method() !== 'DELETE') return route.continue()
      const response = await route.fetch()
      const told = page.waitForResponse((each) => each.status() === 401)
      await comeBack(page)
      await told
      await twoFrames(page)
      await route.fulfill({ response })
    })
    await signOut(page, somebody)
    expect(page.url()).toBe(`${origin()}/console/sign-in`)
  })

  it('what was asked before somebody signed in, and answered after it, does not sign them out', async () => {
    const somebody = await person()
    const page = await open('/sign-in')
    await heading(page, 'Sign in').waitFor()
    let letGo = () => {}
    const held = new Promise((resolve) => {
      letGo = resolve
    })
    const asked = new Promise((resolve) => {
      void page.route('**/console/api/session', async (route) => {
        if (route.request().method() !== 'GET') return route.continue()
        const response = await route.fetch()
        resolve()
        await held
        await route.fulfill({ response })
      })
    })
    await comeBack(page)
    await asked
    // The sign-in stays until the next page is there, and with it what it has asked.
    let show = () => {}
    const shown = new Promise((resolve) => {
      show = resolve
    })
    await page.route('**/*.js', async (route) => {
      await shown
      await route.continue()
    })
    const signedIn = page.waitForResponse((response) => response.request().method() === 'POST')
    await signIn(page, somebody.email)
    await signedIn
    const told = page.waitForResponse((response) => response.url().endsWith('/console/api/session'))
    letGo()
    await told
    show()
    await twoFrames(page)
    await button(page, somebody.email).waitFor()
    await heading(page, 'Overview').waitFor()
  })

  it('whoever signs in elsewhere has every tab, at their own home', async () => {
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

  it('an act goes through in a new session of the same person', async () => {
    const somebody = await person()
    const page = await open('/keys', somebody)
    await heading(page, 'Keys').waitFor()
    await somebody.asked.ask('POST /session', { body: { email: somebody.email, password: PASSWORD } })
    await giveSession(page, somebody)
    await makeKey(page, 'across')
    await button(page, 'Done').click()
    expect((await namesOf(somebody)).filter((name) => name === 'across')).toHaveLength(1)
  })

  it('an act is not done in the session of somebody else', async () => {
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
