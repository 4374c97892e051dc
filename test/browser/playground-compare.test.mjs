import { describe, expect, it } from 'vitest'
import { nanoOf } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { moneyIn } from './lib/read-page.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const SIGHTED = `${TEST_CONFIG}
  - id: sighted
    inputs: [text, image]
    input_tokens_max: { image: 1600 }
    context_tokens: 128000
    max_output_tokens: 4096
    price: { input: "1.00", output: "2.00" }
    lanes: [{ upstream: demo, model: demo-fast }]
`
/** A red pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const FILE = { name: 'red.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') }

describe.skipIf(CHROMIUM === undefined)('the playground', () => {
  const { person, open } = useConsole({ config: SIGHTED })

  async function play(model, path = '/playground') {
    const user = await person()
    const page = await open(path, user)
    await page.getByLabel('Model', { exact: true }).selectOption(model)
    const send = async (text) => {
      await page.getByLabel('Your message').fill(text)
      await page.getByRole('button', { name: 'Send', exact: true }).click()
    }
    return { user, page, send }
  }

  it('compares two models: each has its own answer, time, cost and stop', async () => {
    const { user, page, send } = await play('calm')
    await page.getByRole('button', { name: 'Compare with another model' }).click()
    await page.getByLabel('Compare with', { exact: true }).selectOption('swift')
    await send('count to 900')
    const [calm, swift] = ['calm', 'swift'].map((name) => page.getByRole('region', { name, exact: true }))
    await swift.locator('dl > div', { hasText: /^Cost/ }).waitFor()
    await page.getByRole('button', { name: 'Stop calm' }).click()
    await calm.getByText('Charged').waitFor()
    const { items } = await user.session.call('GET /requests')
    expect(items.map(({ model }) => model).toSorted()).toEqual(['calm', 'swift'])
    for (const [side, name, status] of [
      [swift.locator('dl > div', { hasText: /^Cost/ }), 'swift', 'completed'],
      [calm.getByRole('status'), 'calm', 'client_gone'],
    ]) {
      const { charge, outcome } = items.find(({ model }) => model === name)
      expect(outcome).toBe(status)
      expect(await moneyIn(side)).toBe(nanoOf(charge))
    }
    await page.getByRole('button', { name: 'End comparison' }).click()
    await swift.waitFor({ state: 'detached' })
  })

  it('shows Markdown of an answer as text, code and links, and never as markup of the page', async () => {
    const { page, send } = await play('swift')
    await send('**strong** `code` https://mill.example/a <b id="evil">x</b> <img src=x onerror=alert(1)>')
    const answer = page.getByRole('article').filter({ hasText: 'built-in demo model' })
    expect(await answer.locator('strong').innerText()).toBe('strong')
    expect(await answer.locator('code').first().innerText()).toBe('code')
    expect(await answer.getByRole('link', { name: 'https://mill.example/a' }).getAttribute('rel')).toContain(
      'noreferrer',
    )
    expect(await page.locator('#evil, img[src="x"]').count()).toBe(0)
    await answer.getByText('<b id=').waitFor()
  })

  it('sends images to a model that takes them, by picker and by keyboard, and explains where one does not', async () => {
    const { page, send } = await play('sighted')
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Add images' }).press('Enter'),
    ])
    await chooser.setFiles([FILE, { ...FILE, name: 'two.png' }])
    await page.getByRole('button', { name: 'Remove Image 2' }).click()
    const sent = page.waitForRequest((request) => request.url().endsWith('/playground/chat/completions'))
    await send('What is this?')
    const { messages } = JSON.parse((await sent).postData())
    expect(messages[0].content).toEqual([
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
      { type: 'text', text: 'What is this?' },
    ])
    await page.locator('dl > div', { hasText: /^Cost/ }).waitFor()
    await page.getByRole('group', { name: 'Protocol' }).getByText('Responses').click()
    await send('And now?')
    await page.locator('dl > div', { hasText: /^Cost/ }).nth(1).waitFor()
    await page.getByLabel('Model', { exact: true }).selectOption('swift')
    await page.getByText('No image input: swift.').waitFor()
    expect(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true)
    expect(await page.getByRole('button', { name: 'Add images' }).count()).toBe(0)
  })

  it('refuses a file that is no image', async () => {
    const { page } = await play('sighted')
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'no.png', mimeType: 'image/png', buffer: Buffer.from('no') })
    await page.getByText('Not readable as PNG, JPEG, WebP or GIF of up to 20 MB: no.png').first().waitFor()
  })

  it('saves a conversation, keeps it up to date, and opens it in another session', async () => {
    const { user, page, send } = await play('swift')
    await send('first words')
    await page.locator('dl > div', { hasText: /^Cost/ }).waitFor()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: 'Saved automatically' }).waitFor()
    const updated = page.waitForResponse((response) => response.request().method() === 'PUT')
    await send('second words')
    expect((await updated).status()).toBe(200)
    await page.getByRole('button', { name: 'New conversation' }).click()
    await page.getByRole('button', { name: 'Save', exact: true }).waitFor()

    const other = await open('/playground', user)
    await other.getByRole('button', { name: 'Saved', exact: true }).click()
    await other
      .getByRole('dialog')
      .getByRole('button', { name: /^first words/ })
      .click()
    await other.getByText('second words').first().waitFor()
    expect(await other.getByLabel('Model', { exact: true }).inputValue()).toBe('swift')
    await other.getByRole('button', { name: 'Saved', exact: true }).click()
    await other.getByRole('button', { name: 'Delete “first words”' }).click()
    await other.getByText('You have not saved a conversation yet.').waitFor()
    expect((await user.session.call('GET /conversations')).items).toEqual([])
  })
})

describe.skipIf(CHROMIUM === undefined)('setting up a client', () => {
  const { person, open } = useConsole()

  it('fills the key in, keeps it nowhere, and is copied by keyboard', async () => {
    const user = await person()
    const page = await open('/connect', user)
    await page.getByLabel('Your key').fill('no key; rm -rf /')
    await page.getByText('This is not a key of this server.').waitFor()
    await page.getByLabel('Your key').fill(user.account.key)
    const copy = page.getByRole('figure').filter({ hasText: 'Set your key' }).getByRole('button')
    await copy.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain(user.account.key)
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href]))
    expect(kept).not.toContain(user.account.key)
    await page.reload()
    expect(await page.getByLabel('Your key').inputValue()).toBe('')
  })

  it('leads to the reference of the API', async () => {
    const page = await open('/connect', await person())
    await page.getByRole('link', { name: 'API reference' }).click()
    await page.getByLabel('Search routes').fill('chat completions')
    await page.getByText('/v1/chat/completions', { exact: true }).click()
    await page.getByRole('region', { name: 'Request body' }).first().getByText('messages', { exact: true }).waitFor()
  })
})
