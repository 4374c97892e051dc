import { describe, expect, it } from 'vitest'
import { nanoOf } from '../support/test-account.ts'
import { PLANS_CONFIG } from '../support/test-config.ts'
import { moneyIn } from './lib/read-page.mjs'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

/** A token of `paid` costs $0.001, and `lean` allows a hundred of them every five hours. */
const BITES = [30, 45, 25]

describe.skipIf(CHROMIUM === undefined)('a plan with an exhausted window', () => {
  const { server, origin, person, open } = useConsole({ config: PLANS_CONFIG })

  async function usedUp() {
    const owner = await person()
    await server().operate('plans.assign', { account: owner.account.id, plan: 'lean' })
    const { key } = await owner.account.createKey({ kind: 'builder', name: 'agent' })
    for (const tokens of BITES) {
      const messages = [{ role: 'user', content: 'count to 500' }]
      const { status } = await streamChat(origin(), key, { model: 'paid', max_tokens: tokens, messages })
      expect(status).toBe(200)
    }
    return { owner, key }
  }

  it('shows the reset time and requests that add up to the usage', async () => {
    const { owner, key } = await usedUp()
    expect((await streamChat(origin(), key, { model: 'paid', max_tokens: 10 })).status).toBe(429)
    const page = await open('/plan', owner)
    await page.getByText(/^Allowance used up\. Builder keys are refused until /).waitFor()
    await page.getByText('Adding funds does not refill the allowance. Use a wallet key in the meantime.').waitFor()
    await page
      .getByRole('button', { name: /^Show requests/ })
      .first()
      .click()
    const rows = page.getByRole('region', { name: /^Requests in/ })
    await rows.getByText(`${BITES.length} requests add up to the usage shown.`).waitFor()
    const amounts = []
    for (const row of await rows.locator('tbody tr').all()) amounts.push(await moneyIn(row.locator('td').last()))
    expect(amounts).toHaveLength(BITES.length)
    expect(amounts.reduce((sum, amount) => sum + amount, 0n)).toBe(nanoOf('0.10'))
    expect(await moneyIn(rows.locator('dd').first())).toBe(nanoOf('0.10'))
    const meter = await page.getByRole('meter').first().getAttribute('aria-valuetext')
    expect(meter).toContain('$0.10')
  })

  it('is explained in the playground, where the wallet still works', async () => {
    const { owner } = await usedUp()
    const page = await open('/playground', owner)
    await page.getByLabel('Model').selectOption('paid')
    await page.getByRole('group', { name: 'Pay with' }).getByText('Builder plan').click()
    // Without a limit the maximum cost alone would exceed the allowance.
    await page.getByLabel('Max output tokens').fill('10')
    await page.getByLabel('Your message').fill('Hello!')
    const refused = page.waitForResponse((response) => response.url().endsWith('/playground/chat/completions'))
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    const response = await refused
    expect(response.status()).toBe(429)
    const { error } = await response.json()
    await page.getByRole('alert').getByText(error.message).waitFor()
    expect(error.message).toMatch(/allowance/)
    await page.getByRole('group', { name: 'Pay with' }).getByText('Wallet').click()
    await page.getByRole('button', { name: 'Send again' }).click()
    await page
      .getByText(/^Hello from Millrace/)
      .first()
      .waitFor()
  })
})
