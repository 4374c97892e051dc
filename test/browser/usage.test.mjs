import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { nanoOf } from '../support/test-account.ts'
import { moneyIn } from './lib/read-page.mjs'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

describe.skipIf(CHROMIUM === undefined)('the page of usage', () => {
  const { origin, person, open } = useConsole()
  const prompt = (text) => [{ role: 'user', content: text }]

  async function used() {
    const owner = await person()
    const narrow = await owner.account.createKey({ name: 'narrow', limits: { requests_per_minute: 2 } })
    const ask = async (key, body) => (await streamChat(origin(), key, body)).status
    expect(await ask(owner.account.key, { model: 'swift', messages: prompt('count to 30') })).toBe(200)
    expect(await ask(owner.account.key, { model: 'trap-high', messages: prompt('count to 7') })).toBe(200)
    for (const status of [200, 200, 429, 429]) expect(await ask(narrow.key, { model: 'swift' })).toBe(status)
    expect(await ask(owner.account.key, { model: 'unknown' })).toBe(404)
    return { owner, narrow }
  }

  const rowsOf = (page) => page.getByRole('table', { name: 'Breakdown' }).locator('tbody tr')

  /** Name, requests and wallet cost of each row. */
  async function tableRows(page) {
    const rows = []
    for (const row of await rowsOf(page).all()) {
      const cells = row.locator('th, td')
      const name = (await cells.first().innerText()).trim()
      rows.push([name, Number(await cells.nth(1).innerText()), await moneyIn(cells.nth(7))])
    }
    return rows.sort()
  }

  it('downloads a file that matches the page, also for a single key', async () => {
    const { owner, narrow } = await used()
    const page = await open('/usage?range=today', owner)
    await rowsOf(page).first().waitFor()
    const written = async () => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download CSV', exact: true }).click(),
      ])
      const lines = (await readFile(await download.path(), 'utf8'))
        .trim()
        .split(/\r?\n/)
        .map((line) => line.split(','))
      const at = Object.fromEntries(lines[0].map((name, index) => [name, index]))
      const sums = new Map()
      for (const line of lines.slice(1)) {
        const [requests, paid] = sums.get(line[at.name]) ?? [0, 0n]
        sums.set(line[at.name], [requests + Number(line[at.requests]), paid + nanoOf(line[at.wallet_usd])])
      }
      return [...sums].map(([name, sum]) => [name, ...sum]).sort()
    }
    const shown = await tableRows(page)
    expect(shown.map(([name, requests]) => [name, requests])).toEqual([
      ['swift', 3],
      ['trap-high', 1],
    ])
    expect(await written()).toEqual(shown)
    const { balance } = await owner.account.wallet()
    expect(shown.reduce((sum, [, , paid]) => sum + paid, 0n)).toBe(nanoOf('10.00') - balance)

    await page.getByRole('group', { name: 'Group by', exact: true }).getByText('Key').click()
    await page.getByRole('table', { name: 'Breakdown' }).getByRole('button', { name: 'narrow', exact: true }).click()
    await expect.poll(() => new URL(page.url()).searchParams.get('key')).toBe(narrow.id)
    await expect.poll(async () => (await tableRows(page)).length).toBe(1)
    expect(await written()).toEqual(await tableRows(page))
  })

  it('shows refused requests by reason', async () => {
    const { owner } = await used()
    const page = await open('/usage?range=today&step=day', owner)
    const endings = page.getByRole('region', { name: 'Results' })
    await endings.getByRole('button', { name: 'Refused: rate limit exceeded' }).waitFor()
    await endings.getByRole('button', { name: 'Show as table' }).click()
    const table = endings.getByRole('table')
    const head = await table.locator('thead th').allInnerTexts()
    const cells = await table.locator('tbody tr').last().locator('th, td').allInnerTexts()
    const counts = Object.fromEntries(head.map((name, index) => [name.trim(), cells[index].trim()]))
    expect(counts).toMatchObject({
      ...{ Succeeded: '4', Failed: '0' },
      ...{ 'Refused: rate limit exceeded': '2', 'Refused: model not found': '1' },
    })
    await page.goto(`${origin()}/console/`)
    await page.getByText('all succeeded, 3 refused').waitFor()
  })
})
