import { describe, expect, it } from 'vitest'
import { PASSWORD } from '../support/console-session.ts'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

describe.skipIf(CHROMIUM === undefined)('the shell of the console', () => {
  const { person, open } = useConsole()
  const heading = (page, name) => page.getByRole('heading', { name, exact: true })
  const focused = (page) => page.evaluate(() => document.activeElement?.textContent ?? '')

  it('works by keyboard: shortcuts, rows, command palette and dialogs', async () => {
    const user = await person()
    await user.session.call('POST /session', { body: { email: user.email, password: PASSWORD } })
    const page = await open('/settings', user)
    await heading(page, 'Sessions').waitFor()
    await page
      .getByRole('button', { name: /^Sign out / })
      .first()
      .waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    const row = await focused(page)
    expect(row).toContain('127.0.0.1')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('k')
    await page.keyboard.press('Escape')
    await expect.poll(() => focused(page)).toBe(row)
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search pages and actions' }).fill('wall')
    await page.keyboard.press('Enter')
    await heading(page, 'Wallet').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('k')
    await heading(page, 'Keys').waitFor()
  })

  it('ignores single letters after they are turned off', async () => {
    const page = await open('/settings', await person())
    await page.getByRole('switch', { name: 'Single-key shortcuts' }).click()
    await page.locator('h1').click()
    await page.keyboard.press('?')
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Search or jump to' }).waitFor()
    expect(await page.getByRole('dialog').count()).toBe(1)
  })

  it('changes language and theme in place and remembers them', async () => {
    const page = await open('/settings', await person(), { colorScheme: 'light' })
    await page.getByRole('group', { name: 'Theme' }).getByText('Dark').click()
    await page.getByRole('group', { name: 'Language' }).getByText('Deutsch').click()
    await heading(page, 'Einstellungen').waitFor()
    await page.reload()
    await heading(page, 'Einstellungen').waitFor()
    const html = page.locator('html')
    expect([await html.getAttribute('data-theme'), await html.getAttribute('lang')]).toEqual(['dark', 'de'])
  })

  it('is dark from the first frame if dark was chosen', async () => {
    const page = await open('/settings', await person(), { colorScheme: 'light' })
    await page.getByRole('group', { name: 'Theme' }).getByText('Dark').click()
    await page.addInitScript(() => {
      globalThis.frames_seen = []
      const look = () => {
        const { backgroundColor } = getComputedStyle(document.documentElement)
        globalThis.frames_seen.push(backgroundColor)
        if (globalThis.frames_seen.length < 10) requestAnimationFrame(look)
      }
      requestAnimationFrame(look)
    })
    await page.reload()
    await heading(page, 'Settings').waitFor()
    await page.waitForFunction(() => globalThis.frames_seen.length === 10)
    const seen = await page.evaluate(() => globalThis.frames_seen)
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark')
    expect(new Set(seen), 'every frame is as the last one').toEqual(new Set([seen.at(-1)]))
  })

  it('opens a request by id from any page and reports a missing one', async () => {
    const page = await open('/keys', await person())
    await heading(page, 'Keys').waitFor()
    await page.keyboard.press('Control+k')
    const field = page.getByRole('combobox', { name: 'Search pages and actions' })
    await field.fill('req_01k5c6v8x0q2r4t6y8z0a2b4c6')
    await page.keyboard.press('Enter')
    await page.getByText('Request not found').first().waitFor()
  })

  it('opens a menu by keyboard and restores the focus', async () => {
    const user = await person()
    const page = await open('/settings', user, { colorScheme: 'light' })
    const [button, menu] = [page.getByRole('button', { name: user.email }), page.getByRole('menu')]
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    await button.focus()
    await press('Enter')
    await expect.poll(() => focused(page)).toBe('Settings')
    await press('ArrowUp')
    await expect.poll(() => focused(page)).toBe('Sign out')
    await press('Home')
    await expect.poll(() => focused(page)).toBe('Settings')
    await press('d')
    await expect.poll(() => focused(page)).toBe('Dark')
    await press('Enter')
    await expect.poll(() => page.locator('html').getAttribute('data-theme')).toBe('dark')
    expect(await menu.isVisible()).toBe(true)
    await press('Escape')
    await menu.waitFor({ state: 'hidden' })
    await expect.poll(() => button.evaluate((element) => element === document.activeElement)).toBe(true)
    await press('ArrowDown')
    await menu.waitFor()
  })

  it('closes a menu by its button or a click outside and shows it completely', async () => {
    const user = await person()
    const page = await open('/settings', user)
    const [button, menu] = [page.getByRole('button', { name: user.email }), page.getByRole('menu')]
    await button.click()
    await menu.waitFor()
    const { x, y, width, height } = await menu.boundingBox()
    expect(Math.min(x, y)).toBeGreaterThanOrEqual(0)
    expect(y + height).toBeLessThanOrEqual((await button.boundingBox()).y)
    expect(x + width).toBeLessThanOrEqual(page.viewportSize().width)
    await button.click()
    await menu.waitFor({ state: 'hidden' })
    await button.click()
    await menu.waitFor()
    await heading(page, 'Settings').click()
    await menu.waitFor({ state: 'hidden' })
  })

  it('does not open a row on a click inside its popover', async () => {
    const user = await person()
    await user.session.call('POST /keys', { body: { name: 'two', kind: 'wallet', models: ['paid', 'calm'] } })
    const page = await open('/keys', user)
    await page.getByRole('button', { name: '2 entries' }).click()
    const models = page.getByRole('dialog')
    await models.getByText('calm').click()
    await page.keyboard.press('Escape')
    await models.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Actions for two' }).click()
    await page.getByRole('menu').getByRole('separator').click()
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
    expect(new URL(page.url()).pathname).toBe('/console/keys')
  })

  it('keeps a dialog open on a text selection and closes it on a click outside', async () => {
    const page = await open('/keys', await person())
    await page.getByRole('button', { name: 'New key' }).first().click()
    const dialog = page.getByRole('dialog')
    const name = dialog.getByLabel('Name')
    await name.fill('half written')
    const { x, y } = await name.boundingBox()
    await page.mouse.move(x + 5, y + 5)
    await page.mouse.down()
    await page.mouse.move(3, 3)
    await page.mouse.up()
    expect(await name.inputValue()).toBe('half written')
    await page.mouse.click(3, 3)
    await dialog.waitFor({ state: 'detached' })
  })

  it('shows a wrong current password at its field', async () => {
    const page = await open('/settings', await person())
    const current = page.getByLabel('Current password')
    await current.fill('not this one')
    await page.getByLabel('New password').fill('a long enough one')
    await page.getByRole('button', { name: 'Change password' }).click()
    await page.getByText('Incorrect password.').waitFor()
    expect(await current.getAttribute('aria-invalid')).toBe('true')
  })

  it('keeps the focus on the pressed button and submits once', async () => {
    const page = await open('/settings', await person())
    let letGo = () => {}
    const held = new Promise((resolve) => {
      letGo = resolve
    })
    let requests = 0
    await page.route('**/console/api/password', async (route) => {
      requests += 1
      await held
      await route.continue()
    })
    await page.getByLabel('Current password').fill('not this one')
    await page.getByLabel('New password').fill('a long enough one')
    const button = page.getByRole('button', { name: 'Change password' })
    const hasFocus = () => button.evaluate((element) => element === document.activeElement)
    await button.focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => button.getAttribute('aria-busy')).toBe('true')
    // The browser removes the focus of a disabled button with the next frame.
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
    expect(await hasFocus()).toBe(true)
    await page.keyboard.press('Enter')
    await page.getByLabel('New password').press('Enter')
    await button.focus()
    letGo()
    await page.getByText('Incorrect password.').waitFor()
    expect(await hasFocus()).toBe(true)
    expect(requests).toBe(1)
  })

  it('shows the hint of an icon on hover and focus until Esc', async () => {
    const page = await open('/settings', await person())
    await heading(page, 'Sessions').waitFor()
    const [eye, hint] = [page.getByRole('button', { name: 'Show', exact: true }).first(), page.getByRole('tooltip')]
    await eye.hover()
    await hint.waitFor()
    expect(await hint.textContent()).toBe('Show')
    await hint.hover()
    await page.keyboard.press('Escape')
    await hint.waitFor({ state: 'detached' })
    await page.mouse.move(1, 1)
    await eye.focus()
    await hint.waitFor()
    await page.keyboard.press('Shift+Tab')
    await hint.waitFor({ state: 'detached' })
    await page.keyboard.press('Tab')
    await hint.waitFor()
    await page.keyboard.press('Tab')
    await hint.waitFor({ state: 'detached' })
  })

  it('shows its pages in a drawer on narrow screens and closes it on navigation', async () => {
    const user = await person()
    const page = await open('/keys', user, { viewport: { width: 360, height: 700 } })
    await page.getByRole('button', { name: 'Open menu' }).click()
    await page.getByRole('button', { name: user.email }).click()
    await page.getByRole('menuitem', { name: 'Settings' }).click()
    await heading(page, 'Settings').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  })

  it('ends another session', async () => {
    const user = await person()
    const former = user.session.cookie
    await user.session.call('POST /session', { body: { email: user.email, password: PASSWORD } })
    const page = await open('/settings', user)
    await page
      .getByRole('button', { name: /^Sign out / })
      .first()
      .click()
    await page.getByText('Session ended').first().waitFor()
    const now = user.session.cookie
    user.session.cookie = former
    expect((await user.session.send('GET /keys')).status).toBe(401)
    user.session.cookie = now
    expect((await user.session.send('GET /keys')).status).toBe(200)
  })
})
