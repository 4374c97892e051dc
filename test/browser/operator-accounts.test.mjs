import { describe, expect, it } from 'vitest'
import { nanoOf } from '../support/test-account.ts'
import { PLANS_CONFIG } from '../support/test-config.ts'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

describe.skipIf(CHROMIUM === undefined)('an operator who manages accounts', () => {
  const { origin, person, open } = useConsole({ config: PLANS_CONFIG })
  const button = (place, name) => place.getByRole('button', { name, exact: true })
  const operated = (operator, { id }) => open(`/operate/accounts/${id}`, operator)

  /** Types the name into the confirmation dialog. */
  async function confirm(page, action, name) {
    const dialog = page.getByRole('dialog')
    await expect(button(dialog, action).isDisabled()).resolves.toBe(true)
    await dialog.getByRole('textbox').fill(name)
    await button(dialog, action).click()
    await dialog.waitFor({ state: 'detached' })
  }

  it('assigns a plan with immediate effect and ends it again', async () => {
    const owner = await person()
    const page = await operated(await person({ role: 'operator' }), owner.account)
    const { key } = await owner.account.createKey({ kind: 'builder', name: 'agent' })
    const ask = () => streamChat(origin(), key, { model: 'paid', max_tokens: 5 })
    expect((await ask()).status).toBe(402)

    await page.getByText('No plan. Requests with builder keys fail with 402.').waitFor()
    await page.getByRole('combobox', { name: 'Plan', exact: true }).selectOption('pro')
    await button(page, 'Assign plan').click()
    await page.getByText('Plan assigned').first().waitFor()
    await page.getByRole('heading', { name: 'Plan: pro' }).waitFor()
    const owners = await open('/plan', owner)
    await owners.getByText('Plan pro, since').waitFor()
    expect((await ask()).status).toBe(200)
    await owners.reload()
    await owners.getByRole('meter').first().waitFor()

    await button(page, 'End plan').click()
    await confirm(page, 'End plan', 'pro')
    await page.getByText('Plan ended').first().waitFor()
    expect((await ask()).status).toBe(402)
    await owners.reload()
    await owners.getByText('Your plan has ended', { exact: true }).waitFor()
  })

  it('suspends an account, whose keys then fail, and reactivates it', async () => {
    const owner = await person()
    const page = await operated(await person({ role: 'operator' }), owner.account)
    const ask = async () => (await streamChat(origin(), owner.account.key, { model: 'swift' })).status
    expect(await ask()).toBe(200)
    await button(page, 'Suspend').click()
    await confirm(page, 'Suspend', owner.account.email)
    await page.getByText('Account suspended').first().waitFor()
    await page.getByText('Suspended', { exact: true }).first().waitFor()
    expect(await ask()).toBe(403)
    await button(page, 'Reactivate').click()
    await confirm(page, 'Reactivate', owner.account.email)
    await page.getByText('Active', { exact: true }).first().waitFor()
    expect(await ask()).toBe(200)
  })

  it('disables a person, which ends their sessions, and enables them again', async () => {
    const owner = await person()
    const page = await operated(await person({ role: 'operator' }), owner.account)
    const owners = await open('/keys', owner)
    await owners.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    const people = page.getByRole('table', { name: 'People' })
    const pick = async (name) => {
      await people.getByRole('button', { name: `Actions for ${owner.email}` }).click()
      await page.getByRole('menuitem', { name, exact: true }).click()
    }
    await pick('Disable sign-in')
    await confirm(page, 'Disable sign-in', owner.email)
    await people.getByText('Disabled', { exact: true }).waitFor()
    await owners.reload()
    await owners.getByRole('heading', { name: 'Sign in', exact: true }).waitFor()
    await pick('Enable sign-in')
    await people.getByText('Active', { exact: true }).waitFor()
  })

  it('debits a wallet and books a reference once', async () => {
    const owner = await person({ credit: '10.00' })
    const page = await operated(await person({ role: 'operator' }), owner.account)
    const dialog = page.getByRole('dialog')
    const debit = async (amount) => {
      await button(page, 'Adjust balance').click()
      await dialog.getByRole('group', { name: 'Type' }).getByText('Debit').click()
      await dialog.getByLabel('Amount in USD').fill(amount)
      await dialog.getByLabel('Reason').fill('pressed in a browser')
      await dialog.getByLabel('Reference').fill('browser debit')
      await button(dialog.locator('form'), 'Debit wallet').click()
    }
    await debit('2.50')
    await dialog.getByText('The balance was adjusted.').waitFor()
    expect((await owner.account.wallet()).balance).toBe(nanoOf('7.50'))
    await page.keyboard.press('Escape')
    await debit('2.50')
    await dialog.getByText('This reference was already used, so nothing changed.').waitFor()
    expect((await owner.account.wallet()).balance).toBe(nanoOf('7.50'))
  })
})
