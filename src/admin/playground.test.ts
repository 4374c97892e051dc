import { describe, expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import type { AccountRow } from '../model/ids.ts'
import { changeAccountStatus } from './accounts.ts'
import { changeNewKeyCaps } from './caps.ts'
import { changeKey, createKey, revokeKey, rotateKey } from './keys.ts'
import { playgroundKey } from './playground.ts'

const ADA = 1 as AccountRow
const BEN = 2 as AccountRow

const fixture = useTestLedger({ owners: ['ada', 'ben'] })

async function open(account = ADA, kind: 'wallet' | 'builder' = 'wallet', person: number | null = null) {
  const outcome = await playgroundKey(fixture.services, { account, person }, kind)
  if (outcome.kind === 'refused') throw new Error(outcome.reason)
  return outcome.caller
}

describe('the key of the playground', () => {
  it('is created once per account and kind, also concurrently', async () => {
    const callers = await Promise.all(Array.from({ length: 10 }, () => open()))
    expect(new Set(callers.map(({ keyId }) => keyId)).size).toBe(1)
    expect(callers[0]).toMatchObject({
      account: ADA,
      kind: 'wallet',
      keyName: 'Playground',
      models: undefined,
      caps: [],
    })
    const others = [await open(ADA, 'builder'), await open(BEN), await open(BEN, 'builder')]
    expect(new Set([...callers, ...others].map(({ key }) => key)).size).toBe(4)
    expect((await open()).keyId).toBe(callers[0]!.keyId)
  })

  it('has no secret, does not count as a key, and cannot be rotated', async () => {
    await createKey(fixture.services, { account: 'ada@example.com', kind: 'wallet', name: 'ci' })
    const { keyId } = await open()
    const rotated = await rotateKey(fixture.services, { key: keyId, grace: '0' }, { account: ADA })
    expect(rotated).toMatchObject({ reason: 'key_without_secret' })
    expect(await fixture.services.db.selectFrom('keys').select(['name', 'playground']).execute()).toEqual([
      { name: 'ci', playground: 0 },
      { name: 'Playground', playground: 1 },
    ])
  })

  it('has the caps that new keys of the account get, from its first use on', async () => {
    await changeNewKeyCaps(fixture.services, {
      account: 'ada@example.com',
      month: '2.00',
      week: '1.00',
      requests_day: 9,
    })
    const callers = await Promise.all([open(), open(), open()])
    for (const { caps } of callers) {
      expect(caps.map(({ name, amount }) => `${name} ${amount}`)).toEqual([
        ...['week 1000000000', 'month 2000000000', 'requests_day 9'],
      ])
    }
    expect((await open(BEN)).caps).toEqual([])
  })

  it('has its own terms', async () => {
    const { keyId } = await open()
    await changeKey(fixture.services, { key: keyId, caps: { day: '0.000000005' }, models: ['demo'] })
    expect(await open()).toMatchObject({ keyId, models: ['demo'], caps: [{ name: 'day', amount: 5n }] })
  })

  it('is refused while disabled, and created again after it was revoked', async () => {
    const { keyId } = await open()
    await changeKey(fixture.services, { key: keyId, disabled: true })
    expect(await playgroundKey(fixture.services, { account: ADA, person: null }, 'wallet')).toEqual({
      kind: 'refused',
      reason: 'disabled',
    })
    await revokeKey(fixture.services, { key: keyId })
    const callers = await Promise.all([open(), open()])
    expect(callers[0]!.keyId).not.toBe(keyId)
    expect(callers[1]).toEqual(callers[0])
  })

  it('is revoked only with a confirmed password, because the next one has no caps', async () => {
    const { keyId } = await open()
    const revoke = (mayWiden: boolean) =>
      revokeKey(fixture.services, { key: keyId }, { of: { account: ADA }, mayWiden })
    expect(await revoke(false)).toMatchObject({ kind: 'refused', reason: 'confirm_password' })
    expect((await open()).keyId).toBe(keyId)
    expect(await revoke(true)).toMatchObject({ kind: 'done' })
    expect((await open()).keyId).not.toBe(keyId)
  })

  it('is refused with its account', async () => {
    await open()
    await changeAccountStatus(fixture.services, 'ada@example.com', 'suspended')
    expect(await playgroundKey(fixture.services, { account: ADA, person: null }, 'wallet')).toEqual({
      kind: 'refused',
      reason: 'account-suspended',
    })
    expect(await playgroundKey(fixture.services, { account: BEN, person: null }, 'wallet')).toMatchObject({
      kind: 'caller',
    })
  })

  it('of kind builder is on the plan of its account, until that ends', async () => {
    expect((await open(ADA, 'builder')).plan).toBeUndefined()
    await fixture.ledger.assignPlan({ account: ADA, plan: 'basic', windows: [], endsAt: undefined })
    expect((await open(ADA, 'builder')).plan).toEqual({ id: 'basic', endsAt: undefined })
    expect((await open(ADA, 'wallet')).plan).toBeUndefined()
    await fixture.ledger.endPlan({ account: ADA })
    expect((await open(ADA, 'builder')).plan).toBeUndefined()
  })
})
