import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startIssuer } from '../fakes/oidc-issuer.ts'
import { signUp } from '../support/console-session.ts'
import { corpAt } from '../support/sign-on.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const issuer = await startIssuer({ page: true })
const ROLES = 'create_people: true, roles: [{ group: Staff, account: staff@example.com, role: member }]'

describe.skipIf(CHROMIUM === undefined)('the sign-in by a provider', () => {
  const {
    server,
    origin,
    open: openPage,
  } = useConsole({
    config: `${TEST_CONFIG}\nsign_in: { oidc: [${corpAt(issuer.url, ROLES)}] }\n`,
  })
  beforeAll(async () => {
    await server().operate('accounts.create', { email: 'staff@example.com' })
    await signUp(server(), { email: 'root@example.com', role: 'operator' })
  })
  afterAll(() => issuer.close())

  // The pages of the provider are not those of the console.
  const open = (path) =>
    openPage(path, undefined, { isForgiven: (complaint) => JSON.stringify(complaint).includes(issuer.url) })
  const heading = (page, name) => page.getByRole('heading', { name, exact: true })
  const person = (groups) => ({ sub: `sub of ${groups}`, email: 'ann@example.com', email_verified: true, groups })

  it('goes to the page of the provider and back to the requested page', async () => {
    issuer.person = person(['Staff'])
    const page = await open('/keys')
    await heading(page, 'Sign in').waitFor()
    await page.getByRole('link', { name: 'Continue with Corp' }).click()
    await page.getByRole('button', { name: 'Continue as ann@example.com' }).click()
    await page.waitForURL(`${origin()}/console/keys`)
    await page.getByRole('main').waitFor()
  })

  it('creates a key after a confirmation at the provider in a window of its own', async () => {
    issuer.person = person(['Staff'])
    const page = await open('/keys')
    await page.getByRole('link', { name: 'Continue with Corp' }).click()
    await page.getByRole('button', { name: 'Continue as ann@example.com' }).click()
    await page.waitForURL(`${origin()}/console/keys`)
    server().advance(16 * 60_000)
    issuer.faults = { claims: { auth_time: Math.floor(server().app.operations.clock.now() / 1000) } }
    await page.reload()
    await page.getByRole('button', { name: 'New key' }).first().click()
    await page.getByRole('dialog').getByLabel('Name').fill('laptop')
    await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
    const opened = page.waitForEvent('popup')
    await page.getByRole('link', { name: 'Confirm with Corp' }).click()
    const window = await opened
    await window.getByRole('button', { name: 'Continue as ann@example.com' }).click()
    await page.getByRole('dialog', { name: 'Save your key' }).waitFor()
    issuer.faults = {}
  })

  it('says why the provider or the groups gave no access, and offers the password', async () => {
    issuer.person = { ...person(['Gardeners']), email: 'ben@example.com' }
    const page = await open('/sign-in')
    await page.getByRole('link', { name: 'Continue with Corp' }).click()
    await page.getByRole('button', { name: 'Continue as ben@example.com' }).click()
    await page.getByRole('alert').getByText('None of your groups has access to this server.').waitFor()
    expect(await page.getByLabel('Password', { exact: true }).count()).toBe(1)
    issuer.faults = { status: 500 }
    server().advance(3_600_000 * 25)
    await page.getByRole('link', { name: 'Continue with Corp' }).click()
    await page.getByRole('alert').getByText('The provider does not answer.').waitFor()
    issuer.faults = {}
  })
})
