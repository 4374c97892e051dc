import { describe, expect, it } from 'vitest'
import { nanoOf } from '../support/test-account.ts'
import { moneyIn } from './lib/read-page.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

/** Price of `calm` in nano-USD per token. */
const PRICE = { input: 100n, output: 400n }
const PROTOCOLS = [
  { name: 'Chat', last: '[DONE]' },
  { name: 'Responses', last: 'response.completed' },
]

describe.skipIf(CHROMIUM === undefined)('the playground', () => {
  const { person, open } = useConsole()

  async function play(protocol, options) {
    const user = await person(options)
    const page = await open('/playground', user)
    await page.getByLabel('Model').selectOption('calm')
    await page.getByRole('group', { name: 'Protocol' }).getByText(protocol).click()
    const send = async (text) => {
      await page.getByLabel('Your message').fill(text)
      await page.getByRole('button', { name: 'Send', exact: true }).click()
    }
    const newest = async () => {
      const { items } = await user.session.call('GET /requests')
      return user.session.call('GET /requests/:request', { params: { request: items[0].id } })
    }
    return { page, send, newest }
  }

  it.each(PROTOCOLS)('streams over $name and shows the cost and every event', async ({ name, last }) => {
    const { page, send, newest } = await play(name)
    await send('Hello!')
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    const cost = page.locator('dl > div', { hasText: /^Cost/ })
    await cost.waitFor()
    const { charge, outcome } = await newest()
    expect(outcome).toBe('completed')
    expect(await moneyIn(cost)).toBe(nanoOf(charge))
    await page.getByRole('tab', { name: 'Raw events' }).click()
    await page.getByRole('tabpanel', { name: 'Raw events' }).getByText(last).first().waitFor()
    await page.getByRole('tab', { name: 'Code' }).click()
    await page.getByRole('tabpanel', { name: 'Code' }).getByText('MILLRACE_KEY').first().waitFor()
  })

  it.each(PROTOCOLS)(
    'is stopped in mid-answer over $name, and charges what was produced until then',
    async ({ name }) => {
      const { page, send, newest } = await play(name)
      await send('count to 3000')
      await page
        .getByText(/1 2 3 4 5 6 7 8/)
        .first()
        .waitFor()
      await page.getByRole('button', { name: 'Stop' }).click()
      const status = page
        .getByRole('status')
        .filter({ hasText: 'You pay for the input and the output up to this point.' })
      await status.getByText('Charged').waitFor()
      const { outcome, state, charge, tokens } = await newest()
      expect({ outcome, state }).toEqual({ outcome: 'client_gone', state: 'settled' })
      expect(tokens.output).toBeGreaterThan(0)
      expect(tokens.output).toBeLessThan(3000)
      const owed = BigInt(tokens.uncached_input) * PRICE.input + BigInt(tokens.output) * PRICE.output
      expect(nanoOf(charge)).toBe(owed)
      expect(await moneyIn(status)).toBe(owed)
    },
  )

  it('lets the user enter the results of tool calls', async () => {
    const { page, send } = await play('Responses')
    await page.getByRole('button', { name: 'Insert example' }).click()
    await page.getByText('1 function', { exact: true }).waitFor()
    await send('Please use get_weather.')
    await page.getByLabel('Result of get_weather').fill('{"sky":"clear"}')
    await page.getByRole('button', { name: 'Send results' }).click()
    // Also in the text for screen readers, once the answer has ended.
    await page
      .getByText(/The tool said: .*clear/)
      .first()
      .waitFor()
  })

  it('sends the effort and shows the reasoning', async () => {
    const { page, send, newest } = await play('Chat')
    await page.getByLabel('Effort').selectOption('high')
    await send('Hello!')
    await page.getByText('32 reasoning').waitFor()
    expect((await newest()).tokens.reasoning).toBe(32)
    await page.getByRole('button', { name: /^Reasoned for / }).click()
    await page.getByText(/^Thinking/).waitFor()
  })

  it('explains invalid settings', async () => {
    const { page, send } = await play('Chat', { credit: '0' })
    await page.getByLabel('Max output tokens').fill('many')
    await page.getByText('Enter a whole number above zero.').waitFor()
    expect(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true)
    await page.getByLabel('Max output tokens').fill('100')
    const refused = page.waitForResponse((response) => response.status() === 402)
    await send('Hello!')
    const { error } = await (await refused).json()
    await page.getByRole('alert').getByText(error.message).waitFor()
  })
})
