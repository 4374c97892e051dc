import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { nanoOf } from '../support/test-account.ts'
import { clipboardOf, moneyIn } from './lib/read-page.mjs'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

describe.skipIf(CHROMIUM === undefined)('the wallet in the console', () => {
  const { origin, person, open } = useConsole()
  const rowsOf = (page) => page.getByRole('table', { name: 'Statement' }).locator('tbody tr')
  const button = (place, name) => place.getByRole('button', { name, exact: true })

  async function makeCode(operator) {
    const page = await open('/operate/codes', operator)
    await button(page, 'Create codes').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Amount per code in USD').fill('7.25')
    await button(dialog, 'Create codes').click()
    await button(dialog, 'Copy all').click()
    await button(dialog, 'Copied').waitFor()
    const code = (await clipboardOf(page)).trim()
    await button(dialog, 'Done').click()
    await dialog.waitFor({ state: 'detached' })
    expect(await page.content(), 'the code is shown once').not.toContain(code)
    return { page, code }
  }

  const redeem = async (page, code) => {
    await button(page, 'Redeem code').first().click()
    await page.getByRole('dialog').getByLabel('Code').fill(code)
    await button(page.getByRole('dialog'), 'Redeem').click()
  }

  it('redeems a code once and explains a second attempt', async () => {
    const owner = await person({ credit: '10.00' })
    const { page: operators, code } = await makeCode(await person({ role: 'operator' }))
    const page = await open('/wallet', owner)
    await rowsOf(page).first().waitFor()
    await redeem(page, code.toLowerCase())
    await page.getByText('$7.25 added to your wallet').first().waitFor()
    const newest = rowsOf(page).first()
    await newest.getByText('+$7.25').waitFor()
    expect(await moneyIn(newest.locator('td').last())).toBe(nanoOf('17.25'))
    expect((await owner.account.wallet()).balance).toBe(nanoOf('17.25'))
    await redeem(page, code)
    await page.getByText('You have already redeemed this code. See the statement.').waitFor()
    expect((await owner.account.wallet()).balance).toBe(nanoOf('17.25'))
    await operators.reload()
    await operators.getByRole('table', { name: 'Codes' }).getByText('Redeemed', { exact: true }).waitFor()
  })

  it('sends a funding request, which the operator grants', async () => {
    const owner = await person({ credit: '0' })
    const operator = await person({ role: 'operator' })
    const page = await open('/wallet', owner)
    await button(page, 'Request funds').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Amount').fill('12.50')
    await dialog.getByLabel('Note').fill('for the workshop')
    await button(dialog, 'Send request').click()
    await page.getByText('Waiting for your operator').waitFor()

    const operators = await open('/operate/accounts', operator)
    const requests = operators.getByRole('table', { name: 'Funding requests' })
    await requests.getByText('for the workshop').waitFor()
    await requests.getByRole('link', { name: 'Add credit' }).click()
    const credit = operators.getByRole('dialog')
    await button(credit.locator('form'), 'Add credit').click()
    await credit.getByText('The balance was adjusted.').waitFor()
    expect((await owner.account.wallet()).balance).toBe(nanoOf('12.50'))
    await operators.goto(`${origin()}/console/operate/accounts`)
    await operators.getByRole('table', { name: 'Accounts' }).waitFor()
    expect(await requests.count()).toBe(0)
    await page.reload()
    await rowsOf(page).first().getByText('+$12.50').waitFor()
    expect(await page.getByText('Waiting for your operator').count()).toBe(0)
  })

  it('downloads a file with the same sums as the page', async () => {
    const owner = await person({ credit: '10.00' })
    for (const text of ['one', 'count to 40', 'count to 7']) {
      await streamChat(origin(), owner.account.key, { model: 'swift', messages: [{ role: 'user', content: text }] })
    }
    const byDay = await open('/wallet', owner)
    await rowsOf(byDay).nth(1).waitFor()
    expect(await rowsOf(byDay).count(), 'a day and a credit').toBe(2)
    const [day] = await rowsOf(byDay).all()
    expect(await moneyIn(day.locator('td').last())).toBe((await owner.account.wallet()).balance)
    await day.getByRole('link', { name: 'Requests (3)' }).click()
    await byDay.getByRole('heading', { name: 'Requests', exact: true }).waitFor()
    await byDay.getByRole('table', { name: 'Requests' }).locator('tbody tr').nth(2).waitFor()
    expect(await byDay.getByLabel('Ended from').inputValue()).toMatch(/^\d{4}-\d\d-\d\d$/)
    const page = await open('/wallet?each=yes', owner)
    await rowsOf(page).nth(3).waitFor()
    const shown = []
    for (const row of await rowsOf(page).all()) shown.push(await moneyIn(row.locator('td').nth(3)))
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, 'Download CSV').click()])
    const [head, ...lines] = (await readFile(await download.path(), 'utf8')).trim().split(/\r?\n/)
    const at = head.split(',').findIndex((name) => /amount/.test(name))
    const written = lines.map((line) => nanoOf(line.split(',')[at].replaceAll('"', '')))
    expect(written).toHaveLength(4)
    const sum = (amounts) => amounts.reduce((total, amount) => total + amount, 0n)
    expect(sum(written)).toBe(sum(shown))
    expect(sum(written)).toBe((await owner.account.wallet()).balance)
  })

  it('shows why a download failed and retries', async () => {
    const page = await open('/wallet', await person())
    await rowsOf(page).first().waitFor()
    const refusal = { code: 'too_many_requests', message: 'Not now.', param: null, request_id: 'req_of_the_file' }
    const file = '**/console/api/wallet/statement.csv*'
    await page.route(file, (route) => route.fulfill({ status: 429, json: { error: { ...refusal, retry_after: 3 } } }))
    await button(page, 'Download CSV').click()
    const toast = page.getByRole('list', { name: 'Notifications' }).getByRole('listitem')
    await toast.getByText('Too many requests from this address. Try again in 3 sec.').waitFor()
    await toast.getByText('req_of_the_file').waitFor()
    await page.unroute(file)
    const download = page.waitForEvent('download')
    await button(page, 'Download CSV').click()
    expect((await download).suggestedFilename()).toBe('millrace-statement.csv')
  })
})
