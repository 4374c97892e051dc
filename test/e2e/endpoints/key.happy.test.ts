import { describe, expect, it } from 'vitest'
import { chat, get, hello, send } from '../../support/send-chat.ts'
import { nanoOf, openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

describe('GET /v1/key answers', () => {
  const server = useServer()

  it('with a wallet key and its balance', async () => {
    const account = await openAccount(server(), { credit: '2.50' })
    const made = await account.createKey({ name: 'laptop', models: ['swift', 'vendor/*'], limits: { concurrent: 4 } })
    const { status, json } = await get(server(), made, '/key')
    expect(status).toBe(200)
    expect(json).toEqual({
      object: 'key',
      id: made.id,
      account: account.id,
      name: 'laptop',
      kind: 'wallet',
      models: ['swift', 'vendor/*'],
      wallet: { currency: 'USD', balance: '2.50', held: '0.00', available: '2.50' },
      caps: [],
      plan: null,
      windows: [],
      limits: { key: { concurrent: 4 }, account: {} },
      // In the shape of OpenRouter: test/e2e/plans/gauges.test.ts.
      data: expect.objectContaining({ label: 'laptop', usage: 0 }),
    })
  })

  it('with its spend caps, their use and their reset times', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ caps: { day: '1.00', month: '5.00' } })
    const { json } = await chat(server(), made, { model: 'paid', max_tokens: 10, messages: hello('count to 50') })
    expect(json.usage.millrace.charge).toBe('0.01')
    const [day, month] = (await get(server(), made, '/key')).json.caps
    expect(day).toMatchObject({ name: 'day', limit: '1.00', used: '0.01', held: '0.00', left: '0.99' })
    expect(month).toMatchObject({ name: 'month', limit: '5.00', used: '0.01', left: '4.99' })
    expect(Date.parse(day.end) - Date.parse(day.start)).toBe(86_400_000)
    expect(month.start).toMatch(/-01T00:00:00\.000Z$/)
  })

  it('without a wallet for a builder key', async () => {
    const account = await openAccount(server())
    const made = await account.createKey({ kind: 'builder' })
    expect((await get(server(), made, '/key')).json).toMatchObject({ kind: 'builder', wallet: null, windows: [] })
  })

  it('with held funds while a request runs, and the new balance when it ends', async () => {
    const account = await openAccount(server())
    const response = await send(server(), account, { model: 'calm', stream: true, messages: hello('count to 5') })
    const during = (await get(server(), account, '/key')).json.wallet
    expect(nanoOf(during.held)).toBeGreaterThan(0n)
    expect(nanoOf(during.available)).toBe(nanoOf(during.balance) - nanoOf(during.held))
    await response.text()
    const { json } = await chat(server(), account)
    const after = (await get(server(), account, '/key')).json.wallet
    expect(after.held).toBe('0.00')
    expect(nanoOf(after.balance)).toBe((await account.wallet()).balance)
    expect(nanoOf(after.balance)).toBeLessThan(nanoOf(during.balance) - nanoOf(json.usage.millrace.charge))
  })

  it('to an empty wallet', async () => {
    const account = await openAccount(server(), { credit: '0' })
    expect((await get(server(), account, '/key')).json.wallet.balance).toBe('0.00')
  })
})
