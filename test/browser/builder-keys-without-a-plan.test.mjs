import { afterEach, describe, expect, it } from 'vitest'
import { PLANS_CONFIG, TEST_CONFIG } from '../support/test-config.ts'
import { streamChat } from './lib/stream-chat.mjs'
import { CHROMIUM, useConsole } from './lib/use-console.mjs'

describe.skipIf(CHROMIUM === undefined)('builder keys without a plan', () => {
  const { server, origin, person, open } = useConsole({ config: PLANS_CONFIG })

  const configure = (text) => server().reload(text)
  afterEach(() => configure(PLANS_CONFIG))

  async function onPlan(plan) {
    const owner = await person()
    await server().operate('plans.assign', { account: owner.account.id, plan })
    const { key } = await owner.account.createKey({ kind: 'builder', name: 'agent' })
    const ask = async () => (await streamChat(origin(), key, { model: 'paid', max_tokens: 5 })).status
    expect(await ask()).toBe(200)
    return { owner, ask }
  }

  /** The texts of the plan page and of the dialog that creates a key. */
  async function expectExplained(owner, { title, text, choice }) {
    const page = await open('/plan', owner)
    await page.getByText(title, { exact: true }).waitFor()
    await page.getByText(text).waitFor()
    await page.goto(`${origin()}/console/keys?new=yes`)
    const builder = page.getByRole('dialog').getByRole('radio', { name: 'Builder', exact: true })
    await page.getByRole('dialog').getByText(choice).waitFor()
    expect(await builder.isDisabled()).toBe(true)
    expect(await page.getByRole('dialog').getByRole('radio', { name: 'Wallet', exact: true }).isChecked()).toBe(true)
  }

  it('cannot be created, and the page says how to get a plan', async () => {
    await expectExplained(await person(), {
      title: 'No plan yet',
      text: /Ask your operator to assign one, or use a wallet key\.$/,
      choice: 'Requires a Builder plan. Ask your operator to assign one to this account.',
    })
  })

  it('fail after the plan has ended, whose usage stays visible', async () => {
    const { owner, ask } = await onPlan('lean')
    await server().operate('plans.end', { account: owner.account.id })
    expect(await ask()).toBe(402)
    await expectExplained(owner, {
      title: 'Your plan has ended',
      text: /^lean ended on .* Wallet keys keep working\.$/,
      choice: 'Requires a Builder plan. The plan of this account has ended.',
    })
  })

  it('fail while the plan is not configured and work again when it is', async () => {
    const { owner, ask } = await onPlan('wide')
    await configure(TEST_CONFIG)
    expect(await ask()).toBe(402)
    await expectExplained(owner, {
      title: 'Your plan is no longer offered',
      text: /^This server no longer has the plan wide\./,
      choice: 'The plan of this account is no longer offered on this server.',
    })
    await configure(PLANS_CONFIG)
    expect(await ask()).toBe(200)
  })
})
