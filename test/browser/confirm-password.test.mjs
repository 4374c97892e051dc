import { describe, expect, it } from 'vitest'
import { PASSWORD } from '../support/console-session.ts'
import { nanoOf } from '../support/test-account.ts'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const LATER = 16 * 60_000

describe.skipIf(CHROMIUM === undefined)('15 minutes after the sign-in', () => {
  const { server, person, open } = useConsole()

  async function startKeyCreation() {
    const user = await person()
    const page = await open('/keys', user)
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    server().advance(LATER)
    await page.getByRole('button', { name: 'New key' }).first().click()
    await page.getByRole('dialog').getByLabel('Name').fill('late')
    await page.getByRole('button', { name: 'Create key' }).click()
    const dialog = page.getByRole('dialog', { name: 'Confirm your password' })
    await dialog.waitFor()
    const createdKeys = async () =>
      (await user.session.call('GET /keys')).items.filter(({ name }) => name === 'late').length
    return { page, dialog, createdKeys }
  }

  it('creating a key asks for the password and creates one key', async () => {
    const { page, dialog, createdKeys } = await startKeyCreation()
    await dialog.getByLabel('Password', { exact: true }).fill('not this one')
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await dialog.getByRole('alert').waitFor()
    expect(await createdKeys()).toBe(0)
    await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('dialog', { name: 'Save your key' }).waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    expect(await createdKeys()).toBe(1)
  })

  it('cancelling the password dialog creates nothing and shows no error', async () => {
    const { page, dialog, createdKeys } = await startKeyCreation()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Create key', disabled: false }).waitFor()
    expect(await page.getByRole('list', { name: 'Notifications' }).getByRole('listitem').count()).toBe(0)
    expect(await page.getByRole('alert').count()).toBe(0)
    expect(await createdKeys()).toBe(0)
  })

  it('leaving the page closes the password dialog and drops its mutation', async () => {
    const owner = await person({ credit: '10.00' })
    const page = await open('/operate/accounts', await person({ role: 'operator' }))
    await page.getByRole('link', { name: owner.account.email }).first().click()
    await page.getByRole('button', { name: 'Adjust balance' }).click()
    server().advance(LATER)
    const credit = page.getByRole('dialog')
    await credit.getByLabel('Amount in USD').fill('5.00')
    await credit.getByLabel('Reason').fill('left before it was sent')
    await credit.getByLabel('Reference').fill('left')
    await credit.locator('form').getByRole('button', { name: 'Add credit', exact: true }).click()
    await page.getByRole('dialog', { name: 'Confirm your password' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Accounts', exact: true }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await owner.account.wallet()).balance).toBe(nanoOf('10.00'))
  })
})
