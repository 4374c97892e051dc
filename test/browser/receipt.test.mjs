import { describe, expect, it } from 'vitest'
import { PLANS_CONFIG } from '../support/test-config.ts'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

const ESTIMATED = 'The provider reported no plausible token counts, so they are estimated.'
const COUNTED = 'Tokens as reported by the provider.'

describe.skipIf(CHROMIUM === undefined)('the receipt of a request', () => {
  const { server, origin, person, open } = useConsole({ config: PLANS_CONFIG })
  const main = (page) => page.getByRole('main')

  it('states once whether the tokens were reported or estimated', async () => {
    const owner = await person()
    const { id } = await streamChat(origin(), owner.account.key, { model: 'swift' })
    const page = await open(`/requests/${id}`, owner)
    await main(page).getByText(`The answer is complete. The wallet paid for all of it. ${COUNTED}`).waitFor()
    const detail = `**/console/api/requests/${id}`
    await page.route(detail, async (route) => {
      const answer = await (await route.fetch()).json()
      await route.fulfill({ json: { ...answer, tokens: { ...answer.tokens, estimated: true } } })
    })
    await page.reload()
    await main(page).getByText(`The answer is complete. The wallet paid for all of it. ${ESTIMATED}`).waitFor()
    expect(
      await main(page)
        .getByText(/the provider counted/i)
        .count(),
    ).toBe(0)
  })

  it('says which model was asked for where a cheaper one served', async () => {
    const owner = await person()
    const { id } = await streamChat(origin(), owner.account.key, { model: 'swift' })
    const page = await open('/', owner)
    await page.route(`**/console/api/requests/${id}`, async (route) => {
      const answer = await (await route.fetch()).json()
      await route.fulfill({ json: { ...answer, tags: { 'stepped-down': 'deep-coder' } } })
    })
    await page.goto(`${origin()}/console/requests/${id}`)
    await main(page).getByText('The client asked for deep-coder. Near a cap,').waitFor()
  })

  it('shows plan usage and no wallet charge for a builder key', async () => {
    const owner = await person()
    await server().operate('plans.assign', { account: owner.account.id, plan: 'wide' })
    const { key } = await owner.account.createKey({ kind: 'builder', name: 'agent' })
    const { id } = await streamChat(origin(), key, { model: 'paid', max_tokens: 5 })
    const page = await open(`/requests/${id}`, owner)
    await main(page).getByText('All of it counts against the plan.').waitFor()
    await main(page).getByText('Plan usage', { exact: true }).waitFor()
    await main(page)
      .getByRole('row', { name: /^Counted against the plan/ })
      .waitFor()
    await main(page).getByRole('link', { name: 'Plan wide' }).waitFor()
    expect(await main(page).innerText()).not.toMatch(/wallet|\bcharged\b|statement/i)
  })
})
