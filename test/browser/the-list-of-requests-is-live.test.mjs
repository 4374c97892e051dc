import { describe, expect, it } from 'vitest'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

describe.skipIf(CHROMIUM === undefined)('the list of requests', () => {
  const { origin, person, open } = useConsole()
  const rowsOf = (page) => page.locator('tbody tr')
  const topOf = (page) => rowsOf(page).locator('a').first().getAttribute('title')

  async function watch() {
    const owner = await person()
    const ask = async (words = 'Hello!') => {
      const messages = [{ role: 'user', content: words }]
      return (await streamChat(origin(), owner.account.key, { messages })).id
    }
    const ids = [await ask(), await ask(), await ask()]
    const page = await open('/requests', owner)
    await rowsOf(page).nth(2).waitFor()
    return { page, ask, ids }
  }

  it('takes in what is new, shows it while it runs, and not under the pointer of somebody who reads', async () => {
    const { page, ask } = await watch()
    await page.mouse.move(1, 1)
    const running = ask('count to 150')
    await rowsOf(page).first().getByText('Running', { exact: true }).waitFor()
    const first = await running
    await expect.poll(() => topOf(page), { timeout: 10_000 }).toBe(first)
    await rowsOf(page).first().getByText('Completed').waitFor()
    await rowsOf(page).nth(1).hover()
    const second = await ask()
    await page.getByRole('button', { name: '1 new request' }).waitFor()
    expect(await topOf(page)).toBe(first)
    await page.getByRole('button', { name: '1 new request' }).click()
    await expect.poll(() => topOf(page)).toBe(second)
  })

  it('keeps its filters in its address, stands still when it is paused, and is found by id', async () => {
    const { page, ask, ids } = await watch()
    await page.getByText('Running', { exact: true }).click()
    await page.getByText('No request fits these filters').waitFor()
    expect(page.url()).toContain('?outcome=running')
    await page.reload()
    await page.getByRole('link', { name: 'Clear filters' }).click()
    await rowsOf(page).nth(2).waitFor()
    expect(page.url()).not.toContain('outcome')
    await page.getByRole('button', { name: 'Pause' }).click()
    const asked = []
    page.on('request', (sent) => asked.push(sent.url()))
    await ask()
    await page.keyboard.press('/')
    await page.keyboard.type(ids[0].slice(-6))
    await expect.poll(() => rowsOf(page).count()).toBe(1)
    expect(asked.filter((url) => url.includes('/api/requests'))).toEqual([])
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).toMatch(new RegExp(`/requests/${ids[0]}$`))
  })
})
