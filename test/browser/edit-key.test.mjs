import { describe, expect, it } from 'vitest'
import { PASSWORD } from '../support/console-session.ts'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const LATER = 16 * 60_000
/** More models than the list shows of one key. */
const PATTERNS = ['s*', 'sw*', 'swi*', 'swif*', 'swift*', '*t', '*ft', '*ift', '*wift', '*swift', 's*t', 'sw*t']

describe.skipIf(CHROMIUM === undefined)('editing a key with many models', () => {
  const { server, person, open } = useConsole()

  it('keeps the models and asks for the password when the key gets more rights', async () => {
    const user = await person()
    const body = { name: 'patterns', kind: 'wallet', models: PATTERNS, caps: { day: '5.00' } }
    const { key } = await user.session.call('POST /keys', { body })
    const known = async () => (await user.session.send('GET /keys/:key', { params: { key: key.id } })).json
    const page = await open('/keys', user)
    await page.getByRole('button', { name: '12 entries' }).click()
    await page.getByText('and 2 more').waitFor()
    await page.keyboard.press('Escape')

    const edit = async (from, to) => {
      await page.getByRole('button', { name: 'Actions for patterns' }).click()
      await page.getByRole('menuitem', { name: 'Edit' }).click()
      const dialog = page.getByRole('dialog', { name: 'Edit patterns' })
      for (const pattern of PATTERNS) await dialog.getByText(pattern, { exact: true }).first().waitFor()
      expect(await dialog.getByLabel('Daily cap').inputValue(), 'the terms as they are').toBe(from)
      await dialog.getByLabel('Daily cap').fill(to)
      await dialog.getByRole('button', { name: 'Save' }).click()
      return dialog
    }
    server().advance(LATER)
    await (await edit('5.00', '4.00')).waitFor({ state: 'detached' })
    expect(await known()).toMatchObject({ models: PATTERNS, caps: [{ name: 'day', limit: '4.00' }] })

    const dialog = await edit('4.00', '6.00')
    const asking = page.getByRole('dialog', { name: 'Confirm your password' })
    await asking.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await asking.getByRole('button', { name: 'Confirm' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await known()).toMatchObject({ models: PATTERNS, caps: [{ name: 'day', limit: '6.00' }] })
  })

  it('sets and removes the cheaper model near a cap, and says when there is no such model', async () => {
    const user = await person()
    const { key } = await user.session.call('POST /keys', { body: { name: 'agent', kind: 'wallet' } })
    const step = async () => (await user.session.send('GET /keys/:key', { params: { key: key.id } })).json.step_down
    const page = await open('/keys', user)
    const dialog = page.getByRole('dialog', { name: 'Edit agent' })
    const edit = async (model, percent) => {
      await page.getByRole('button', { name: 'Actions for agent' }).click()
      await page.getByRole('menuitem', { name: 'Edit' }).click()
      await dialog.waitFor()
      const field = dialog.getByLabel('Cheaper model', { exact: true })
      const section = dialog.locator('details', { has: page.getByLabel('Cheaper model', { exact: true }) })
      if (!(await section.evaluate(({ open: isOpen }) => isOpen)))
        await dialog.getByText('Cheaper model near a cap').click()
      await field.fill(model)
      await dialog.getByLabel('Also below this share').fill(percent)
      await dialog.getByRole('button', { name: 'Save' }).click()
    }
    await edit('swift', '10')
    await dialog.waitFor({ state: 'detached' })
    expect(await step()).toEqual({ to: 'swift', below_percent: 10 })
    await edit('', '')
    await dialog.waitFor({ state: 'detached' })
    expect(await step()).toBeNull()
    await edit('unheard-of', '')
    await dialog.getByText(/no model .*unheard-of/).waitFor()
    expect(await step()).toBeNull()
  })
})
