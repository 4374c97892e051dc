import { describe, expect, it } from 'vitest'
import { signUp } from '../support/console-session.ts'
import { PLANS_CONFIG } from '../support/test-config.ts'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const PAGES_OF_A_MEMBER = ['Overview', 'Keys', 'Usage', 'Requests', 'Models', 'Playground', 'Connect']
const PAGES = [
  'Overview',
  'Keys',
  'Wallet',
  'Builder plan',
  'Usage',
  'Requests',
  'Models',
  'Playground',
  'Connect',
  'Teams',
  'Members',
]
const OF_ROLE = {
  owner: { pages: PAGES, pays: true, hasKeys: true, invites: true },
  admin: { pages: PAGES, pays: false, hasKeys: true, invites: true },
  member: { pages: PAGES_OF_A_MEMBER, hasKeys: true },
  viewer: {
    pages: PAGES.filter((name) => !['Playground', 'Connect'].includes(name)),
    ...{ pays: false, hasKeys: false, invites: false },
  },
}

describe.skipIf(CHROMIUM === undefined)('the people of an account', () => {
  const { server, person, open } = useConsole({ config: PLANS_CONFIG })
  const button = (place, name) => place.getByRole('button', { name, exact: true })
  const row = (page, email) => page.getByRole('row').filter({ hasText: email })

  /** What the server refuses to a page: it should not have asked. */
  const refusedIn = (page) => {
    const refused = []
    page.on('response', (response) => response.status() === 403 && refused.push(response.url()))
    return refused
  }

  it.each(Object.entries(OF_ROLE))('sees as %s only what the role may do', async (role, expected) => {
    const page = await open('/settings', await person({ role }))
    const refused = refusedIn(page)
    const links = page.getByRole('navigation').getByRole('link')
    await links.first().waitFor()
    expect(await links.allTextContents()).toEqual(expected.pages)
    const shown = async (name) => (await button(page.getByRole('main'), name).count()) > 0
    for (const name of expected.pages) {
      await links.filter({ hasText: name }).click()
      await page.getByRole('heading', { level: 1, name }).waitFor()
      await page.waitForLoadState('networkidle')
      if (name === 'Keys') expect(await shown('New key')).toBe(expected.hasKeys)
      if (name === 'Wallet') expect(await shown('Redeem code')).toBe(expected.pays)
      if (name === 'Members') expect(await shown('Invite')).toBe(expected.invites)
    }
    expect(refused).toEqual([])
  })

  it('opens the form of a new key as a member, without the wallet and the plan', async () => {
    const page = await open('/settings', await person({ role: 'member' }))
    const refused = refusedIn(page)
    await page.getByRole('navigation').getByRole('link', { name: 'Keys' }).click()
    await button(page, 'New key').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Spends your prepaid balance.').waitFor()
    await dialog.getByLabel('Name').fill('mine')
    await button(dialog, 'Create key').click()
    await page
      .getByRole('dialog')
      .getByText(/mr_wallet_/)
      .first()
      .waitFor()
    expect(refused).toEqual([])
  })

  it('are invited, given a role and removed', async () => {
    const owner = await person()
    const { email } = await signUp(server(), { email: 'mo@browser.example', role: 'member', account: owner.account.id })
    const page = await open('/members', owner)
    await button(page, 'Invite').click()
    const dialog = page.getByRole('dialog', { name: 'Invite someone' })
    await dialog.getByLabel('Email').fill('new@browser.example')
    await dialog.getByLabel('Role').selectOption('viewer')
    await dialog.getByText('Sees everything in this account and changes nothing.').waitFor()
    await button(dialog, 'Create link').click()
    const made = page.getByRole('dialog', { name: 'Invitation link' })
    await made.getByText(/\/console\/setup\?code=/).waitFor()
    await button(made, 'Done').click()

    await button(row(page, email), `Actions for ${email}`).click()
    await page.getByRole('menuitem', { name: 'Change role' }).click()
    const change = page.getByRole('dialog', { name: `Change the role of ${email}` })
    await change.getByLabel('Role').selectOption('admin')
    await button(change, 'Save').click()
    await row(page, email).getByText('Admin', { exact: true }).waitFor()

    await button(row(page, email), `Actions for ${email}`).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    const remove = page.getByRole('dialog', { name: 'Remove this person?' })
    await remove.getByRole('textbox').fill(email)
    await button(remove, 'Remove').click()
    await row(page, email).getByText('Removed', { exact: true }).waitFor()
    expect(await button(row(page, email), `Actions for ${email}`).count()).toBe(0)
  })
})
