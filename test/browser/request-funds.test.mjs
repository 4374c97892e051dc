import { describe, expect, it } from 'vitest'
import { PLANS_CONFIG } from '../support/test-config.ts'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const NARROW = { width: 360, height: 740 }

describe.skipIf(CHROMIUM === undefined)('an account that needs funds', () => {
  const { server, person, open } = useConsole({ config: PLANS_CONFIG })
  const link = (place, name) => place.getByRole('link', { name, exact: true })

  it('is told to add funds before its first request and can request them', async () => {
    const page = await open('/', await person({ credit: '0' }))
    await page.getByRole('heading', { name: 'Get your first answer in four steps' }).waitFor()
    const steps = page.getByRole('main').locator('ol > li')
    expect(await steps.first().getByRole('heading').textContent()).toBe('Add funds')
    await link(steps.first(), 'Add funds').click()
    const dialog = page.getByRole('dialog', { name: 'Request funds' })
    await dialog.getByRole('button', { name: 'Redeem a code instead' }).click()
    await page.getByRole('dialog', { name: 'Redeem a code' }).waitFor()
    await page.keyboard.press('Escape')
    await page.reload()
    await page.getByRole('heading', { name: 'Statement' }).waitFor()
    expect(await page.getByRole('dialog').count()).toBe(0)
  })

  it('sees no funding step if it has money or a plan', async () => {
    const rich = await open('/', await person())
    await rich.getByRole('heading', { name: 'Get your first answer in three steps' }).waitFor()
    const subscriber = await person({ credit: '0' })
    await server().operate('plans.assign', { account: subscriber.account.id, plan: 'wide' })
    const page = await open('/', subscriber)
    await page.getByRole('heading', { name: 'Get your first answer in three steps' }).waitFor()
  })

  it('is shown to operators, whose link opens the credit dialog', async () => {
    const operator = await person({ role: 'operator' })
    const page = await open('/', operator)
    await link(page, 'Add funds').first().click()
    await page.getByRole('dialog', { name: 'Adjust balance' }).waitFor()
    await page.keyboard.press('Escape')

    const owner = await person({ credit: '0' })
    await owner.session.call('POST /wallet/ask', { body: { amount: '5.00', note: '' } })
    await page.getByRole('navigation').getByRole('link', { name: 'Overview', exact: true }).click()
    await link(page, '1 funding request').waitFor()
    await page
      .getByRole('navigation')
      .getByRole('link', { name: /^Accounts\s*1 funding request$/ })
      .waitFor()
    await link(page, '1 funding request').click()
    await page.getByRole('table', { name: 'Funding requests' }).getByText('$5.00').first().waitFor()

    const telephone = await open('/', operator, { viewport: NARROW })
    await link(telephone, '1 funding request').waitFor()
    const owners = await open('/', owner)
    await owners.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await owners.getByText('funding request').count()).toBe(0)
  })
})
