import { describe, expect, it } from 'vitest'
import { PLANS_CONFIG } from '../support/test-config.ts'
import { until } from '../support/until.ts'
import { isSignedBy, startWebhookReceiver } from '../support/webhook-receiver.ts'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const CONFIG = `${PLANS_CONFIG}
notices: { allow_private_webhooks: true }
`

describe.skipIf(CHROMIUM === undefined)('notices', () => {
  const { server, person, open } = useConsole({ config: CONFIG })
  const button = (place, name) => place.getByRole('button', { name, exact: true })
  const bell = (page, name) => page.getByRole('complementary').getByRole('link', { name, exact: true })

  it('are counted by the bell, listed and marked as read for this person', async () => {
    const owner = await person()
    const page = await open('/notices', owner)
    await page.getByText('No notices yet').waitFor()
    await page.getByLabel('Threshold in USD').fill('1000')
    await button(page, 'Save').click()
    await page.getByText('Saved').first().waitFor()
    await until(async () => {
      server().advance(200)
      return (await owner.session.call('GET /notices/unread')).unread === 1
    })
    await page.reload()
    await bell(page, 'Notices: 1 unread notice').waitFor()
    await page.getByText(/USD left, below 1000\.00 USD/).waitFor()
    await button(page, 'Mark all as read').click()
    await bell(page, 'Notices').waitFor()
    expect(await button(page, 'Mark all as read').count()).toBe(0)
    expect(await owner.session.call('GET /notices/unread')).toEqual({ unread: 0 })
  })

  it('go to a webhook that is added, tried, and sent to again', async () => {
    const receiver = await startWebhookReceiver()
    const page = await open('/notices', await person())
    await button(page, 'Add webhook').click()
    const dialog = page.getByRole('dialog', { name: 'Add webhook' })
    await dialog.getByLabel('Address').fill('http://192.0.2.1/')
    await button(dialog, 'Add webhook').click()
    await dialog.getByText(/is not https/).waitFor()
    await dialog.getByLabel('Address').fill(receiver.url)
    await button(dialog, 'Add webhook').click()
    const shown = page.getByRole('dialog', { name: 'Secret of the webhook' })
    const secret = await shown.getByText(/^whsec_/).textContent()
    await button(shown, 'I have stored it').click()
    await button(page, `Actions for ${receiver.url}`).click()
    await page.getByRole('menuitem', { name: 'Send a test' }).click()
    await until(() => receiver.received.length === 1)
    expect(isSignedBy(secret, receiver.received[0])).toBe(true)
    await button(page, `Actions for ${receiver.url}`).click()
    await page.getByRole('menuitem', { name: 'Deliveries' }).click()
    const deliveries = page.getByRole('dialog', { name: 'Deliveries' })
    await deliveries.getByText('Delivered').waitFor()
    await button(deliveries, 'Send again').click()
    await until(() => receiver.received.length === 2)
    expect(receiver.received[1].id).toBe(receiver.received[0].id)
    expect(await page.content()).not.toContain(secret)
    await receiver.close()
  })
})
