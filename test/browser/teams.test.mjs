import { describe, expect, it } from 'vitest'
import { signUp } from '../support/console-session.ts'
import { chat, hello } from '../support/send-chat.ts'
import { PLANS_CONFIG } from '../support/test-config.ts'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

describe.skipIf(CHROMIUM === undefined)('a team with a cap', () => {
  const { server, person, open } = useConsole({ config: PLANS_CONFIG })
  const button = (place, name) => place.getByRole('button', { name, exact: true })

  it('is made by an owner with a key in it, refuses a request over the cap, and shows it', async () => {
    const owner = await person({ credit: '50.00' })
    const { email } = await signUp(server(), {
      email: 'tam@browser.example',
      role: 'member',
      account: owner.account.id,
    })
    const page = await open('/teams', owner)
    await button(page, 'New team').first().click()
    const dialog = page.getByRole('dialog', { name: 'New team' })
    await dialog.getByLabel('Name').fill('Research')
    await dialog.getByLabel('Daily').fill('5')
    await button(dialog, 'Create team').click()
    await page.getByRole('link', { name: 'Research' }).waitFor()

    await page.getByRole('navigation').getByRole('link', { name: 'Keys' }).click()
    await button(page, 'New key').first().click()
    const form = page.getByRole('dialog')
    await form.getByLabel('Name').fill('notebook')
    await form.getByRole('group', { name: 'Person' }).getByLabel(email).check()
    await form.getByRole('group', { name: 'Team' }).getByLabel('Research').check()
    await button(form, 'Create key').click()
    const secret = page.getByText(/mr_wallet_\w{20,}/).first()
    await secret.waitFor()
    const key = /mr_wallet_\w+/.exec(await secret.textContent())[0]
    await button(page.getByRole('dialog'), 'Done').click()

    const send = (tokens) =>
      chat(server(), { key }, { model: 'paid', max_tokens: tokens, messages: hello('count to 5000') })
    const statuses = []
    for (let turn = 0; turn < 40 && !statuses.includes(402); turn++) statuses.push((await send(1000)).status)
    expect(statuses.slice(0, -1)).toEqual([200, 200, 200, 200, 200])
    expect(statuses.at(-1)).toBe(402)

    await page.getByRole('navigation').getByRole('link', { name: 'Teams' }).click()
    await page.getByRole('link', { name: 'Research' }).click()
    await page.getByRole('heading', { level: 1, name: 'Research' }).waitFor()
    await page.getByText('$5.00 of $5.00').first().waitFor()
    await page.getByRole('link', { name: email }).first().waitFor()
    await page.getByRole('link', { name: 'notebook' }).waitFor()

    await button(page, 'Raise').click()
    const raise = page.getByRole('dialog', { name: 'Raise a cap of Research' })
    await raise.getByLabel('New limit').fill('9')
    await button(raise, 'Raise').click()
    await page.getByText('$5.00 of $9.00').first().waitFor()
    await page.getByText('Raised until').waitFor()
    expect((await send(1000)).status).toBe(200)
  })

  it('leaves a member what is their own', async () => {
    const owner = await person()
    const session = await signUp(server(), { email: 'own@browser.example', role: 'member', account: owner.account.id })
    await server().operate('people.caps', { person: 'own@browser.example', month: '7.00' })
    const page = await open('/', { ...owner, session })
    await page.getByRole('heading', { name: 'Your caps' }).waitFor()
    await page.getByText('$7.00 left').waitFor()
    expect(await page.getByRole('navigation').getByRole('link', { name: 'Teams' }).count()).toBe(0)
  })
})
