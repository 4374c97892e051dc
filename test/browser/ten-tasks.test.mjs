import { beforeAll, describe, expect, it } from 'vitest'
import { signUp } from '../support/console-session.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const DAY = 24 * 3_600_000
const CLICKS_MAX = 4
const CONFIG = TEST_CONFIG.replace(
  'models:',
  `  - { id: away, wire: chat, base_url: "http://127.0.0.1:1/v1", allow_private: true }
models:
  - id: unlucky
    context_tokens: 128000
    max_output_tokens: 1000
    price: { input: "1.00", output: "2.00" }
    lanes: [{ upstream: away, model: unlucky }]`,
)

/** Each task begins on the overview and goes by visible names only, as a person does who has never seen the console. */
describe.skipIf(CHROMIUM === undefined)('a task that a person has never done before', () => {
  const { server, origin, person, open } = useConsole({ config: CONFIG, stepped: -DAY })
  let owner
  let operator
  let leaked
  let costly
  let failed

  beforeAll(async () => {
    const { account, session } = await person({ credit: '50.00' })
    const member = (email) => signUp(server(), { email, role: 'member', account: account.id })
    await member('ada@browser.example')
    await member('bo@browser.example')
    const team = await session.call('POST /teams', { body: { name: 'Research', caps: { month: '20.00' } } })
    const ada = await account.createKey({ name: 'agent of ada', person: 'ada@browser.example', team: team.id })
    const bo = await account.createKey({ name: 'agent of bo', person: 'bo@browser.example' })
    leaked = await account.createKey({ name: 'leaked', limits: { requests_per_minute: 1 } })
    const spend = async (key, tokens) => {
      const body = { model: 'paid', max_tokens: tokens, messages: [{ role: 'user', content: 'count to 5000' }] }
      return (await streamChat(origin(), key, body)).id
    }
    await spend(bo.key, 100)
    for (let request = 0; request < 2; request++) costly = await spend(ada.key, 400)
    server().advance(DAY)
    expect((await streamChat(origin(), leaked.key, { model: 'swift' })).status).toBe(200)
    expect((await streamChat(origin(), leaked.key, { model: 'swift' })).status).toBe(429)
    ;({ id: failed } = await streamChat(origin(), bo.key, { model: 'unlucky' }))
    owner = { account, session: await signUp(server(), { email: 'lead@browser.example', account: account.id }) }
    operator = await person({ role: 'operator' })
  })

  /** The overview, and a click that is counted. */
  async function start(who) {
    const page = await open('/', who)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    const go = {
      page,
      clicks: 0,
      async click(place) {
        await place.click()
        go.clicks += 1
        expect(go.clicks, 'clicks').toBeLessThanOrEqual(CLICKS_MAX)
      },
      menu: (name) => go.click(page.getByRole('navigation').getByRole('link', { name, exact: true })),
      button: (name) => go.click(page.getByRole('button', { name, exact: true })),
      choice: (group, name) => go.click(page.getByRole('group', { name: group }).getByText(name, { exact: true })),
      link: (name) => go.click(page.getByRole('link', { name, exact: true }).first()),
    }
    return go
  }

  const mostUsed = (page) => page.getByRole('table', { name: 'Breakdown' }).locator('tbody tr').first()

  it('finds out who spent most last week', async () => {
    const go = await start(owner)
    await go.menu('Usage')
    await go.choice('Period', '7 days')
    await go.choice('Group by', 'Person')
    await mostUsed(go.page).getByText('ada@browser.example').waitFor()
  })

  it('finds out why a request cost what it did', async () => {
    const go = await start(owner)
    await go.menu('Requests')
    await go.click(go.page.locator(`a[title="${costly}"]`))
    await go.page.getByRole('heading', { name: 'Charge' }).waitFor()
    await go.page.getByRole('row', { name: /Output 400 .*\$0\.40/ }).waitFor()
  })

  it('finds out why a model fails', async () => {
    const go = await start(operator)
    await go.menu('Lanes')
    await go.page.getByRole('row', { name: /away.*Unreachable/ }).waitFor()
  })

  it('caps a person at 5 dollars a day', async () => {
    const go = await start(owner)
    await go.menu('Members')
    await go.link('bo@browser.example')
    await go.button('Edit caps')
    await go.page.getByRole('dialog').getByLabel('Daily').fill('5')
    await go.button('Save')
    await go.page.getByText('of $5.00').waitFor()
  })

  it('finds a request by its id', async () => {
    const go = await start(owner)
    await go.menu('Requests')
    await go.page.getByRole('searchbox').fill(failed)
    await go.page.keyboard.press('Enter')
    await go.page.getByRole('heading', { level: 1, name: /unlucky/ }).waitFor()
  })

  it('makes an invoice', async () => {
    const go = await start(owner)
    await go.menu('Wallet')
    await go.link('Invoice')
    const [file] = await Promise.all([go.page.waitForEvent('download'), go.button('Download CSV')])
    expect(file.suggestedFilename()).toMatch(/invoice.*\.csv$/)
  })

  it('ends a key that leaked, by its secret', async () => {
    const go = await start(owner)
    await go.menu('Keys')
    await go.page.getByRole('searchbox').fill(leaked.key)
    await go.button('Actions for leaked')
    await go.click(go.page.getByRole('menuitem', { name: 'Revoke' }))
    const dialog = go.page.getByRole('dialog')
    await dialog.getByRole('textbox').fill('leaked')
    await go.click(dialog.getByRole('button', { name: 'Revoke key' }))
    await go.page.getByText('Key revoked').first().waitFor()
    expect((await streamChat(origin(), leaked.key, { model: 'swift' })).status).toBe(401)
  })

  it('sees what a team has left this month', async () => {
    const go = await start(owner)
    await go.menu('Teams')
    await go.link('Research')
    await go.page.getByText('Monthly').first().waitFor()
    await go.page.getByText(/^\$\d+\.\d+ left$/).waitFor()
  })

  it('asks for funds', async () => {
    const go = await start(owner)
    await go.link('Add funds')
    const dialog = go.page.getByRole('dialog')
    await dialog.getByLabel('Amount').fill('20')
    await go.click(dialog.getByRole('button', { name: 'Send request' }))
    await go.page.getByText('You requested $20.00').first().waitFor()
  })

  it('gives a colleague access', async () => {
    const go = await start(owner)
    await go.menu('Members')
    await go.button('Invite')
    await go.page.getByRole('dialog').getByLabel('Email').fill('new@browser.example')
    await go.button('Create link')
    await go.page
      .getByText(/\/console\/setup/)
      .first()
      .waitFor()
  })

  it('finds the key that was used most yesterday', async () => {
    const go = await start(owner)
    await go.menu('Usage')
    await go.choice('Period', 'Yesterday')
    await go.choice('Group by', 'Key')
    await mostUsed(go.page).getByText('agent of ada').waitFor()
  })

  it('sees why a request was refused', async () => {
    const go = await start(owner)
    await go.link(/1 refused/)
    await go.page.getByRole('button', { name: 'Refused: rate limit exceeded' }).waitFor()
  })
})
