import { describe, expect, it } from 'vitest'
import { PASSWORD } from '../support/console-session.ts'
import { reopenPage } from './lib/reopen-page.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const TRIES = 5

describe.skipIf(CHROMIUM === undefined)('the sign-in', () => {
  const { server, origin, person, open } = useConsole()

  const signIn = async (page, email, password = PASSWORD) => {
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  const heading = (page, name) => page.getByRole('heading', { name, exact: true })

  it('redirects a visitor and returns to the requested page', async () => {
    const { email } = await person()
    const page = await open('/requests?model=calm')
    await heading(page, 'Sign in').waitFor()
    await signIn(page, email)
    await heading(page, 'Requests').waitFor()
    expect(page.url()).toBe(`${origin()}/console/requests?model=calm`)
  })

  it('never redirects to another site', async () => {
    const { email } = await person()
    const page = await open('/sign-in?next=//evil.example')
    await signIn(page, email)
    await heading(page, 'Overview').waitFor()
    expect(page.url()).toBe(`${origin()}/console/`)
  })

  it('shows one message for every failure, gives a lockout no countdown for others, and works when it is over', async () => {
    const { email } = await person()
    const page = await open('/sign-in')
    const refused = page.getByText('Incorrect email or password.')
    await signIn(page, 'unknown@browser.example', 'a wrong password')
    await refused.waitFor()
    for (let tries = 0; tries < TRIES; tries++) {
      const answered = page.waitForResponse((response) => response.url().endsWith('/console/api/session'))
      await signIn(page, email, 'a wrong password')
      expect((await answered).status()).toBe(403)
      await refused.waitFor()
    }
    await signIn(page, email)
    await page.getByRole('alert').getByText('Too many attempts.').waitFor()
    expect(await page.getByRole('timer').count()).toBe(0)
    server().advance(15 * 60_000)
    await signIn(page, email)
    await heading(page, 'Overview').waitFor()
  })

  it('does not report other failures as a wrong password', async () => {
    const page = await open('/sign-in')
    const refusal = { message: 'In the server’s words.', param: null, request_id: 'req_of_the_door', retry_after: null }
    const refuse = (code) => (route) => route.fulfill({ status: 403, json: { error: { ...refusal, code } } })
    await page.route('**/console/api/session', refuse('https_needed'))
    await signIn(page, 'ada@browser.example')
    await page.getByRole('alert').getByText('Your password would be sent unencrypted.').waitFor()
    await page.getByText('req_of_the_door').waitFor()
    await page.unroute('**/console/api/session')
    await page.route('**/console/api/session', refuse('of_tomorrow'))
    await signIn(page, 'ada@browser.example')
    await page.getByRole('alert').getByText('In the server’s words.').waitFor()
    expect(await page.getByText('Incorrect email or password.').count()).toBe(0)
  })

  it('hides the pages after a sign-out, also after going back', async () => {
    const user = await person()
    const page = await open('/keys', user)
    await heading(page, 'Keys').waitFor()
    await page.getByRole('button', { name: user.email }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await heading(page, 'Sign in').waitFor()
    await page.goBack().catch(() => {})
    await page.goto(`${origin()}/console/keys`)
    await heading(page, 'Sign in').waitFor()
    expect((await user.session.send('GET /keys')).status).toBe(401)
  })

  it('returns to the same page after a sign-out in another tab', async () => {
    const user = await person()
    const page = await open('/usage', user)
    await heading(page, 'Usage').waitFor()
    await page.waitForLoadState('networkidle')
    // Holds back what this page polls, or a poll would notice the sign-out before the click.
    await page.route('**/console/api/**', (route) => {
      if (page.url().includes('/sign-in') || route.request().url().includes('/api/models')) return route.continue()
    })
    await user.session.call('DELETE /session')
    await page.getByRole('link', { name: 'Models', exact: true }).evaluate((link) => link.click())
    await page.getByText('Your session has ended.').waitFor()
    expect(new URL(page.url()).searchParams.get('next')).toBe('/models')
    await signIn(page, user.email)
    await heading(page, 'Models').waitFor()
  })

  it('removes the setup code from the address and refuses a used one', async () => {
    const { link } = await server().operate('people.invite', { email: 'grace@browser.example', role: 'operator' })
    const path = new URL(link).pathname.replace('/console', '') + new URL(link).search
    const page = await open(path)
    await heading(page, 'Set up this server').waitFor()
    expect(page.url()).toBe(`${origin()}/console/setup`)
    await page.getByLabel('New password').fill('a long enough one')
    await page.getByRole('button', { name: 'Finish setup' }).click()
    await page.getByRole('button', { name: 'grace@browser.example' }).waitFor()
    const code = new URL(link).searchParams.get('code')
    const addresses = await page.evaluate(() => performance.getEntriesByType('navigation').map(({ name }) => name))
    await page.goBack().catch(() => {})
    expect([page.url(), ...addresses.slice(1)].join(' ')).not.toContain(code)
    const again = await open(path)
    await again.getByText('The code is incomplete, has expired or was already used.').waitFor()
    // A wrong code counts against the rate limit, so returning to the tab must not send it again.
    const guesses = []
    again.on('request', (request) => guesses.push(request.url()))
    await reopenPage(again)
    await again.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
    expect(guesses.filter((url) => url.endsWith('/invitation'))).toEqual([])
  })

  it('explains why a link does not work and what to do next', async () => {
    const page = await open('/setup?code=K4J7-9XQM')
    await heading(page, 'This link does not work').waitFor()
    await page.getByRole('alert').getByText('The code is incomplete, has expired or was already used.').waitFor()
    await page.getByText('ask your operator for a new link').waitFor()
    await page.getByRole('button', { name: 'Enter another code' }).click()
    await page.getByLabel('Setup code').waitFor()
    await page.getByRole('link', { name: 'Go to sign-in' }).click()
    await heading(page, 'Sign in').waitFor()
  })

  it('offers a way on to a signed-in person and after a link has expired', async () => {
    const inside = await open('/setup?code=K4J7-9XQM', await person())
    await inside.getByRole('link', { name: 'Back to the console' }).click()
    await heading(inside, 'Overview').waitFor()

    const { link } = await server().operate('people.invite', { email: 'late@browser.example', role: 'operator' })
    const page = await open(new URL(link).pathname.replace('/console', '') + new URL(link).search)
    await page.getByLabel('New password').fill('a long enough one')
    server().advance(8 * 86_400_000)
    await page.getByRole('button', { name: 'Finish setup' }).click()
    await page.getByRole('alert').getByText('The code is incomplete, has expired or was already used.').waitFor()
    await page.getByRole('link', { name: 'Go to sign-in' }).click()
    await heading(page, 'Sign in').waitFor()
  })
})

describe.skipIf(CHROMIUM === undefined)('the sign-in of a new server', () => {
  const { open } = useConsole()

  it('explains how to get a new link and accepts a code', async () => {
    const page = await open('/sign-in')
    await page.getByRole('link', { name: 'Enter setup code' }).click()
    await page.getByLabel('Setup code').fill('K4J7-9XQM')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Restart it to get a new link').waitFor()
    expect(await page.getByRole('link', { name: 'Go to sign-in' }).count()).toBe(0)
  })
})
