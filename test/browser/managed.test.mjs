import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startChatProvider } from './lib/chat-provider.mjs'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

describe.skipIf(CHROMIUM === undefined)('an operator who manages what the file does not own', () => {
  const { server, origin, person, open } = useConsole({})
  const button = (place, name) => place.getByRole('button', { name, exact: true })
  const table = (page) => page.getByRole('table', { name: 'Providers and prices' })
  const field = (page, name) => page.getByRole('dialog').getByLabel(name, { exact: true })
  let provider
  beforeAll(async () => {
    provider = await startChatProvider({ key: 'sk-right', models: ['own-model', 'another'] })
  })
  afterAll(() => provider.close())

  async function pick(page, name, act) {
    await button(page, `Actions for ${name}`).click()
    await page.getByRole('menuitem', { name: act }).click()
  }

  async function fillProvider(page, name) {
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('combobox', { name: 'Provider' }).selectOption('other')
    await field(page, 'Name').fill(name)
    await field(page, 'Address').fill(provider.url)
    await dialog.getByLabel(/^API key/).fill('sk-wrong')
    await dialog.getByLabel('A server of my own').check()
    await button(dialog, 'Find models').click()
    await dialog.getByText('The provider answered 401: Incorrect API key').waitFor()
    await dialog.getByLabel(/^API key/).fill('sk-right')
    await button(dialog, 'Find models').click()
    await dialog.getByText('2 models found.').waitFor()
  }

  it('finds the models of a provider, tests one, saves it with a price, and a request is served', async () => {
    const owner = await person()
    const page = await open('/operate/managed', await person({ role: 'operator' }))
    const dialog = page.getByRole('dialog')
    await button(page, 'Add provider').click()
    await fillProvider(page, 'local')
    await field(page, 'own-model').check()
    await button(dialog, 'Test own-model').click()
    await dialog.getByRole('status').waitFor()
    await field(page, 'Context in tokens').fill('32000')
    await field(page, 'Longest output in tokens').fill('1000')
    await field(page, 'Input, USD per million tokens').fill('1')
    await field(page, 'Output, USD per million tokens').fill('1000')
    await button(dialog, 'Save provider and models').click()
    await page.getByText('Provider saved').first().waitFor()
    await table(page)
      .getByRole('row', { name: /own-model Model Managed here/ })
      .waitFor()
    expect(await page.content()).not.toContain('sk-right')
    const { status } = await streamChat(origin(), owner.account.key, { model: 'own-model' })
    expect(status).toBe(200)

    await pick(page, 'own-model', 'Price')
    await field(page, 'Output').fill('2000')
    await button(dialog, 'Who pays what').click()
    await dialog.getByRole('row', { name: new RegExp(`${owner.account.email} 1 `) }).waitFor()
    await button(dialog, 'Save price').click()
    await page.getByText('Price saved').first().waitFor()
    await table(page).getByText('1 / 2000').waitFor()
    await pick(page, 'own-model', 'Retire')
    await button(dialog, 'Retire').click()
    await table(page).getByText('own-model').waitFor({ state: 'detached' })
    expect((await streamChat(origin(), owner.account.key, { model: 'own-model' })).status).toBe(404)
  })

  it('adds and changes a model and a plan by hand, and announces a price and calls it off', async () => {
    const owner = await person()
    const page = await open('/operate/managed', await person({ role: 'operator' }))
    const dialog = page.getByRole('dialog')
    await button(page, 'Add model').click()
    const lane = (number) => dialog.getByRole('group', { name: `Lane ${number}` })
    await field(page, 'Name for clients').fill('by-hand')
    await field(page, 'Context in tokens').fill('32000')
    await field(page, 'Longest output in tokens').fill('1000')
    await field(page, 'Input, USD per million tokens').fill('0')
    await field(page, 'Output, USD per million tokens').fill('10')
    await dialog.getByLabel(/^Images: most tokens of one/).fill('500')
    await dialog.getByLabel(/^Efforts/).fill('low, high')
    await lane(1).getByRole('combobox').selectOption('demo')
    await lane(1).getByLabel('Name at the provider').fill('demo-fast')
    await button(dialog, 'Add lane').click()
    await lane(2).getByRole('combobox').selectOption('demo')
    await lane(2).getByLabel('Name at the provider').fill('demo')
    await lane(2)
      .getByLabel(/^Input costs you/)
      .fill('0.5')
    await lane(2)
      .getByLabel(/^Output costs you/)
      .fill('7')
    await button(dialog, 'Save model').click()
    await page.getByText('Model saved').first().waitFor()
    const entryOf = async (name) =>
      (await server().operate('managed.list', {})).items.find((item) => item.name === name).entry
    expect(await entryOf('by-hand')).toEqual({
      ...{ id: 'by-hand', context_tokens: 32_000, max_output_tokens: 1000, efforts: ['low', 'high'] },
      ...{ inputs: ['text', 'image'], input_tokens_max: { image: 500 } },
      price: { input: '0', output: '10' },
      lanes: [
        { upstream: 'demo', model: 'demo-fast' },
        { upstream: 'demo', model: 'demo', priority: 2, cost: { input: '0.5', output: '7' } },
      ],
    })
    expect((await streamChat(origin(), owner.account.key, { model: 'by-hand-low' })).status).toBe(200)

    await pick(page, 'by-hand', 'Price')
    await field(page, 'Output').fill('20')
    await dialog.getByLabel(/^From/).fill('2027-06-01')
    await button(dialog, 'Save price').click()
    await page.getByText('Price saved').first().waitFor()
    await pick(page, 'by-hand', 'Edit')
    await field(page, 'Longest output in tokens').fill('900')
    await lane(2).getByRole('button', { name: 'Remove lane' }).click()
    await button(dialog, 'Save model').click()
    await dialog.waitFor({ state: 'detached' })
    expect(await entryOf('by-hand')).toMatchObject({
      ...{ max_output_tokens: 900, price: { output: '10' } },
      lanes: [{ upstream: 'demo', model: 'demo-fast' }],
    })
    await pick(page, 'by-hand', 'Price')
    await dialog
      .getByRole('list', { name: 'Announced prices' })
      .getByText(/0 \/ 20/)
      .waitFor()
    await button(dialog, 'Call off').click()
    await page.getByText('Price called off').first().waitFor()
    await pick(page, 'by-hand', 'History')
    const history = page.getByRole('dialog', { name: 'History of by-hand' }).getByRole('listitem')
    await history.first().getByText('Price called off').waitFor()
    expect(await history.count()).toBe(4)
    await button(dialog, 'Close').click()

    await button(page, 'Add plan').click()
    await field(page, 'Name').fill('by-hand')
    await field(page, 'Models').fill('by-*, swift')
    await dialog.getByLabel('Allowance 1, USD').fill('60')
    await button(dialog, 'Add period').click()
    await field(page, 'Period 2').fill('5h')
    await dialog.getByLabel('Allowance 2, USD').fill('12.50')
    await button(dialog, 'Save plan').click()
    await page.getByText('Plan saved').first().waitFor()
    await page.goto(`${origin()}/console/operate/plans`)
    const plan = page.getByRole('region', { name: 'by-hand' }).or(page.locator('section', { hasText: 'by-*, swift' }))
    await plan.getByText('$12.50').first().waitFor()
    await plan.getByText('$60.00').first().waitFor()
  })

  it('is told the line of a name that the file has, and of a change that was made meanwhile', async () => {
    const page = await open('/operate/managed?add=model', await person({ role: 'operator' }))
    const dialog = page.getByRole('dialog')
    await field(page, 'Name for clients').fill('swift')
    await dialog.getByText(/The configuration file has this name: millrace.yaml:\d+:\d+/).waitFor()
    await field(page, 'Name for clients').fill('fresh')
    await field(page, 'Context in tokens').fill('1000')
    await field(page, 'Longest output in tokens').fill('2000')
    await field(page, 'Input, USD per million tokens').fill('0')
    await field(page, 'Output, USD per million tokens').fill('10')
    await dialog.getByLabel('Name at the provider').fill('demo')
    await server().operate('managed.change', { upstreams: [{ id: 'meanwhile', wire: 'demo' }] })
    await button(dialog, 'Save model').click()
    await dialog.getByText(/Someone else made a change meanwhile/).waitFor()
    await button(dialog, 'Save model').click()
    await dialog.getByText(/managed model fresh {2}max_output_tokens: the longest output is longer/).waitFor()
    await field(page, 'Longest output in tokens').fill('500')
    await button(dialog, 'Save model').click()
    await table(page)
      .getByRole('row', { name: /fresh Model Managed here/ })
      .waitFor()
    expect(new URL(page.url()).search).toBe('')
  })

  it('keeps the key of a provider that it changes, and adds a lane to a model that is there', async () => {
    await server().operate('managed.change', {
      models: [
        {
          ...{ id: 'shared', context_tokens: 1000, max_output_tokens: 100, price: { input: '3', output: '4' } },
          lanes: [{ upstream: 'demo', model: 'demo' }],
        },
      ],
    })
    const page = await open('/operate/managed', await person({ role: 'operator' }))
    const dialog = page.getByRole('dialog')
    await button(page, 'Add provider').click()
    await fillProvider(page, 'keyed')
    await field(page, 'another').check()
    await field(page, 'Name for clients').fill('shared')
    await dialog.getByText('shared is there already').waitFor()
    await button(dialog, 'Save provider and models').click()
    await table(page)
      .getByRole('row', { name: /keyed Provider/ })
      .waitFor()
    const items = async () => (await server().operate('managed.list', {})).items
    expect((await items()).find(({ name }) => name === 'shared').entry).toMatchObject({
      price: { input: '3', output: '4' },
      lanes: [
        { upstream: 'demo', model: 'demo' },
        { upstream: 'keyed', model: 'another', priority: 2 },
      ],
    })
    await pick(page, 'keyed', 'Edit')
    expect(await field(page, 'Name').getAttribute('readonly')).not.toBeNull()
    await button(dialog, 'Find models').click()
    await dialog.getByText('2 models found.').waitFor()
    await button(dialog, 'Save provider and models').click()
    await dialog.waitFor({ state: 'detached' })
    expect((await items()).find(({ name }) => name === 'keyed').secrets).toEqual(['api_key'])
    // A new address must not get the key of the old one.
    await pick(page, 'keyed', 'Edit')
    await field(page, 'Address').fill(`${provider.url}/v2`)
    await button(dialog, 'Find models').click()
    await dialog.getByText('The address changes, so the stored secrets are not kept. Enter the key again.').waitFor()
  })
})
