import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deliver, startStripe } from '../program/stripe.mjs'
import { signUp } from '../support/console-session.ts'
import { startServer } from '../support/start-server.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { CHROMIUM, useBrowser } from './lib/use-console.mjs'

describe.skipIf(CHROMIUM === undefined)('funds by card in the console', () => {
  const openPage = useBrowser()
  let stripe
  let server
  beforeAll(async () => {
    stripe = await startStripe()
    server = await startServer({ config: `${TEST_CONFIG}\n${stripe.config()}` })
  })
  afterAll(async () => {
    await server?.close()
    await stripe?.close()
  })
  const origin = () => `http://127.0.0.1:${server.port}`
  /** The page of the provider is another server. */
  const isForgiven = (complaint) => complaint.startsWith(`requests ${stripe.origin}/`)
  const button = (place, name) => place.getByRole('button', { name, exact: true })

  async function openWallet() {
    const email = `card-${stripe.sessions.size}@browser.example`
    const { id } = await server.operate('accounts.create', { email })
    const session = await signUp(server, { email, account: id })
    return { id, page: await openPage(origin(), '/wallet', { cookie: session.cookie, isForgiven }) }
  }

  it('are paid on the page of Stripe, and credited', async () => {
    const { id, page } = await openWallet()
    await button(page, 'Add funds').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Amount').fill('25.00')
    await dialog.getByLabel('Save the card').check()
    await button(dialog, 'Continue to payment').click()
    await button(page, 'Pay $25.00').click()
    await page.getByText('$25.00 was paid.').waitFor()
    for (const event of stripe.events) expect(await deliver(origin(), event)).toBe(200)
    expect((await server.operate('wallet.show', { account: id })).balance).toBe('25.00')
    await page.reload()
    const payments = page.getByRole('table', { name: 'Payments' })
    await payments.getByText('Paid', { exact: true }).waitFor()
    await page.getByRole('table', { name: 'Statement' }).getByText('Paid by card').waitFor()
    await page
      .getByText('visa 4242')
      .or(page.getByText('card', { exact: true }))
      .first()
      .waitFor()

    await button(page, 'Change').click()
    await dialog.getByLabel('When less is available than').fill('5.00')
    await dialog.getByLabel('Add', { exact: true }).fill('20.00')
    await dialog.getByLabel('At most in a month').fill('100.00')
    await button(dialog, 'Save').click()
    await page.getByText('Below $5.00, adds $20.00').waitFor()
    await button(page, 'Turn off').click()
    await page.getByText('Off', { exact: true }).waitFor()
  })

  it('are not charged when the owner goes back', async () => {
    const { id, page } = await openWallet()
    await button(page, 'Add funds').first().click()
    await page.getByRole('dialog').getByLabel('Amount').fill('10.00')
    await button(page.getByRole('dialog'), 'Continue to payment').click()
    await page.getByRole('link', { name: 'Back' }).click()
    await page.getByText('The payment was not completed. Nothing was charged.').waitFor()
    expect((await server.operate('wallet.show', { account: id })).balance).toBe('0.00')
  })
})
