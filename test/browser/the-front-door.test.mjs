import { describe, expect, it } from 'vitest'
import { PASSWORD } from '../support/console-session.ts'
import { comeBack } from './lib/come-back.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const TRIES = 5

describe.skipIf(CHROMIUM === undefined)('the front door', () => {
  const { server, origin, person, open } = useConsole()

  const signIn = async (page, email, password = PASSWORD) => {
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  const heading = (page, name) => page.getByRole('heading', { name, exact: true })

  it('sends a visitor to sign in, and back to where they wanted to go', async () => {
    const { email } = await person()
    const page = await open('/requests?model=calm')
    await heading(page, 'Sign in').waitFor()
    await signIn(page, email)
    await heading(page, 'Requests').waitFor()
    expect(page.url()).toBe(`${origin()}/console/requests?model=calm`)
  })

  it('leads nowhere else, whatever the address says', async () => {
    const { email } = await person()
    const page = await open('/sign-in?next=//evil.example')
    await signIn(page, email)
    await heading(page, 'Overview').waitFor()
    expect(page.url()).toBe(`${origin()}/console/`)
  })

  it('says one sentence for whatever is wrong, does not time who locks others out, and opens when the time is over', async () => {
    const { email } = await person()
    const page = await open('/sign-in')
    const refused = page.getByText('Incorrect email or password.')
    await signIn(page, 'nobody@browser.example', 'a wrong password')
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

  it('calls nothing a wrong password that is none', async () => {
    const page = await open('/sign-in')
    const refusal = { message: 'In the server’s words.', param: null, request_id: 'req_of_the_door', retry_after: null }
    const refuse = (code) => (route) => route.fulfill({ status: 403, json: { error: { ...refusal, code } } })
    await page.route('**/console/api/session', refuse('https_needed'))
    await signIn(page, 'ada@browser.example')
    await page.getByRole('alert').getByText('Passwords would be sent unencrypted.').waitFor()
    await page.getByText('req_of_the_door').waitFor()
    await page.unroute('**/console/api/session')
    await page.route('**/console/api/session', refuse('of_tomorrow'))
    await signIn(page, 'ada@browser.example')
    await page.getByRole('alert').getByText('In the server’s words.').waitFor()
    expect(await page.getByText('Incorrect email or password.').count()).toBe(0)
  })

  it('is behind whoever signs out, also after going back', async () => {
    const somebody = await person()
    const page = await open('/keys', somebody)
    await heading(page, 'Keys').waitFor()
    await page.getByRole('button', { name: somebody.email }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await heading(page, 'Sign in').waitFor()
    await page.goBack().catch(() => {})
    await page.goto(`${origin()}/console/keys`)
    await heading(page, 'Sign in').waitFor()
    expect((await somebody.asked.send('GET /keys')).status).toBe(401)
  })

  it('takes whoever was signed out elsewhere back to where they were', async () => {
    const somebody = await person()
    const page = await open('/usage', somebody)
    await heading(page, 'Usage').waitFor()
    // Else what this page still asks for hears of it first.
    await page.waitForLoadState('networkidle')
    await somebody.asked.ask('DELETE /session')
    await page.getByRole('link', { name: 'Models', exact: true }).click()
    await page.getByText('Your session has ended.').waitFor()
    expect(new URL(page.url()).searchParams.get('next')).toBe('/models')
    await signIn(page, somebody.email)
    await heading(page, 'Models').waitFor()
  })

  it('takes the set-up code out of the address at once, and a used one is of no use', async () => {
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
    // A guess counts against whoever makes it, so coming back is none.
    const guesses = []
    again.on('request', (request) => guesses.push(request.url()))
    await comeBack(again)
    await again.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
    expect(guesses.filter((url) => url.endsWith('/invitation'))).toEqual([])
  })

  it('says what is wrong with a link that does not work, and leads on', async () => {
    const page = await open('/setup?code=K4J7-9XQM')
    await heading(page, 'This link does not work').waitFor()
    await page.getByRole('alert').getByText('The code is incomplete, has expired or was already used.').waitFor()
    await page.getByText('ask your operator for a new link').waitFor()
    await page.getByRole('button', { name: 'Enter another code' }).click()
    await page.getByLabel('Setup code').waitFor()
    await page.getByRole('link', { name: 'Go to sign-in' }).click()
    await heading(page, 'Sign in').waitFor()
  })

  it('leads whoever is signed in already back to their pages, and whose link expires meanwhile on, too', async () => {
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

describe.skipIf(CHROMIUM === undefined)('the front door of a server that nobody has signed up on', () => {
  const { open } = useConsole()

  it('says how there is a new link, and takes a code', async () => {
    const page = await open('/sign-in')
    await page.getByRole('link', { name: 'Enter setup code' }).click()
    await page.getByLabel('Setup code').fill('K4J7-9XQM')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('Restart it to get a new link').waitFor()
    expect(await page.getByRole('link', { name: 'Go to sign-in' }).count()).toBe(0)
  })
})
