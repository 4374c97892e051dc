import { beforeAll, expect, it } from 'vitest'
import { runOperation } from '../../../src/admin/operations.ts'
import { type ConsolePerson, signUp } from '../../support/console-session.ts'
import { nanoOf, openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer()
let operator: ConsolePerson

beforeAll(async () => {
  operator = await signUp(server(), { email: 'operator@read.example', role: 'operator' })
})

it('an operator cannot credit under the reference of a code', async () => {
  const account = await openAccount(server(), { credit: '0' })
  const owner = await signUp(server(), { email: 'owner@read.example', account: account.id })
  const { items } = await operator.call('POST /operate/codes', { body: { amount: '5.00', count: 1, note: '' } })
  const [{ code, secret }] = items as [(typeof items)[number]]
  for (const ref of [`code:${code.id}`, ` code:${code.id}`]) {
    for (const amount of ['5.00', '-5.00', '7.00']) {
      const body = { amount, reason: 'a trick', ref }
      const reported = await operator.send('POST /operate/accounts/:account/credit', {
        params: { account: account.id },
        body,
      })
      expect([reported.status, reported.error?.code]).toEqual([400, 'invalid_arguments'])
    }
  }
  await owner.call('POST /wallet/redeem', { body: { code: secret } })
  expect((await account.wallet()).balance).toBe(nanoOf('5.00'))
})

it('an email address has one account, however it is spelled', async () => {
  const made = await operator.call('POST /operate/accounts', { body: { email: ' Ann@Read.Example ' } })
  expect(made.email).toBe('ann@read.example')
  const again = await operator.send('POST /operate/accounts', { body: { email: 'ann@read.example' } })
  expect(again.error?.code).toBe('account_exists')
  const none = await operator.send('POST /operate/accounts', { body: { email: 'no address' } })
  expect(none.error?.code).toBe('invalid_arguments')
})

it('a refusal names the form field at fault', async () => {
  const account = await openAccount(server(), { credit: '0' })
  const owner = await signUp(server(), { email: 'fields@read.example', account: account.id })
  const key = (await owner.call('GET /keys')).items[0]!.id
  const ofKey = { name: 'ci', kind: 'wallet' } as const
  const ofAccount = { account: account.id }
  const credit = (amount: string, ref: string) =>
    operator.send('POST /operate/accounts/:account/credit', {
      params: ofAccount,
      body: { amount, reason: 'a reason', ref },
    })
  const range = { from: '2026-01-01', to: '2026-01-03', zone: 'UTC', step: 'day', by: 'model' } as const
  await credit('1.00', 'once')
  const reported = [
    await owner.send('POST /keys', { body: { ...ofKey, caps: { month: '0' } } }),
    await owner.send('POST /keys', { body: { ...ofKey, expires: '2001-01-01' } }),
    await owner.send('POST /keys', { body: { ...ofKey, models: ['no-such-model'] } }),
    await owner.send('POST /keys/:key/rotate', { params: { key }, body: { grace: '90d' } }),
    await owner.send('POST /wallet/ask', { body: { amount: 'much', note: '' } }),
    await owner.send('POST /wallet/redeem', { body: { code: 'MR-AAAA-BBBB' } }),
    await owner.send('GET /usage', { query: { ...range, zone: 'Mars/Olympus' } }),
    await owner.send('GET /usage', { query: { ...range, to: range.from } }),
    await owner.send('POST /session/confirm', { body: { password: 'not this one' } }),
    await owner.send('PUT /password', { body: { current: 'not this one', next: 'a password to come' } }),
    await operator.send('POST /operate/accounts', { body: { email: account.email } }),
    await operator.send('POST /operate/accounts/:account/plan', { params: ofAccount, body: { plan: 'none' } }),
    await credit('nothing', 'another'),
    await credit('2.00', 'once'),
  ]
  expect(reported.map(({ error }) => `${error?.code}: ${error?.param}`)).toEqual([
    'invalid_amount: caps.month',
    'invalid_expiry: expires',
    'model_not_found: models',
    'invalid_grace: grace',
    'invalid_amount: amount',
    'code_mistyped: code',
    'invalid_range: zone',
    'invalid_range: to',
    'wrong_password: password',
    'wrong_password: current',
    'account_exists: email',
    'plan_not_found: plan',
    'invalid_amount: amount',
    'ref_taken: ref',
  ])
})

it('operator actions appear in the audit log of the account, whatever name the operator used', async () => {
  const account = await openAccount(server(), { credit: '0' })
  const owner = await signUp(server(), { email: 'second@read.example', account: account.id })
  const params = { account: account.email }
  const credit = { amount: '1.00', reason: 'a gift', ref: 'gift-1' }
  await operator.call('POST /operate/accounts/:account/credit', { params, body: credit })
  await operator.call('POST /operate/accounts/:account/status', { params, body: { status: 'active' } })
  const { items } = await owner.call('GET /audit')
  expect(items.slice(0, 2).map(({ action, target }) => [action, target])).toEqual([
    ['account_status', account.id],
    ['wallet_ordered', account.id],
  ])
})

it('an unknown name or cursor is a 4xx, never a 5xx', async () => {
  const reported = await Promise.all([
    operator.send('GET /operate/codes', { query: { after: '' } }),
    operator.send('GET /operate/codes', { query: { after: ' ' } }),
    operator.send('GET /operate/wishes', { query: { after: '\u0000' } }),
    operator.send('GET /operate/accounts/:account', { params: { account: 'acct_\u0000' } }),
    operator.send('GET /operate/requests/:request', { params: { request: 'x'.repeat(5000) } }),
    operator.send('POST /operate/codes/:code/withdraw', { params: { code: 'code_\u0000' } }),
  ])
  expect(reported.map(({ status }) => status)).toEqual([400, 400, 400, 404, 404, 404])
})

it.each([
  ['an override of direction', 'paid\u202egpj', 'U+202E'],
  ['a space without width', 'ad\u200bmin', 'U+200B'],
  ['an escape', '\u001b[2Jci', 'U+001B'],
])('invisible characters in a name are refused by console and CLI: %s', async (_, name, seen) => {
  const account = await openAccount(server(), { credit: '0' })
  const owner = await signUp(server(), { email: `unseen-${seen.slice(2)}@read.example`, account: account.id })
  const { items } = await owner.call('GET /keys')
  const key = items[0]!.id
  const reported = [
    await owner.send('POST /keys', { body: { name, kind: 'wallet' } }),
    await owner.send('PATCH /keys/:key', { params: { key }, body: { name } }),
    await owner.send('POST /wallet/ask', { body: { amount: '1.00', note: name } }),
    await operator.send('POST /operate/accounts', { body: { email: `${name}@read.example` } }),
    await operator.send('POST /operate/accounts/:account/invite', {
      params: { account: account.id },
      body: { role: 'owner', email: `${name}@read.example` },
    }),
  ]
  for (const { status, error } of reported) {
    expect([status, error?.code]).toEqual([400, 'invalid_arguments'])
    expect(error?.message).toContain(`has an invisible character (${seen})`)
  }
  const operations: readonly [string, object][] = [
    ['keys.create', { account: account.id, kind: 'wallet', name }],
    ['keys.rename', { key, name }],
    ['accounts.create', { email: `${name}@read.example` }],
    ['people.invite', { role: 'owner', account: account.id, email: `${name}@read.example` }],
  ]
  const deps = {
    ...server().app.operations,
    status: () => ({ running: false, version: '', node: '', data: '' }) as const,
  }
  for (const [operation, args] of operations) {
    expect(await runOperation(deps, operation, args)).toMatchObject({
      reason: 'invalid_arguments',
      message: expect.stringContaining(seen),
    })
  }
})

it('names in any script and with emoji are kept as written', async () => {
  const account = await openAccount(server(), { credit: '0' })
  const owner = await signUp(server(), { email: 'scripts@read.example', account: account.id })
  for (const name of ['می‌خواهم', 'क्‍ष', 'ключ', '构建', '👩‍💻 ci ❤️']) {
    const { key } = await owner.call('POST /keys', { body: { name, kind: 'wallet' } })
    expect(key.name).toBe(name)
  }
})
