import { describe, expect, it } from 'vitest'
import { useOperatorLedger } from '../../test/fixtures/admin/operations.ts'
import { describeKey } from './keys.ts'

const { fixture, callerOf, makeKey, must, pagesOf, refusal } = useOperatorLedger()

describe('keys', () => {
  it('authenticate with a secret that is returned once', async () => {
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
  ] as const)('are rejected from the next request after %s', async (verb, reason) => {
    const { key, id } = await makeKey()
    await callerOf(key)
    expect(await must(`keys.${verb}`, { key: id })).toMatchObject({ state: reason })
    expect(await fixture.callers.find(key)).toEqual({ kind: 'refused', reason })
  })

  it('are listed in pages, newest first, per account or all', async () => {
    const ids = [(await makeKey()).id, (await makeKey()).id]
    await must('accounts.create', { email: 'b@example.com' })
    ids.push((await must('keys.create', { account: 'b@example.com', kind: 'wallet', name: 'b' })).id)
    const idsOf = (pages: Record<string, unknown>[][]) => pages.map((page) => page.map(({ id }) => id))
    expect(idsOf(await pagesOf('keys.list'))).toEqual([[ids[2], ids[1]], [ids[0]]])
    expect(idsOf(await pagesOf('keys.list', { account: 'a@example.com' }))).toEqual([[ids[1], ids[0]]])
    const stranger = { account: 'a@example.com', after: ids[2] }
    expect(await refusal('keys.list', stranger)).toMatchObject({ reason: 'key_not_found' })
  })

  it('can be disabled, enabled and renamed', async () => {
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

  it('may not list models that their kind cannot call', async () => {
    await must('accounts.create', { email: 'a@example.com' })
    const args = { account: 'a@example.com', kind: 'wallet', name: 'ci' }
    expect(await refusal('keys.create', { ...args, models: ['dmeo'] })).toMatchObject({ reason: 'model_not_found' })
    expect(await refusal('keys.create', { ...args, models: ['plan-only'] })).toMatchObject({
      reason: 'model_not_found',
    })
    expect((await must('keys.create', { ...args, models: ['de*', 'demo-high'] })).models).toEqual(['de*', 'demo-high'])
  })

  it('expire on time', async () => {
    const made = await makeKey({ expires: '9000-01-31' })
    expect(made.expires_at).toBe('9000-01-31T00:00:00.000Z')
    const args = { account: 'a@example.com', kind: 'wallet', name: 'ci', expires: '2001-01-01' }
    expect(await refusal('keys.create', args)).toMatchObject({ reason: 'invalid_expiry' })
  })

  it('are named by id, and a pasted secret is not repeated', async () => {
    const { key } = await makeKey()
    const { reason, message } = await refusal('keys.revoke', { key })
    expect(reason).toBe('key_not_found')
    expect(message).not.toContain(key)
  })

  it('can describe themselves', async () => {
    const { key } = await makeKey()
    await must('wallet.credit', { account: 'a@example.com', amount: '3', reason: 'r', ref: 'r' })
    const limits = () => ({ key: { requestsPerMinute: 7 }, account: {} })
    expect(
      await describeKey({ ledger: fixture.ledger, catalog: fixture.services.catalog, limits }, await callerOf(key)),
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
      await describeKey(
        { ledger: fixture.ledger, catalog: fixture.services.catalog, limits },
        await callerOf(builder.key),
      ),
    ).toMatchObject({
      wallet: null,
    })
  })
})
