import { beforeEach, describe, expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import { findKeyById } from '../db/keys.ts'
import type { AccountRow } from '../model/ids.ts'
import { changeAccountStatus } from './accounts.ts'
import {
  type CreatedKey,
  changeKey,
  createKey,
  findOwnedKey,
  type KeyScope,
  revokeKey,
  rotateKey,
  updateKey,
} from './keys.ts'

const BEN = 2 as AccountRow

const fixture = useTestLedger({ owners: ['ada', 'ben'] })
let made: CreatedKey

beforeEach(async () => {
  const terms = { caps: { day: '5.00' }, limits: { concurrent: 3, requests_per_minute: 60 }, models: ['demo'] }
  const outcome = await createKey(fixture.services, {
    account: 'ada@example.com',
    kind: 'wallet',
    name: 'ci',
    ...terms,
  })
  if (outcome.kind === 'refused') throw new Error(outcome.message)
  made = outcome.value
})

const change = (terms: object, asked: { of?: KeyScope; mayWiden?: boolean } = {}) =>
  changeKey(fixture.services, { key: made.id, ...terms }, { mayWiden: true, ...asked })

describe('changing the terms of a key', () => {
  it('changes all of them at once, from the next request on', async () => {
    await fixture.callers.find(made.key)
    const terms = { name: 'build', models: null, limits: { concurrent: 9 }, caps: { month: '50.00' }, expires: '30d' }
    expect(await change(terms)).toMatchObject({
      value: {
        ...{ name: 'build', models: null, limits: { concurrent: 9, requests_per_minute: 60 } },
        ...{ caps: { day: '5.00', month: '50.00' }, expires_at: expect.stringMatching(/^20/), state: 'active' },
      },
    })
    expect(await fixture.callers.find(made.key)).toMatchObject({
      caller: {
        ...{ keyName: 'build', models: undefined, limits: { concurrent: 9, requestsPerMinute: 60 } },
        caps: [{ name: 'day' }, { name: 'month' }],
      },
    })
  })

  it('keeps absent terms, and removes null ones', async () => {
    const { key: _, ...before } = made
    expect(await change({})).toEqual({ kind: 'done', value: before })
    const none = { limits: { concurrent: null, requests_per_minute: null }, caps: { day: null }, models: null }
    expect(await change(none)).toMatchObject({ value: { name: 'ci', limits: {}, caps: {}, models: null } })
    await change({ expires: '1h' })
    expect(await change({ name: 'still' })).toMatchObject({ value: { expires_at: expect.any(String) } })
    expect(await change({ expires: null })).toMatchObject({ value: { expires_at: null } })
  })

  it('disables and enables', async () => {
    expect(await change({ disabled: true, name: 'asleep' })).toMatchObject({ value: { state: 'disabled' } })
    expect(await fixture.callers.find(made.key)).toMatchObject({ reason: 'disabled' })
    expect(await change({ disabled: false })).toMatchObject({ value: { state: 'active', name: 'asleep' } })
    expect(await fixture.callers.find(made.key)).toMatchObject({ kind: 'caller' })
  })

  it('keeps concurrent changes of different limits', async () => {
    await Promise.all([change({ limits: { concurrent: 1 } }), change({ limits: { tokens_per_minute: 7 } })])
    expect(await change({})).toMatchObject({
      value: { limits: { concurrent: 1, requests_per_minute: 60, tokens_per_minute: 7 } },
    })
  })

  it.each([
    [{ models: ['demo', 'plan-only'] }, 'model_not_found'],
    [{ expires: '2001-01-01' }, 'invalid_expiry'],
    [{ expires: '' }, 'invalid_expiry'],
    [{ caps: { day: '0' } }, 'invalid_amount'],
    [{ caps: { month: '1e3' } }, 'invalid_amount'],
  ])('changes nothing when one term is invalid: %j', async (wrong, reason) => {
    expect(await change({ name: 'half', disabled: true, ...wrong })).toMatchObject({ kind: 'refused', reason })
    expect(await change({})).toMatchObject({ value: { name: 'ci', state: 'active', caps: { day: '5.00' } } })
  })

  it('is refused for revoked keys and keys of other accounts', async () => {
    expect(await change({ name: 'mine' }, { of: { account: BEN } })).toMatchObject({ reason: 'key_not_found' })
    const revoke = (of?: AccountRow) =>
      revokeKey(fixture.services, { key: made.id }, { mayWiden: true, ...(of && { of: { account: of } }) })
    expect(await revoke(BEN)).toMatchObject({ reason: 'key_not_found' })
    await revoke()
    expect(await change({ name: 'x' })).toMatchObject({ reason: 'key_revoked' })
    expect(await change({ disabled: false })).toMatchObject({ reason: 'key_revoked' })
  })
})

describe('a change whose answer was lost', () => {
  /** As when the disk fails behind the commit. */
  const withLostAnswers = (): typeof fixture.services => ({
    ...fixture.services,
    auditLog: {
      ...fixture.services.auditLog,
      async act(act, statements) {
        await fixture.services.auditLog.act(act, statements)
        throw new Error('no answer')
      },
    },
  })
  const emitted = async () => {
    const outcome = await fixture.callers.find(made.key)
    return outcome.kind === 'caller' ? 'let in' : outcome.reason
  }

  it('applies from the next request on: a rotated key and a suspended account', async () => {
    expect(await emitted()).toBe('let in')
    await expect(changeAccountStatus(withLostAnswers(), 'ada@example.com', 'suspended')).rejects.toThrow('no answer')
    expect(await emitted()).toBe('account-suspended')
    await changeAccountStatus(fixture.services, 'ada@example.com', 'active')
    await emitted()
    await expect(rotateKey(withLostAnswers(), { key: made.id, grace: '0' })).rejects.toThrow('no answer')
    expect(await emitted()).toBe('unknown')
  })

  it('applies from the next request on: a revoked key', async () => {
    expect(await emitted()).toBe('let in')
    await expect(revokeKey(withLostAnswers(), { key: made.id })).rejects.toThrow('no answer')
    expect(await emitted()).toBe('revoked')
  })
})

describe('a change that widens a key', () => {
  const unconfirmed = (terms: object) => change(terms, { mayWiden: false })
  const asksFor = async (terms: object) => {
    const outcome = await unconfirmed(terms)
    return outcome.kind === 'refused' ? outcome.reason : outcome.kind
  }

  it.each([
    { caps: { day: '5.000000001' } },
    { caps: { day: null } },
    { caps: { month: '9.01' } },
    { limits: { concurrent: 4 } },
    { limits: { requests_per_minute: null } },
    { models: null },
    { models: ['de*'] },
    { models: ['demo', 'd*'] },
    { expires: null },
    { expires: '11d' },
    { name: 'harmless', caps: { day: '1.00' }, expires: null },
  ])('needs a confirmed password: %j', async (terms) => {
    await change({ expires: '10d', caps: { month: '9.00' } })
    expect(await asksFor(terms)).toBe('confirm_password')
    expect(await change({})).toMatchObject({ value: { name: 'ci', caps: { day: '5.00' }, models: ['demo'] } })
    expect(await change(terms)).toMatchObject({ kind: 'done' })
  })

  it.each([
    { name: 'another' },
    { disabled: true },
    { caps: { day: '4.99', month: '9.00' } },
    { limits: { concurrent: 3, tokens_per_minute: 9 } },
    { models: ['demo'] },
    { expires: '9d' },
  ])('is not one that narrows it or changes nothing: %j', async (terms) => {
    await change({ expires: '10d' })
    expect(await asksFor(terms)).toBe('done')
  })

  it('includes enabling a disabled key and extending an expired one', async () => {
    await change({ disabled: true })
    expect([await asksFor({ disabled: true }), await asksFor({ disabled: false })]).toEqual([
      'done',
      'confirm_password',
    ])
    await fixture.database.file.atomic([{ sql: 'UPDATE keys SET expires_at = 1', rows: [[]] }])
    expect(await asksFor({ expires: '1h' })).toBe('confirm_password')
  })

  it('does not exist for unlimited terms', async () => {
    await change({ models: null, caps: { day: null }, limits: { concurrent: null } })
    const terms = { models: ['demo'], caps: { day: '9.00', month: '1.00' }, limits: { concurrent: 9 }, expires: '30d' }
    expect(await asksFor(terms)).toBe('done')
  })

  it('is compared with the configured limits, if the key has none', async () => {
    await change({ limits: { concurrent: null, requests_per_minute: null } })
    const configured = { requestsPerMinute: 60, requestsBurst: 2, concurrent: 3 }
    const services = { ...fixture.services, keyRateLimits: () => configured }
    const asks = async (limits: object) => {
      const outcome = await changeKey(services, { key: made.id, limits }, { mayWiden: false })
      return outcome.kind === 'refused' ? outcome.reason : outcome.kind
    }
    expect(await asks({ requests_per_minute: 61 })).toBe('confirm_password')
    expect(await asks({ requests_per_minute: 60 }), 'all of them at once, where two were').toBe('confirm_password')
    expect(await asks({ concurrent: 4 })).toBe('confirm_password')
    expect(await asks({ concurrent: 2, tokens_per_minute: 9, requests_per_minute: 2 })).toBe('done')
    expect(await asks({ concurrent: 3, tokens_per_minute: null })).toBe('confirm_password')
  })

  it('is refused when the key was changed after the check', async () => {
    const judged = (await findKeyById(fixture.database.db, made.id))!
    await change({ disabled: true, caps: { day: '1.00' } })
    const found = await findOwnedKey(fixture.services, made.id)
    if (found.kind === 'refused') throw new Error(found.message)
    for (const again of [{ disabled_at: null }, { cap_day_nano: judged.cap_day_nano }]) {
      const outcome = await updateKey(fixture.services, found, { change: again, what: 'changed', judged })
      expect(outcome).toMatchObject({ kind: 'refused', reason: 'key_changed' })
    }
    expect(await change({})).toMatchObject({ value: { state: 'disabled', caps: { day: '1.00' } } })
    const now = (await findKeyById(fixture.database.db, made.id))!
    const asked = { change: { models: null, cap_month_nano: 5n }, what: 'changed', judged: now }
    expect(await updateKey(fixture.services, found, asked)).toMatchObject({ kind: 'done' })
  })
})
