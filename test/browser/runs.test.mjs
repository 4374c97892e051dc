import { describe, expect, it } from 'vitest'
import { PLANS_CONFIG } from '../support/test-config.ts'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

describe.skipIf(CHROMIUM === undefined)('a run', () => {
  const { origin, person, open } = useConsole({ config: PLANS_CONFIG })

  it('is reached from its request and from the list, and shows its budget, its tree and its requests', async () => {
    const user = await person({ credit: '50.00' })
    const ask = (run) =>
      streamChat(origin(), user.account.key, { model: 'paid', max_tokens: 20 }, { 'x-millrace-run': run })
    const { id } = await ask('nightly; max=0.50; max_requests=50')
    await ask('nightly.tests; parent=nightly; max=0.20')

    const page = await open(`/requests/${id}`, user)
    await page.getByRole('link', { name: 'run=nightly' }).click()
    await page.getByRole('heading', { name: 'nightly', level: 1 }).waitFor()
    const used = page.getByRole('meter', { name: 'Used' })
    expect(await used.getAttribute('aria-valuetext')).toMatch(/0\.50/)
    await page.getByRole('region', { name: 'Runs inside' }).getByRole('link', { name: 'nightly.tests' }).click()
    await page.getByRole('heading', { name: 'nightly.tests', level: 1 }).waitFor()
    const requests = page.getByRole('table', { name: 'Requests of the run itself' })
    await requests.waitFor()
    expect(await requests.getByRole('row').count()).toBe(2)
    // The way back up, and the list of all.
    await page.getByRole('link', { name: 'nightly', exact: true }).waitFor()
    await page.getByRole('link', { name: 'Runs', exact: true }).click()
    const list = page.getByRole('table', { name: 'Runs', exact: true })
    await list.waitFor()
    expect(await list.getByRole('row').count()).toBe(3)

    await page.goto(`${origin()}/console/requests?tag=run%3Anightly`)
    await page.getByRole('link', { name: 'Open the run' }).click()
    await page.getByRole('heading', { name: 'nightly', level: 1 }).waitFor()
    if (process.env.SHOT !== undefined) await page.screenshot({ path: process.env.SHOT, fullPage: true })
    await page.goto(`${origin()}/console/runs/none`)
    await page.getByText('Run not found').waitFor()
  })

  it('is required by a key, or given to each conversation, as its form says', async () => {
    const user = await person({ credit: '50.00' })
    const page = await open('/keys', user)
    await page.getByRole('button', { name: 'New key' }).first().click()
    const form = page.getByRole('dialog')
    await form.getByLabel('Name').fill('agent')
    await form.getByText('Runs', { exact: true }).click()
    await form.getByLabel('Each conversation').check()
    await form.getByLabel('Budget of each conversation').fill('0.50')
    await form.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: 'agent' }).click()
    await page.getByText('Each conversation: $0.50').waitFor()
  })
})
