import { beforeAll, describe, expect, it } from 'vitest'
import { CONSOLE_API } from '../../../src/contract/console-api.ts'
import { type ConsolePerson, PASSWORD, play, signUp } from '../../support/console-session.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'
import { ROUTE_NAMES, sampleOf, type Things } from './routes-with-samples.ts'

const server = useServer()
let account: TestAccount
let owner: ConsolePerson
let things: Things

beforeAll(async () => {
  account = await openAccount(server())
  owner = await signUp(server(), { email: 'owner@suspended.example', account: account.id })
  const { items } = await owner.call('GET /keys')
  const none = 'none_00000000000000000000000000'
  const others = { request: none, window: none, session: none, person: none, code: none, payment: none, purchase: none }
  const hooks = {
    webhook: none,
    delivery: none,
    operatorWebhook: none,
    operatorDelivery: none,
    team: none,
    conversation: none,
    run: 'none',
  }
  things = { account: none, key: items[0]!.id, ...others, ...hooks }
  await server().operate('accounts.suspend', { account: account.id })
})

const OWNERS = ROUTE_NAMES.filter((name) => CONSOLE_API[name].who === 'owner')

describe('the owner of a suspended account', () => {
  it.each(OWNERS)('can read but not change anything: %s', async (name) => {
    server().advance(200)
    const reported = await owner.send(name, sampleOf(name, things))
    if (name.startsWith('GET')) expect(reported.error?.code ?? 'read').not.toBe('account_suspended')
    else expect([reported.status, reported.error?.code]).toEqual([403, 'account_suspended'])
  })

  it('cannot use the playground', async () => {
    const reported = await play(owner, { model: 'swift', messages: [{ role: 'user', content: 'hi' }] })
    expect([reported.status, reported.error?.code]).toEqual([403, 'account_suspended'])
    expect(reported.error?.message).toMatch(/read everything and change nothing\. Ask the operator/)
    const { items } = await owner.call('GET /keys')
    expect(items.map(({ name, state }) => [name, state])).toEqual([[expect.any(String), 'active']])
    expect(await account.receipts()).toEqual([])
  })

  it('can sign in again and act once the operator reinstates the account', async () => {
    await owner.call('DELETE /session')
    await owner.call('POST /session', { body: { email: owner.email, password: PASSWORD } })
    expect((await owner.call('GET /session')).person?.account?.status).toBe('suspended')
    expect((await owner.send('POST /wallet/ask', { body: { amount: '1.00', note: '' } })).error?.code).toBe(
      'account_suspended',
    )
    await server().operate('accounts.activate', { account: account.id })
    await owner.call('POST /wallet/ask', { body: { amount: '1.00', note: '' } })
  })
})
