import { describe, expect, it } from 'vitest'
import { reopenPage } from './lib/reopen-page.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const REFUSAL = { code: 'too_many_requests', message: 'Not now.', param: null, request_id: '', retry_after: null }

describe.skipIf(CHROMIUM === undefined)('a secret that is shown once', () => {
  const { origin, person, open } = useConsole()
  const button = (place, name) => place.getByRole('button', { name, exact: true })

  /** Opens a page after another one so that going back is possible. */
  async function arrive(user, from, to) {
    const page = await open(from, user)
    await page.getByRole('link', { name: to, exact: true }).click()
    await page.getByRole('heading', { name: to, exact: true }).waitFor()
    return page
  }

  /** Delays the responses of all mutations until released. */
  async function holdMutations(page) {
    let letGo = () => {}
    const held = new Promise((resolve) => {
      letGo = resolve
    })
    let mutations = 0
    await page.route('**/console/api/**', async (route) => {
      if (route.request().method() === 'POST') {
        mutations += 1
        await held
      }
      await route.continue()
    })
    return { letGo, mutations: () => mutations }
  }

  /** Waits until the page shows that the form was submitted. */
  async function isPending(held, dialog) {
    await expect.poll(held.mutations).toBe(1)
    await expect.poll(() => button(dialog, 'Cancel').isDisabled()).toBe(true)
  }

  /** Presses Esc repeatedly, clicks outside and goes back. */
  async function tryToLeave(page, dialog) {
    const url = page.url()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.mouse.click(3, 3)
    await page.goBack().catch(() => {})
    await expect.poll(() => page.url()).toBe(url)
    expect(await dialog.isVisible()).toBe(true)
  }

  it('stays open while a key is being created and shown', async () => {
    const page = await arrive(await person(), '/wallet', 'Keys')
    const held = await holdMutations(page)
    await button(page, 'New key').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('seen')
    await dialog.getByLabel('Name').press('Enter')
    await isPending(held, dialog)
    await tryToLeave(page, dialog)
    held.letGo()
    const secret = page.getByRole('dialog', { name: 'Save your key' })
    await secret.waitFor()
    await tryToLeave(page, secret)
    await button(secret, 'Done').click()
    await secret.waitFor({ state: 'detached' })
    await page.goBack()
    expect(page.url()).toBe(`${origin()}/console/wallet`)
  })

  it('removes the parameter that opened its dialog', async () => {
    const page = await open('/keys?new=yes', await person())
    await page.getByRole('dialog').getByLabel('Name').fill('asked by an address')
    await button(page, 'Create key').click()
    await button(page, 'Done').click()
    await expect.poll(() => page.url()).toBe(`${origin()}/console/keys`)
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('stays open for codes', async () => {
    const page = await arrive(await person({ role: 'operator' }), '/operate/lanes', 'Codes')
    const held = await holdMutations(page)
    await button(page, 'Create codes').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Amount per code in USD').fill('1.00')
    await button(dialog, 'Create codes').click()
    await isPending(held, dialog)
    await tryToLeave(page, dialog)
    held.letGo()
    await button(dialog, 'Done').waitFor()
    await tryToLeave(page, dialog)
    await button(dialog, 'Done').click()
    await dialog.waitFor({ state: 'detached' })
  })

  it('stays open for an invitation link', async () => {
    const owner = await person()
    const page = await open('/operate/accounts', await person({ role: 'operator' }))
    await page.getByRole('link', { name: owner.account.email }).first().click()
    const held = await holdMutations(page)
    await button(page, 'Invite').first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Email').fill('invited@browser.example')
    await button(dialog, 'Create link').click()
    await isPending(held, dialog)
    await tryToLeave(page, dialog)
    held.letGo()
    const link = dialog.getByText(/\/console\/setup\?code=/)
    await link.waitFor()
    await tryToLeave(page, dialog)
    await page.route('**/console/api/operate/accounts/*', (route) =>
      route.fulfill({ status: 429, json: { error: REFUSAL } }),
    )
    await reopenPage(page)
    await page.getByText('Too many requests from this address.').waitFor()
    expect(await link.isVisible()).toBe(true)
  })
})
