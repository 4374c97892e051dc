import { describe, expect, it } from 'vitest'
import { totpCode, totpStepAt } from '../../src/auth/totp.ts'
import { PASSWORD } from '../support/console-session.ts'
import { readTotpSecret } from '../support/read-totp-secret.ts'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const LATER = 16 * 60_000

describe.skipIf(CHROMIUM === undefined)('two-step sign-in', () => {
  const { server, person, open } = useConsole()
  // Browsers have passkeys under names alone.
  const at = () => `http://localhost:${server().port}`
  const heading = (page, name) => page.getByRole('heading', { name, exact: true })
  const button = (page, name) => page.getByRole('button', { name, exact: true })

  async function signOut(page) {
    await page.context().clearCookies()
    await page.goto(`${at()}/console/sign-in`)
    await heading(page, 'Sign in').waitFor()
  }

  async function savedCodes(page) {
    const dialog = page.getByRole('dialog', { name: 'Save your recovery codes' })
    await dialog.waitFor()
    const codes = await dialog.getByRole('listitem').allTextContents()
    await button(dialog, 'Done').click()
    return codes
  }

  it('by an authenticator app: enrol, sign out, sign in with a code', async () => {
    const { email, session } = await person()
    const page = await open('/settings', { session }, { at: at() })
    await button(page, 'Add authenticator app').click()
    const dialog = page.getByRole('dialog', { name: 'Add authenticator app' })
    await dialog.getByRole('img', { name: 'QR code for your authenticator app' }).waitFor()
    const secret = readTotpSecret(await dialog.locator('code').textContent())
    const code = () => totpCode(secret, totpStepAt(server().app.operations.clock.now()))
    await dialog.getByLabel('Code', { exact: true }).fill('000000')
    await button(dialog, 'Turn on').click()
    await dialog.getByText('The code is wrong or was already used.').waitFor()
    await dialog.getByLabel('Code', { exact: true }).fill(code())
    await button(dialog, 'Turn on').click()
    const codes = await savedCodes(page)
    expect(codes).toHaveLength(10)
    await page.getByText('10 unused.').waitFor()

    server().advance(30_000)
    await signOut(page)
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await button(page, 'Sign in').click()
    await page.getByLabel('Code', { exact: true }).fill(code())
    await button(page, 'Sign in').click()
    await heading(page, 'Overview').waitFor()
    await page.goto(`${at()}/console/settings`)
    await page.getByRole('cell', { name: 'Password and code' }).waitFor()

    server().advance(LATER)
    await button(page, 'Create new codes').click()
    await button(page.getByRole('dialog', { name: 'Create new codes' }), 'Create new codes').click()
    const confirm = page.getByRole('dialog', { name: 'Confirm your password' })
    await confirm.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await confirm.getByLabel('Code', { exact: true }).fill(codes[0])
    await button(confirm, 'Confirm').click()
    expect(new Set([...codes, ...(await savedCodes(page))]).size).toBe(20)
  })

  it('by a passkey: register, sign in with it, and confirm a new key', async () => {
    const { email, session } = await person()
    const page = await open('/settings', { session }, { at: at() })
    const devices = await page.context().newCDPSession(page)
    await devices.send('WebAuthn.enable')
    await devices.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
        ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
      },
    })
    await button(page, 'Add passkey').click()
    const dialog = page.getByRole('dialog', { name: 'Add passkey' })
    await dialog.getByLabel('Name').fill('This laptop')
    await button(dialog, 'Add passkey').click()
    expect(await savedCodes(page)).toHaveLength(10)
    await page.getByRole('cell', { name: 'This laptop', exact: true }).waitFor()

    await signOut(page)
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await button(page, 'Sign in').click()
    await page.getByText('If you have a passkey, you can use that instead.').waitFor()
    await button(page, 'Use a passkey').click()
    await heading(page, 'Overview').waitFor()

    server().advance(LATER)
    await page.goto(`${at()}/console/keys`)
    await button(page, 'New key').first().click()
    await page.getByRole('dialog').getByLabel('Name').fill('by passkey')
    await button(page, 'Create key').click()
    await button(page.getByRole('dialog', { name: 'Confirm your password' }), 'Use a passkey').click()
    await page.getByRole('dialog', { name: 'Save your key' }).waitFor()
    await button(page, 'Done').click()
    const { items } = await session.call('GET /keys')
    expect(items.map(({ name }) => name)).toContain('by passkey')
  })
})
