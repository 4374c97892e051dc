import { describe, expect, it } from 'vitest'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const USAGE = '**/console/api/overview/usage?*'
const REFUSAL = {
  code: 'too_much',
  message: 'Not now.',
  param: null,
  request_id: 'req_of_the_panel',
  retry_after: null,
}

describe.skipIf(CHROMIUM === undefined)('a panel whose query fails', () => {
  const { origin, person, open } = useConsole()

  it('shows the request id and a retry button, and leaves the other panels alone', async () => {
    const page = await open('/settings', await person({ credit: '12.34' }))
    await page.route(USAGE, (route) => route.fulfill({ status: 429, json: { error: REFUSAL } }))
    await page.goto(`${origin()}/console/`)
    const alerts = page.getByRole('alert')
    await alerts.first().waitFor()
    expect(await alerts.first().textContent()).toContain('req_of_the_panel')
    expect(await page.getByRole('link', { name: /^Balance/ }).textContent()).toContain('$12.34')
    await page.getByRole('heading', { name: 'Latest requests' }).waitFor()
    expect(await page.getByText('Requests today').count()).toBe(0)
    // A hidden tab does not poll, so the next response comes from the button.
    await page.evaluate(() => Object.defineProperty(document, 'visibilityState', { value: 'hidden' }))
    await page.unroute(USAGE)
    await alerts.first().getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Requests today').waitFor()
    await expect.poll(() => alerts.count()).toBe(0)
  })
})
