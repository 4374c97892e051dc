import { inspect } from 'node:util'
import { beforeEach, describe, expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import { findKeyById } from '../db/keys.ts'
import { systemClock } from '../lib/clock.ts'
import type { AccountRow } from '../model/ids.ts'
import { type CreatedKey, changeKey, createKey, revokeKey, rotateKey } from './keys.ts'

const HOUR_MS = 3_600_000
const ADA = 1 as AccountRow
const BEN = 2 as AccountRow

let skippedMs: number
let made: CreatedKey

const start = systemClock.now()
beforeEach(() => {
  skippedMs = 0
})
const fixture = useTestLedger({
  clock: { now: () => start + skippedMs, nowMicros: systemClock.nowMicros },
  owners: ['ada', 'ben'],
})

beforeEach(async () => {
  const terms = { caps: { day: '5.00' }, limits: { concurrent: 3 }, models: ['demo'] }
  const outcome = await createKey(fixture.services, {
    account: 'ada@example.com',
    kind: 'wallet',
    name: 'ci',
    ...terms,
  })
  if (outcome.kind === 'refused') throw new Error(outcome.message)
  made = outcome.value
})

async function rotate(grace: string): Promise<CreatedKey> {
  const outcome = await rotateKey(fixture.services, { key: made.id, grace })
  if (outcome.kind === 'refused') throw new Error(outcome.message)
  return outcome.value
}

const emitted = async (token: string) => {
  const outcome = await fixture.callers.find(token)
  return outcome.kind === 'caller' ? outcome.caller.keyId : outcome.reason
}

describe('rotating a key', () => {
  it('replaces the secret and keeps everything else', async () => {
    const rotated = await rotate('0')
    const { key, shown, former, ...rest } = rotated
    const { key: before, shown: shownBefore, former: none, ...restBefore } = made
    expect(rest).toEqual(restBefore)
    expect([key === before, shown === shownBefore, former, none]).toEqual([false, false, null, null])
    const outcome = await fixture.callers.find(key)
    expect(outcome).toMatchObject({ caller: { keyId: made.id, key: 1, models: ['demo'], limits: { concurrent: 3 } } })
  })

  it('ends the former secret at once without a grace period, also in the cache', async () => {
    expect(await emitted(made.key)).toBe(made.id)
    const { key } = await rotate('0')
    expect(await emitted(made.key)).toBe('unknown')
    expect(await emitted(key)).toBe(made.id)
  })

  it('accepts both secrets until the exact end of the grace period', async () => {
    await emitted(made.key)
    const { key, former } = await rotate('24h')
    expect(former).toEqual({ shown: made.shown, until: expect.stringMatching(/^20/) })
    skippedMs = 24 * HOUR_MS - 1
    expect([await emitted(made.key), await emitted(key)]).toEqual([made.id, made.id])
    skippedMs += 1
    expect([await emitted(made.key), await emitted(key)]).toEqual(['unknown', made.id])
  })

  it('again ends the secret before the last one', async () => {
    const second = await rotate('7d')
    const third = await rotate('1h')
    expect([await emitted(made.key), await emitted(second.key), await emitted(third.key)]).toEqual([
      'unknown',
      made.id,
      made.id,
    ])
    expect(third.former?.shown).toBe(second.shown)
    const fourth = await rotate('0')
    expect([await emitted(second.key), await emitted(third.key), await emitted(fourth.key)]).toEqual([
      ...['unknown', 'unknown', made.id],
    ])
  })

  it('gives one secret to two concurrent requests', async () => {
    const outcomes = await Promise.all(
      ['1h', '1h', '1h'].map((grace) => rotateKey(fixture.services, { key: made.id, grace })),
    )
    const won = outcomes.flatMap((outcome) => (outcome.kind === 'done' ? [outcome.value.key] : []))
    expect(won).toHaveLength(1)
    expect(outcomes.filter((outcome) => outcome.kind === 'refused' && outcome.reason === 'key_changed')).toHaveLength(2)
    expect([await emitted(made.key), await emitted(won[0]!)]).toEqual([made.id, made.id])
  })

  it('is undone by revoking, and refused for revoked keys', async () => {
    const { key } = await rotate('24h')
    const revoked = await revokeKey(fixture.services, { key: made.id })
    expect(revoked).toMatchObject({ value: { former: null } })
    expect([await emitted(made.key), await emitted(key)]).toEqual(['revoked', 'revoked'])
    const before = await findKeyById(fixture.database.db, made.id)
    expect(await rotateKey(fixture.services, { key: made.id, grace: '1h' })).toMatchObject({ reason: 'key_revoked' })
    expect(await findKeyById(fixture.database.db, made.id), 'and nothing of it has changed').toEqual(before)
    skippedMs = 25 * HOUR_MS
    expect(await emitted(made.key)).toBe('unknown')
  })

  it('keeps a disabled key disabled under either secret', async () => {
    await changeKey(fixture.services, { key: made.id, disabled: true })
    const { key, state } = await rotate('1h')
    expect([state, await emitted(made.key), await emitted(key)]).toEqual(['disabled', 'disabled', 'disabled'])
  })

  it.each(['', '31d', '-1h', '1y', '1.5h', '24', 'forever', '2099-01-01', '99999999999h'])(
    'takes %j for no grace',
    async (grace) => {
      expect(await rotateKey(fixture.services, { key: made.id, grace })).toMatchObject({ reason: 'invalid_grace' })
      expect(await emitted(made.key)).toBe(made.id)
    },
  )

  it('is refused for keys of other accounts', async () => {
    const asBen = async (key: string) => {
      const outcome = await rotateKey(fixture.services, { key, grace: '0' }, { account: BEN })
      return outcome.kind === 'refused' ? { ...outcome, message: outcome.message.replace(key, 'KEY') } : outcome
    }
    expect(await asBen(made.id)).toEqual(await asBen(made.id.replace(/.$/, '~')))
    expect(await asBen(made.id)).toMatchObject({ reason: 'key_not_found' })
    expect(await emitted(made.key)).toBe(made.id)
    expect(await rotateKey(fixture.services, { key: made.id, grace: '0' }, { account: ADA })).toMatchObject({
      kind: 'done',
    })
  })

  it('stores no secret, former or current', async () => {
    const { key } = await rotate('24h')
    const dump = inspect(await fixture.services.db.selectFrom('keys').selectAll().execute())
    expect(dump, 'what is there can be seen').toContain(made.id)
    for (const secret of [key, made.key]) expect(dump).not.toContain(secret.slice(14, 40))
  })
})
