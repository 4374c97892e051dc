import { createServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const chunk = (delta, more = {}) => ({
  ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'own-model' },
  ...{ choices: [{ index: 0, delta, ...more }] },
})
const USAGE = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 }

/** A provider of Chat Completions that wants a key. */
const provider = createServer((request, response) => {
  if (request.headers.authorization !== 'Bearer sk-right')
    return response.writeHead(401).end('{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}')
  if (request.url === '/v1/models') return response.end('{"data":[{"id":"own-model"},{"id":"another"}]}')
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const frames = [chunk({ role: 'assistant', content: 'OK' }), chunk({}, { finish_reason: 'stop' })]
  for (const frame of [...frames, { ...chunk({}), choices: [], usage: USAGE }])
    response.write(`data: ${JSON.stringify(frame)}\n\n`)
  response.end('data: [DONE]\n\n')
})

describe.skipIf(CHROMIUM === undefined)('an operator who adds a provider', () => {
  const { origin, person, open } = useConsole({})
  const button = (place, name) => place.getByRole('button', { name, exact: true })
  beforeAll(() => new Promise((resolve) => provider.listen(0, '127.0.0.1', resolve)))
  afterAll(() => new Promise((resolve) => provider.close(resolve)))

  it('finds its models, tests one, saves them with a price, and a request is served', async () => {
    const owner = await person()
    const page = await open('/operate/managed', await person({ role: 'operator' }))
    await button(page, 'Add provider').click()
    const dialog = page.getByRole('dialog')
    const field = (name) => dialog.getByLabel(name, { exact: true })
    await dialog.getByRole('combobox', { name: 'Provider' }).selectOption('other')
    await field('Name').fill('local')
    await field('Address').fill(`http://127.0.0.1:${provider.address().port}/v1`)
    await dialog.getByLabel(/^API key/).fill('sk-wrong')
    await dialog.getByLabel('A server of my own').check()
    await button(dialog, 'Find models').click()
    await dialog.getByText('The provider answered 401: Incorrect API key').waitFor()
    await dialog.getByLabel(/^API key/).fill('sk-right')
    await button(dialog, 'Find models').click()
    await dialog.getByText('2 models found.').waitFor()
    await dialog.getByLabel('own-model', { exact: true }).check()
    await button(dialog, 'Test own-model').click()
    await dialog.getByRole('status').waitFor()
    await field('Context in tokens').fill('32000')
    await field('Longest output in tokens').fill('1000')
    await field('Input, USD per million tokens').fill('1')
    await field('Output, USD per million tokens').fill('1000')
    await button(dialog, 'Save provider and models').click()
    await page.getByText('Provider saved').first().waitFor()
    const table = page.getByRole('table', { name: 'Providers and prices' })
    await table.getByRole('row', { name: /own-model Model Managed here/ }).waitFor()
    expect(await page.content()).not.toContain('sk-right')
    const { status } = await streamChat(origin(), owner.account.key, { model: 'own-model' })
    expect(status).toBe(200)

    await button(table, 'Price of own-model').click()
    await field('Output').fill('2000')
    await button(dialog, 'Who pays what').click()
    // 9 tokens at 1 and 1 at 1000, then at 2000 dollars a million.
    await dialog.getByRole('row', { name: new RegExp(`${owner.account.email} 1 `) }).waitFor()
    await button(dialog, 'Save price').click()
    await page.getByText('Price saved').first().waitFor()
    await table.getByText('1 / 2000').waitFor()
    await button(table, 'Retire own-model').click()
    await button(dialog, 'Retire').click()
    await table.getByText('own-model').waitFor({ state: 'detached' })
    expect((await streamChat(origin(), owner.account.key, { model: 'own-model' })).status).toBe(404)
  })
})
