import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { secureRandom } from '../lib/random-id.ts'
import type { Caller } from '../model/caller.ts'
import type { Ending } from '../model/ending.ts'
import { mintRequestId } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import { updateAccountStatus } from '../store/set-up.fixture.ts'
import { openTestBooks, type TestBooks } from './books.fixture.ts'
import { describeKey } from './keys/describe-key.ts'
import { OPERATIONS, type OperationName, type OperationValue, runOperation } from './operations.ts'
import type { Refused } from './outcome.ts'
import { readReceipt } from './requests/describe-receipt.ts'

let folder: string
let books: TestBooks

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-account-'))
  books = await openTestBooks(folder)
})

afterEach(async () => {
  await books.close()
  await rm(folder, { recursive: true })
})

const run = (name: string, args: unknown) =>
  runOperation({ ...books.deps, status: () => ({ running: false, version: '0', node: '0', data: folder }) }, name, args)

async function must<Name extends OperationName>(name: Name, args: unknown): Promise<OperationValue<Name>> {
  const outcome = await run(name, args)
  if (outcome.kind === 'refused') throw new Error(`${name}: ${outcome.message}`)
  // What cannot go through the socket must not be in a value.
  expect(JSON.parse(JSON.stringify(outcome.value))).toEqual(outcome.value)
  return outcome.value as OperationValue<Name>
}

async function refusal(name: OperationName, args: unknown): Promise<Refused> {
  const outcome = await run(name, args)
  if (outcome.kind === 'done') throw new Error(`${name} was not refused: ${JSON.stringify(outcome.value)}`)
  return outcome
}

/** Two on a page, from the first to the last. */
async function pagesOf(name: 'accounts.list' | 'keys.list' | 'people.list' | 'wallet.entries', args: object = {}) {
  const pages: Record<string, unknown>[][] = []
  for (let after: string | null | undefined; after !== null; ) {
    const { items, next } = await must(name, { ...args, limit: 2, ...(after !== undefined && { after }) })
    pages.push(items.map((item) => ({ ...item })))
    after = next
  }
  return pages
}

async function makeKey(args: object = {}) {
  await run('accounts.create', { email: 'a@example.com' })
  return must('keys.create', { account: 'a@example.com', kind: 'wallet', name: 'ci', ...args })
}

async function callerOf(secret: string): Promise<Caller> {
  const outcome = await books.finder.find(secret)
  if (outcome.kind !== 'caller') throw new Error(outcome.reason)
  return outcome.caller
}

describe('accounts', () => {
  it('are refused with all their keys from the next request after they were suspended, until they are activated', async () => {
    const { key, account } = await makeKey()
    await callerOf(key)
    expect(await must('accounts.suspend', { account: 'a@example.com' })).toMatchObject({
      id: account,
      status: 'suspended',
    })
    expect(await books.finder.find(key)).toEqual({ kind: 'refused', reason: 'account-suspended' })
    expect(await must('accounts.activate', { account })).toMatchObject({ status: 'active' })
    expect((await callerOf(key)).accountId).toBe(account)
  })

  it('that are closed stay closed', async () => {
    const { id } = await must('accounts.create', { email: 'a@example.com' })
    await updateAccountStatus(books.deps.db, 1, 'closed')
    expect(await refusal('accounts.activate', { account: id })).toMatchObject({ reason: 'account_closed' })
    expect(await must('accounts.show', { account: id })).toMatchObject({ status: 'closed' })
  })

  it.each([
    ['accounts.show', { account: 'a\0b' }],
    ['accounts.suspend', { account: '\u0007' }],
    ['wallet.show', { account: 'a@b\0' }],
    ['wallet.entries', { account: 'a@b\0' }],
    ['wallet.credit', { account: 'a\0', amount: '1', reason: 'r', ref: 'r' }],
    ['keys.list', { account: 'a\0' }],
    ['keys.show', { key: 'key_\0' }],
    ['keys.revoke', { key: 'k'.repeat(1_000_000) }],
    ['keys.rename', { key: 'key_\0', name: 'x' }],
    ['keys.create', { account: 'a\0', kind: 'wallet', name: 'x' }],
    ['requests.trace', { request: 'req_\0' }],
  ] as const)('%s refuses a name that nobody could have typed: %j', async (name, args) => {
    const { reason, message } = await refusal(name, args)
    expect(reason).toBe('invalid_arguments')
    expect(message.length).toBeLessThan(200)
  })

  it('are made once for each address, however it is spelt', async () => {
    const made = await must('accounts.create', { email: ' Ann@Example.COM ' })
    expect(made).toMatchObject({ email: 'ann@example.com', status: 'active' })
    expect(made.id).toMatch(/^acct_[0-9a-z]{26}$/)
    expect(await refusal('accounts.create', { email: 'ann@example.com' })).toMatchObject({ reason: 'account_exists' })
    expect((await must('accounts.list', {})).items).toHaveLength(1)
  })

  it.each(['', 'ann', '@example.com', 'ann@', 'a b@example.com', 'ann@exa\nmple.com', `${'a'.repeat(250)}@b.de`])(
    'need an e-mail address: %j is none',
    async (email) => {
      expect(await refusal('accounts.create', { email })).toMatchObject({ reason: 'invalid_arguments' })
    },
  )

  it('are found by id and by address', async () => {
    const { id } = await must('accounts.create', { email: 'ann@example.com' })
    const byId = await must('accounts.show', { account: id })
    expect(await must('accounts.show', { account: 'ANN@example.com' })).toEqual(byId)
    expect(byId.wallet).toEqual({ balance: '0.00', held: '0.00', available: '0.00' })
    expect(await refusal('accounts.show', { account: 'bob@example.com' })).toMatchObject({
      reason: 'account_not_found',
    })
  })

  it('are listed beyond one page', async () => {
    const emails = Array.from({ length: 5 }, (_, index) => `user${index}@example.com`)
    for (const email of emails) await must('accounts.create', { email })
    const pages = await pagesOf('accounts.list')
    expect(pages.map((page) => page.length)).toEqual([2, 2, 1])
    expect(pages.flat().map(({ email }) => email)).toEqual(emails.toReversed())
    const { items } = await must('accounts.list', { search: 'user3@' })
    expect(items.map(({ email }) => email)).toEqual(['user3@example.com'])
  })
})

describe('the wallet', () => {
  const credit = (changes: object = {}) => ({
    account: 'a@example.com',
    amount: '12.5',
    reason: 'test',
    ref: 'r1',
    ...changes,
  })
  beforeEach(() => run('accounts.create', { email: 'a@example.com' }))

  it('is credited exactly, to the ninth decimal', async () => {
    expect(await must('wallet.credit', credit({ amount: '0.000000001' }))).toMatchObject({
      amount: '0.000000001',
      balance: '0.000000001',
      repeated: false,
    })
  })

  it('is credited once for each reference', async () => {
    await must('wallet.credit', credit())
    expect(await must('wallet.credit', credit())).toMatchObject({ repeated: true, balance: '12.50' })
    expect(await refusal('wallet.credit', credit({ amount: '13' }))).toMatchObject({ reason: 'ref_taken' })
    expect(await must('wallet.show', { account: 'a@example.com' })).toMatchObject({
      balance: '12.50',
      held: '0.00',
      available: '12.50',
    })
  })

  it('takes money out again as a refund or an adjustment, never more than is there, once a reference', async () => {
    await must('wallet.credit', credit())
    const refund = { ...credit({ amount: '2.50' }), ref: 'back-1', reason: 'paid back' }
    expect(await must('wallet.refund', refund)).toMatchObject({ amount: '-2.50', balance: '10.00', repeated: false })
    expect(await must('wallet.refund', refund)).toMatchObject({ balance: '10.00', repeated: true })
    const adjust = { ...credit({ amount: '1.00' }), ref: 'fix-1', reason: 'a wrong price' }
    expect(await must('wallet.adjust', { ...adjust, direction: 'add' })).toMatchObject({ balance: '11.00' })
    expect(await must('wallet.adjust', { ...adjust, ref: 'fix-2', direction: 'take' })).toMatchObject({
      balance: '10.00',
    })
    const tooMuch = { ...refund, ref: 'back-2', amount: '10.01' }
    expect(await refusal('wallet.refund', tooMuch)).toMatchObject({ reason: 'balance_too_small' })
    expect(await refusal('wallet.refund', { ...refund, ref: 'fix-1' })).toMatchObject({ reason: 'ref_taken' })
    const { items: entries } = await must('wallet.entries', { account: credit().account })
    expect(entries.map(({ kind, amount }) => `${kind} ${amount}`)).toEqual([
      'adjustment -1.00',
      'adjustment 1.00',
      'refund -2.50',
      'credit 12.50',
    ])
  })

  it('is credited once when ten orders with one reference come together', async () => {
    const credits = await Promise.all(Array.from({ length: 10 }, () => must('wallet.credit', credit())))
    expect(credits.filter((one) => !one.repeated)).toHaveLength(1)
    expect((await must('wallet.entries', { account: 'a@example.com' })).items).toHaveLength(1)
  })

  it('keeps references apart by account', async () => {
    await must('accounts.create', { email: 'b@example.com' })
    await must('wallet.credit', credit())
    const other = await must('wallet.credit', credit({ account: 'b@example.com', amount: '1' }))
    expect(other).toMatchObject({ repeated: false, balance: '1.00' })
  })

  it.each(['0', '-1', '1.0000000001', '1e3', '1,5', '', ' 1', 'NaN', '99999999999'])(
    'refuses the amount %j',
    async (amount) => {
      expect(await refusal('wallet.credit', credit({ amount }))).toMatchObject({ reason: 'invalid_amount' })
    },
  )

  it('needs a reason and a reference', async () => {
    expect(await refusal('wallet.credit', credit({ reason: ' ' }))).toMatchObject({ reason: 'invalid_arguments' })
    expect(await refusal('wallet.credit', credit({ ref: '' }))).toMatchObject({ reason: 'invalid_arguments' })
    expect(await refusal('wallet.credit', credit({ amount: 5 }))).toMatchObject({ reason: 'invalid_arguments' })
  })

  it('lists what came in, newest first', async () => {
    await must('wallet.credit', credit())
    await must('wallet.credit', credit({ ref: 'r2', amount: '1' }))
    const { items: entries } = await must('wallet.entries', { account: 'a@example.com' })
    expect(entries.map(({ ref, amount, kind }) => [ref, amount, kind])).toEqual([
      ['r2', '1.00', 'credit'],
      ['r1', '12.50', 'credit'],
    ])
  })
})

describe('keys', () => {
  it('open the door with a secret that is said once', async () => {
    const made = await makeKey({ models: ['demo'], limits: { requests_per_minute: 5 } })
    expect(made.key).toMatch(/^mr_wallet_/)
    expect(await callerOf(made.key)).toMatchObject({
      keyName: 'ci',
      models: ['demo'],
      limits: { requestsPerMinute: 5 },
    })
    const listed = await must('keys.list', { account: 'a@example.com' })
    expect(listed.items).toHaveLength(1)
    expect(JSON.stringify(listed)).not.toContain(made.key)
    expect(listed.items[0]).toMatchObject({ state: 'active', models: ['demo'], limits: { requests_per_minute: 5 } })
  })

  it.each([
    ['revoke', 'revoked'],
    ['disable', 'disabled'],
  ] as const)('are refused by the next request after %s', async (verb, reason) => {
    const { key, id } = await makeKey()
    await callerOf(key)
    expect(await must(`keys.${verb}`, { key: id })).toMatchObject({ state: reason })
    expect(await books.finder.find(key)).toEqual({ kind: 'refused', reason })
  })

  it('are listed page by page, newest first, those of one account or of all', async () => {
    const ids = [(await makeKey()).id, (await makeKey()).id]
    await must('accounts.create', { email: 'b@example.com' })
    ids.push((await must('keys.create', { account: 'b@example.com', kind: 'wallet', name: 'b' })).id)
    const idsOf = (pages: Record<string, unknown>[][]) => pages.map((page) => page.map(({ id }) => id))
    expect(idsOf(await pagesOf('keys.list'))).toEqual([[ids[2], ids[1]], [ids[0]]])
    expect(idsOf(await pagesOf('keys.list', { account: 'a@example.com' }))).toEqual([[ids[1], ids[0]]])
    const stranger = { account: 'a@example.com', after: ids[2] }
    expect(await refusal('keys.list', stranger)).toMatchObject({ reason: 'key_not_found' })
  })

  it('that are disabled can be enabled, renamed ones keep their secret', async () => {
    const { key, id } = await makeKey()
    await must('keys.disable', { key: id })
    expect(await must('keys.enable', { key: id })).toMatchObject({ state: 'active' })
    await must('keys.rename', { key: id, name: 'nightly' })
    expect((await callerOf(key)).keyName).toBe('nightly')
  })

  it('stay revoked', async () => {
    const { id } = await makeKey()
    await must('keys.revoke', { key: id })
    expect(await must('keys.revoke', { key: id })).toMatchObject({ state: 'revoked' })
    expect(await refusal('keys.enable', { key: id })).toMatchObject({ reason: 'key_revoked' })
    expect(await refusal('keys.rename', { key: id, name: 'x' })).toMatchObject({ reason: 'key_revoked' })
  })

  it('may not list models that nobody of their kind can call', async () => {
    await must('accounts.create', { email: 'a@example.com' })
    const args = { account: 'a@example.com', kind: 'wallet', name: 'ci' }
    expect(await refusal('keys.create', { ...args, models: ['dmeo'] })).toMatchObject({ reason: 'model_not_found' })
    expect(await refusal('keys.create', { ...args, models: ['plan-only'] })).toMatchObject({
      reason: 'model_not_found',
    })
    expect((await must('keys.create', { ...args, models: ['de*', 'demo-high'] })).models).toEqual(['de*', 'demo-high'])
  })

  it('expire when they were told to', async () => {
    const made = await makeKey({ expires: '9000-01-31' })
    expect(made.expires_at).toBe('9000-01-31T00:00:00.000Z')
    const args = { account: 'a@example.com', kind: 'wallet', name: 'ci', expires: '2001-01-01' }
    expect(await refusal('keys.create', args)).toMatchObject({ reason: 'invalid_expiry' })
  })

  it('are named by their id, and a pasted secret is not said again', async () => {
    const { key } = await makeKey()
    const { reason, message } = await refusal('keys.revoke', { key })
    expect(reason).toBe('key_not_found')
    expect(message).not.toContain(key)
  })

  it('know what they are', async () => {
    const { key } = await makeKey()
    await must('wallet.credit', { account: 'a@example.com', amount: '3', reason: 'r', ref: 'r' })
    const limits = () => ({ key: { requestsPerMinute: 7 }, account: {} })
    expect(
      await describeKey({ ledger: books.ledger, catalog: books.deps.catalog, limits }, await callerOf(key)),
    ).toMatchObject({
      object: 'key',
      kind: 'wallet',
      name: 'ci',
      models: null,
      wallet: { currency: 'USD', balance: '3.00' },
      limits: { key: { requests_per_minute: 7 }, account: {} },
    })
    const builder = await must('keys.create', { account: 'a@example.com', kind: 'builder', name: 'b' })
    expect(
      await describeKey({ ledger: books.ledger, catalog: books.deps.catalog, limits }, await callerOf(builder.key)),
    ).toMatchObject({
      wallet: null,
    })
  })
})

describe('requests', () => {
  /** One settled turn above the tier's threshold. */
  async function settleOne(over: Partial<Ending> = {}) {
    const { key } = await makeKey()
    await must('wallet.credit', { account: 'a@example.com', amount: '3', reason: 'r', ref: 'r' })
    const caller = await callerOf(key)
    const requestId = mintRequestId(books.deps.clock.now(), secureRandom)
    const admission = await books.ledger.admit({
      requestId,
      account: caller.account,
      key: caller.key,
      kind: 'wallet',
      model: 'demo',
      priceVersion: 1,
      terms: { inputPico: 2_000_000n * 600n, outputPicoPerToken: 5_000_000n, perRequest: 0n as NanoUsd },
      clientCap: 10,
      modelCap: 100,
      chosenCap: { sharePercent: 25, tokensMin: 1024 },
      choices: 1,
      inputEstimate: 600,
      cachedEstimate: 0,
      allowances: [],
      claim: undefined,
      limits: [],
    })
    if (admission.kind !== 'admitted') throw new Error('not admitted')
    await admission.settle({
      outcome: 'completed',
      lane: 'demo/demo',
      firstByteMs: 3,
      totalMs: 9,
      attempts: [{ lane: 'demo/demo', outcome: 'completed', status: 200, ms: 8 }],
      owed: {
        usage: { uncachedInput: 600, cachedInput: 0, cacheWrite: 0, output: 4, reasoning: 1, estimated: false },
        tier: 500,
        cost: 1_220_000n as NanoUsd,
      },
      compaction: undefined,
      kept: false,
      ...over,
    })
    admission.leave()
    return { requestId, caller }
  }

  it('are traced from caller to charge', async () => {
    const { requestId, caller } = await settleOne()
    expect(await must('requests.trace', { request: requestId })).toMatchObject({
      id: requestId,
      state: 'settled',
      outcome: 'completed',
      account: { id: caller.accountId, email: 'a@example.com' },
      key: { name: 'ci' },
      model: 'demo',
      lane: 'demo/demo',
      tokens: { uncached_input: 600, output: 4, reasoning: 1, estimated: false },
      compaction: null,
      price_version: 1,
      tier: 500,
      output_cap: 10,
      hold: '0.00125',
      cost: '0.00122',
      charge: '0.00122',
      shortfall: '0.00',
      attempts: [{ lane: 'demo/demo', outcome: 'completed', status: 200, ms: 8 }],
    })
    expect(await refusal('requests.trace', { request: 'req_nothing' })).toMatchObject({ reason: 'request_not_found' })
    expect(await must('wallet.show', { account: 'a@example.com' })).toMatchObject({ balance: '2.99878', held: '0.00' })
  })

  it('show their account what they cost and why, and nothing about lanes', async () => {
    const { requestId, caller } = await settleOne()
    const receipt = await readReceipt(books.deps, caller, requestId)
    expect(receipt).toMatchObject({ object: 'request', charge: '0.00122', price: { input: '2.00', output: '5.00' } })
    expect(JSON.stringify(receipt)).not.toContain('demo/demo')
    const stranger = { account: (caller.account + 1) as typeof caller.account }
    expect(await readReceipt(books.deps, stranger, requestId)).toBeUndefined()
  })

  it('say how large a conversation was before it was compacted, and after that', async () => {
    const compaction = { tokensBefore: 48_210, tokensAfter: 2_034 }
    const { requestId, caller } = await settleOne({ compaction })
    const said = { compaction: { tokens_before: 48_210, tokens_after: 2_034 } }
    expect(await readReceipt(books.deps, caller, requestId)).toMatchObject(said)
    expect(await must('requests.trace', { request: requestId })).toMatchObject(said)
  })

  it('leave books that hold', async () => {
    await settleOne()
    expect(await must('db.verify', {})).toMatchObject({
      ok: true,
      violations: 0,
      accounts: 1,
      receipts: 1,
      transfers: 1,
    })
  })
})

describe('runOperation', () => {
  it('refuses names and arguments that it does not know', async () => {
    expect(await run('toString', {})).toMatchObject({ kind: 'refused', reason: 'unknown_operation' })
    expect(await run('accounts.create', { email: 'a@b.c', admin: true })).toMatchObject({ reason: 'invalid_arguments' })
    expect(await run('accounts.list', null)).toMatchObject({ reason: 'invalid_arguments' })
    for (const name of Object.keys(OPERATIONS)) expect((await run(name, 5)).kind).toBe('refused')
  })

  it('lists the models with their prices', async () => {
    const { models } = await must('models.list', {})
    expect(models[0]).toMatchObject({
      id: 'demo',
      efforts: ['low', 'high'],
      price: { version: 1, input: '1.00', output: '2.50', tiers: [{ above_input_tokens: 500, input: '2.00' }] },
      lanes: [{ id: 'demo/demo', upstream: 'demo' }],
    })
  })
})
