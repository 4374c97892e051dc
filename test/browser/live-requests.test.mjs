import { describe, expect, it } from 'vitest'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

describe.skipIf(CHROMIUM === undefined)('the list of requests', () => {
  const { origin, person, open } = useConsole()
  const rowsOf = (page) => page.locator('tbody tr')
  const topOf = (page) => rowsOf(page).locator('a').first().getAttribute('title')

  const fresh = (page, name) => page.getByRole('button', { name })
  const focused = (page) => page.evaluate(() => document.activeElement?.textContent ?? '')

  /** Moves the pointer in steps, over everything in between. */
  async function reach(page, target) {
    const { x, y, width, height } = await target.boundingBox()
    await page.mouse.move(x + width / 2, y + height / 2, { steps: 20 })
  }

  async function watch() {
    const owner = await person()
    const ask = async (text = 'Hello!') => {
      const messages = [{ role: 'user', content: text }]
      return (await streamChat(origin(), owner.account.key, { messages })).id
    }
    const ids = [await ask(), await ask(), await ask()]
    const page = await open('/requests', owner)
    await rowsOf(page).nth(2).waitFor()
    return { page, ask, ids }
  }

  it('adds new requests live, but not while the pointer is on the rows', async () => {
    const { page, ask } = await watch()
    await page.mouse.move(1, 1)
    const running = ask('count to 150')
    await rowsOf(page).first().getByText('Running', { exact: true }).waitFor()
    const first = await running
    await expect.poll(() => topOf(page)).toBe(first)
    await rowsOf(page).first().getByText('Completed').waitFor()
    await rowsOf(page).nth(1).hover()
    await ask()
    await fresh(page, '1 new request').waitFor()
    expect(await topOf(page)).toBe(first)
    await reach(page, fresh(page, '1 new request'))
    const newest = await ask()
    await fresh(page, '2 new requests').waitFor()
    expect(await topOf(page)).toBe(first)
    await page.mouse.down()
    await page.mouse.up()
    await expect.poll(() => topOf(page)).toBe(newest)
    await page.mouse.move(1, 1)
    const unread = await ask()
    await expect.poll(() => topOf(page)).toBe(unread)
  })

  it('does not move while a row has the focus, and continues after the new rows are taken in', async () => {
    const { page, ask, ids } = await watch()
    await page.mouse.move(1, 1)
    await expect.poll(() => topOf(page)).toBe(ids[2])
    await page.keyboard.press('j')
    const second = await ask()
    await fresh(page, '1 new request').waitFor()
    for (const key of ['Tab', 'Tab', 'Shift+Tab']) await page.keyboard.press(key)
    expect(await topOf(page)).toBe(ids[2])
    await page.keyboard.press('Shift+Tab')
    await expect.poll(() => focused(page)).toBe('1 new request')
    await page.keyboard.press('Enter')
    await expect.poll(() => topOf(page)).toBe(second)
    expect(await focused(page)).toBe('Pause')
    const third = await ask()
    await expect.poll(() => topOf(page)).toBe(third)
  })

  it('keeps its filters in the address, stops when paused, and finds a request by id', async () => {
    const { page, ask, ids } = await watch()
    await page.getByText('Running', { exact: true }).click()
    await page.getByText('No matching requests').waitFor()
    expect(page.url()).toContain('?outcome=running')
    await page.reload()
    await page.getByRole('link', { name: 'Clear filters' }).click()
    await rowsOf(page).nth(2).waitFor()
    expect(page.url()).not.toContain('outcome')
    await page.getByRole('button', { name: 'Pause' }).click()
    const urls = []
    page.on('request', (request) => urls.push(request.url()))
    await ask()
    await page.keyboard.press('/')
    await page.keyboard.type(ids[0].slice(-6))
    await expect.poll(() => rowsOf(page).count()).toBe(1)
    expect(urls.filter((url) => url.includes('/api/requests'))).toEqual([])
    await page.keyboard.press('Enter')
    await expect.poll(() => page.url()).toMatch(new RegExp(`/requests/${ids[0]}$`))
  })
})
