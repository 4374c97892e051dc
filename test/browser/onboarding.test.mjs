import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { nanoOf } from '../support/test-account.ts'
import { PLANS_CONFIG } from '../support/test-config.ts'
import { pickBy, pressBy, tabTo, typeAndSend } from './lib/by-keyboard.mjs'
import { clipboardOf, moneyIn } from './lib/read-page.mjs'
import { spawnProgram } from './lib/spawn-program.mjs'
import { receiptOf, streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useBrowser } from './lib/use-console.mjs'

const EMAIL = 'ada@example.com'
const WITHIN = { timeout: 5_000 }

describe.skipIf(CHROMIUM === undefined)('a new user who follows the setup link', () => {
  let program
  beforeEach(async () => {
    program = await spawnProgram(PLANS_CONFIG)
  })
  afterEach(() => program.close())
  // Registered last so that the pages close before the server.
  const openPage = useBrowser()

  async function signUp() {
    const link = await program.setupLink()
    const page = await openPage(program.origin, link.slice(`${program.origin}/console`.length))
    await page.getByRole('heading', { name: 'Set up this server' }).waitFor()
    expect(page.url(), 'the code is gone from the address').toBe(`${program.origin}/console/setup`)
    await tabTo(page, page.getByLabel('Email'))
    await page.keyboard.type(EMAIL)
    await typeAndSend(page, page.getByLabel('New password'), 'a long enough one')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await program.operate('wallet', 'credit', EMAIL, '10.00', '--reason', 'walk', '--ref', 'first')
    return page
  }

  async function makeKey(page, name) {
    await page.keyboard.press('g')
    await page.keyboard.press('k')
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
    await page.keyboard.press('n')
    await typeAndSend(page, page.getByRole('dialog').getByLabel('Name'), name)
    return takeSecret(page)
  }

  async function takeSecret(page) {
    const dialog = page.getByRole('dialog', { name: 'Save your key' })
    await pressBy(page, dialog.getByRole('button', { name: 'Copy secret' }))
    await dialog.getByRole('button', { name: 'Copied' }).waitFor()
    const secret = await clipboardOf(page)
    await page.keyboard.press('Escape')
    expect(await dialog.isVisible(), 'what is shown once does not vanish by Esc').toBe(true)
    await pressBy(page, dialog.getByRole('button', { name: 'Done' }))
    await dialog.waitFor({ state: 'detached' })
    return secret
  }

  it('creates a key, sends a request and sees its cost', async () => {
    const page = await signUp()
    await page.getByRole('heading', { name: 'Get your first answer in four steps' }).waitFor()
    const secret = await makeKey(page, 'laptop')
    expect(secret).toMatch(/^mr_/)
    expect(await page.content()).not.toContain(secret)

    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor()
    const overview = await page.context().newPage()
    await overview.goto(`${program.origin}/console/`)
    await overview.getByText('Waiting for your first request.').waitFor()

    const { status, id, pieces, text } = await streamChat(program.origin, secret)
    expect(status).toBe(200)
    expect(pieces.length, 'pieces that came one after the other').toBeGreaterThan(3)
    expect(text).toContain('[DONE]')
    const seen = [page, overview].map((each) => each.locator(`a[href$="/requests/${id}"]`).first().waitFor(WITHIN))
    await Promise.all(seen)
    await overview.getByText('Your request has arrived.').waitFor(WITHIN)

    await page.locator(`a[href$="/requests/${id}"]`).first().click()
    await page.getByText('The answer is complete.').waitFor()
    const shown = await moneyIn(page.getByRole('row', { name: /^Charged/ }))
    const receipt = await receiptOf(program.origin, secret, id)
    const trace = await program.operate('trace', id)
    expect(shown).toBe(nanoOf(trace.charge))
    expect(JSON.stringify(receipt)).toContain(`"${trace.charge}"`)
    const lines = await page.getByRole('table', { name: 'Charge' }).getByRole('row').count()
    expect(lines).toBeGreaterThan(3)
  })

  it('manages a key by keyboard alone', async () => {
    const page = await signUp()
    const ask = async (key) => (await streamChat(program.origin, key, { model: 'swift' })).status
    const menu = (name) => page.getByRole('button', { name: `Actions for ${name}` })
    const pick = (key, act) => pickBy(page, menu(key), act)
    const first = await makeKey(page, 'laptop')
    expect(await ask(first)).toBe(200)

    await pick('laptop', 'Rename')
    await typeAndSend(page, page.getByRole('dialog').getByRole('textbox'), 'desk')
    await menu('desk').waitFor()

    await pick('desk', 'Rotate')
    await pressBy(page, page.getByRole('button', { name: 'Rotate key' }))
    const second = await takeSecret(page)
    expect(second).not.toBe(first)
    expect([await ask(first), await ask(second)], 'both secrets within the grace').toEqual([200, 200])

    await pick('desk', 'Disable')
    await page.getByText('Key disabled').first().waitFor()
    expect([await ask(first), await ask(second)]).toEqual([401, 401])
    await pick('desk', 'Enable')
    await page.getByText('Key enabled').first().waitFor()
    expect(await ask(second)).toBe(200)

    await pick('desk', 'Revoke')
    const dialog = page.getByRole('dialog', { name: 'Revoke this key?' })
    const field = dialog.getByLabel('Type “desk” to confirm')
    await typeAndSend(page, field, 'dexk')
    expect(await dialog.isVisible(), 'another name revokes nothing').toBe(true)
    expect(await ask(second)).toBe(200)
    await typeAndSend(page, field, 'desk')
    await page.getByText('Key revoked').first().waitFor()
    expect([await ask(first), await ask(second)]).toEqual([401, 401])
  })
})
