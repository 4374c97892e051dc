import { describe, expect, it } from 'vitest'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

describe.skipIf(CHROMIUM === undefined)('an invalid form', () => {
  const { person, open } = useConsole()
  const button = (place, name) => place.getByRole('button', { name, exact: true })

  /** The error message connected to a field. */
  async function errorOf(field) {
    await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true')
    const ids = (await field.getAttribute('aria-describedby')).split(' ')
    return field
      .page()
      .locator(`#${ids.at(-1).replaceAll(':', '\\:')}`)
      .textContent()
  }

  it.each([
    [
      'en-US',
      ['Email', 'Password', 'Sign in'],
      ['Fill in this field.', 'Enter an email address, such as ada@example.com.'],
    ],
    [
      'de-DE',
      ['E-Mail', 'Passwort', 'Anmelden'],
      ['Fülle dieses Feld aus.', 'Gib eine E-Mail-Adresse ein, zum Beispiel ada@example.com.'],
    ],
  ])(
    'shows errors at its fields in the language of the console and sends nothing (%s)',
    async (locale, names, text) => {
      const [email, password, send] = names
      // The sign-in form appears only after the first sign-up.
      await person()
      const page = await open('/sign-in', undefined, { locale })
      const field = page.getByLabel(email, { exact: true })
      const secret = page.getByLabel(password, { exact: true })
      const sent = []
      page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()))
      await field.waitFor()
      await button(page, send).click()
      expect(await errorOf(field)).toBe(text[0])
      expect(await errorOf(secret)).toBe(text[0])
      expect(await field.evaluate((input) => input === document.activeElement)).toBe(true)
      await field.fill('ada')
      await page.keyboard.press('Enter')
      expect(await errorOf(field)).toBe(text[1])
      await field.fill('ada@example.com')
      expect(await field.getAttribute('aria-invalid')).toBeNull()
      expect(sent).toEqual([])
    },
  )

  it('states the minimum length of a password', async () => {
    const page = await open('/settings', await person())
    await page.getByLabel('New password').pressSequentially('too short')
    await button(page, 'Change password').click()
    expect(await errorOf(page.getByLabel('New password'))).toBe('Enter at least 10 characters.')
  })

  it("never uses the browser's own validation messages", async () => {
    const operator = await person({ role: 'operator' })
    for (const path of ['/settings', '/operate/requests', '/setup']) {
      const page = await open(path, operator)
      await page.locator('form').first().waitFor()
      expect(await page.locator('form:not([novalidate])').count(), path).toBe(0)
    }
  })
})
