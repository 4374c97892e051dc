import { describe, expect, it } from 'vitest'
import { useOperatorLedger } from '../../test/fixtures/admin/operations.ts'
import { updateAccountStatus } from '../../test/fixtures/db/set-up.ts'

const { fixture, callerOf, makeKey, must, pagesOf, refusal } = useOperatorLedger()

describe('accounts', () => {
  it('are refused with all their keys from the next request after they were suspended, until they are activated', async () => {
    const { key, account } = await makeKey()
    await callerOf(key)
    expect(await must('accounts.suspend', { account: 'a@example.com' })).toMatchObject({
      id: account,
      status: 'suspended',
    })
    expect(await fixture.callers.find(key)).toEqual({ kind: 'refused', reason: 'account-suspended' })
    expect(await must('accounts.activate', { account })).toMatchObject({ status: 'active' })
    expect((await callerOf(key)).accountId).toBe(account)
  })

  it('that are closed stay closed', async () => {
    const { id } = await must('accounts.create', { email: 'a@example.com' })
    await updateAccountStatus(fixture.services.db, 1, 'closed')
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
  ] as const)('%s refuses an invalid name: %j', async (name, args) => {
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
    'need an email address: %j is none',
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
