import { describe, expect, it } from 'vitest'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

describe.skipIf(CHROMIUM === undefined)('a mutation', () => {
  const { person, open } = useConsole()
  const button = (place, name) => place.getByRole('button', { name, exact: true })

  async function fillKey(page, name) {
    await button(page, 'New key').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill(name)
    return dialog
  }

  it('is sent even if the browser reports no network, and shows an error without one', async () => {
    const page = await open('/keys', await person())
    const dialog = await fillKey(page, 'offline')
    await page.evaluate(() => {
      const reach = globalThis.fetch
      globalThis.fetch = () => Promise.reject(new TypeError('Failed to fetch'))
      addEventListener('online', () => {
        globalThis.fetch = reach
      })
      dispatchEvent(new Event('offline'))
    })
    await button(dialog, 'Create key').click()
    await dialog.getByText('Could not reach the server. Check your connection and try again.').waitFor()
    expect(await button(dialog, 'Cancel').isEnabled()).toBe(true)
    await page.evaluate(() => dispatchEvent(new Event('online')))
    await button(dialog, 'Create key').click()
    await button(page, 'Done').waitFor()
  })

  it('without an answer times out and warns that it may have been applied', async () => {
    const page = await open('/keys', await person())
    await page.route('**/console/api/keys', (route) =>
      route.request().method() === 'POST' ? undefined : route.continue(),
    )
    await page.evaluate(() => {
      const { timeout } = AbortSignal
      AbortSignal.timeout = () => timeout.call(AbortSignal, 500)
    })
    const dialog = await fillKey(page, 'unanswered')
    await button(dialog, 'Create key').click()
    await dialog
      .getByText('The server did not respond in time. The change may have been saved: check before you try again.')
      .waitFor()
    expect(await button(dialog, 'Cancel').isEnabled()).toBe(true)
  })
})
