import { beforeEach, describe, expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import { updateAccountStatus } from '../../test/fixtures/db/set-up.ts'
import { creditBody } from '../contract/operate.ts'
import { systemClock } from '../lib/clock.ts'
import type { AccountRow } from '../model/ids.ts'
import type { ActorLog } from './audit.ts'
import { createCodes, finishRedemptions, redeemCode, withdrawCode } from './codes.ts'
import { verifyLedger } from './ledger-maintenance.ts'
import { createRedeemTries } from './sign-in-limits.ts'
import { creditWallet } from './wallet.ts'

const DAY_MS = 86_400_000
const ADA = 1 as AccountRow
const BEN = 2 as AccountRow

let skippedMs: number

const start = systemClock.now()
const clock = { now: () => start + skippedMs, nowMicros: () => skippedMs * 1000 }
beforeEach(() => {
  skippedMs = 0
})
const fixture = useTestLedger({ clock, owners: ['ada', 'ben'] })

async function make(amount = '10.00', terms = {}) {
  const outcome = await createCodes(fixture.services, { amount, count: 1, note: 'for a friend', ...terms })
  if (outcome.kind === 'refused') throw new Error(outcome.message)
  return { text: outcome.value.items[0]!.secret, id: outcome.value.items[0]!.code.id }
}

const redeem = (code: string, account = ADA, services: Parameters<typeof redeemCode>[0] = fixture.services) =>
  redeemCode(services, account, { code })
const balance = async (account = ADA) => (await fixture.ledger.accountStatus(account)).balance
const credited = (amount: string) => ({
  kind: 'done',
  value: { amount, wallet: { balance: amount, held: '0.00', available: amount } },
})

const redemptions = () =>
  fixture.services.db
    .selectFrom('audit')
    .select(['actor', 'account', 'target', 'detail'])
    .where('action', '=', 'code_redeemed')
    .execute()

/** The ledger balances, and no account is frozen. */
async function expectSoundLedger() {
  expect(await verifyLedger(fixture.services)).toMatchObject({ value: { ok: true, frozen: [] } })
}

async function finish(): Promise<number> {
  const unfinished: string[] = []
  const finished = await finishRedemptions({ ...fixture.services, onUnfinished: (code) => unfinished.push(code) })
  expect(unfinished).toEqual([])
  return finished
}

describe('redeeming a code', () => {
  it('credits the exact amount, with its reason in the ledger', async () => {
    const { text, id } = await make('10.000000001')
    expect(await redeem(` ${text.toLowerCase().replaceAll('-', ' ')} `)).toEqual(credited('10.000000001'))
    expect(await fixture.services.db.selectFrom('transfers').select(['kind', 'ref', 'reason']).execute()).toEqual([
      { kind: 'credit', ref: `code:${id}`, reason: `Redeemed code ${text.slice(0, 8)}...${text.slice(-4)}` },
    ])
    await expectSoundLedger()
  })

  it('reports the time to its redeemer, and an unknown code to others', async () => {
    const [taken, expired, withdrawn] = [await make(), await make('1.00', { expires: '1h' }), await make()]
    await redeem(taken.text)
    await withdrawCode(fixture.services, { code: withdrawn.id })
    skippedMs = DAY_MS
    expect(await redeem(taken.text)).toMatchObject({ reason: 'code_redeemed', message: /already, on 20/ })
    const unknown = await redeem('MR-00000-00000-00000-00000-00000', BEN)
    expect(unknown).toMatchObject({ kind: 'refused', reason: 'code_not_found' })
    for (const { text } of [taken, expired, withdrawn]) expect(await redeem(text, BEN)).toEqual(unknown)
    expect([await balance(ADA), await balance(BEN)]).toEqual([10_000_000_000n, 0n])
  })

  it('is refused for suspended and closed accounts, and the code stays valid', async () => {
    const { text } = await make()
    for (const status of ['suspended', 'closed'] as const) {
      await updateAccountStatus(fixture.services.db, BEN, status)
      expect(await redeem(text, BEN)).toMatchObject({ reason: `account_${status}` })
    }
    expect(await redeem(text)).toEqual(credited('10.00'))
  })

  it('is refused for an account suspended at the same time, and the code stays valid', async () => {
    const { text } = await make()
    const auditLog: ActorLog = {
      ...fixture.services.auditLog,
      async act(act, statements) {
        await updateAccountStatus(fixture.services.db, BEN, 'suspended')
        return fixture.services.auditLog.act(act, statements)
      },
    }
    expect(await redeem(text, BEN, { ...fixture.services, auditLog })).toMatchObject({ reason: 'code_not_found' })
    expect(await redeem(text)).toEqual(credited('10.00'))
  })

  it('allows ten tries, then one every six minutes; valid and mistyped codes do not count', async () => {
    const wrong = 'MR-00000-00000-00000-00000-00000'
    for (let round = 0; round < 15; round++) expect((await redeem((await make('1.00')).text)).kind).toBe('done')
    for (let round = 0; round < 15; round++) expect(await redeem('MR-1')).toMatchObject({ reason: 'code_mistyped' })
    for (let round = 0; round < 10; round++) expect(await redeem(wrong)).toMatchObject({ reason: 'code_not_found' })
    const { text } = await make()
    expect(await redeem(text)).toMatchObject({ reason: 'too_many_tries', retryAfterSeconds: 360 })
    expect(await redeem(wrong, BEN)).toMatchObject({ reason: 'code_not_found' })
    skippedMs += 359_000
    expect(await redeem(text)).toMatchObject({ reason: 'too_many_tries', retryAfterSeconds: 1 })
    skippedMs += 1000
    expect(await redeem(text)).toMatchObject({ kind: 'done' })
  })

  it('refuses arbitrary text', async () => {
    for (const text of ['', '\0', 'x'.repeat(1_000_000), '💸'.repeat(20), "' OR 1=1 --"]) {
      expect(await redeem(text)).toMatchObject({ kind: 'refused', reason: 'code_mistyped' })
    }
  })

  it('stays reserved while the wallet is full, and is credited later', async () => {
    const account = 'ada@example.com'
    await creditWallet(fixture.services, { account, amount: '999999999', reason: 'much', ref: '1' })
    const { text, id } = await make('10.00')
    // Its own code is no guess: twelve tries leave it all ten.
    for (let round = 0; round < 12; round++) expect(await redeem(text)).toMatchObject({ reason: 'wallet_full' })
    expect(await redeem(text, BEN)).toMatchObject({ reason: 'code_not_found' })
    const unfinished: [string, unknown][] = []
    const onUnfinished = (code: string, reason: unknown) => unfinished.push([code, reason])
    expect(await finishRedemptions({ ...fixture.services, onUnfinished })).toBe(0)
    expect(unfinished).toEqual([[id, expect.stringContaining('cannot hold more')]])
    await fixture.ledger.credit({
      ...{ account: ADA, kind: 'refund', amount: -9_000_000_000n as never, reason: 'back', ref: '2' },
    })
    expect(await redeem(text)).toMatchObject({ kind: 'done', value: { amount: '10.00' } })
    await expectSoundLedger()
  })

  it('has references that operators cannot use', async () => {
    const { id } = await make()
    const order = { amount: '1', reason: 'x', ref: `code:${id}` }
    expect(creditBody.safeParse(order).success).toBe(false)
    expect(creditBody.safeParse({ ...order, ref: 'invoice 1' }).success).toBe(true)
  })
})

describe('concurrent redemptions of a code', () => {
  it('succeed for one of twenty tries, with one audit entry', async () => {
    const { text, id } = await make()
    const tries = () => ({ ...fixture.services, redeemTries: createRedeemTries(clock) })
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => redeem(text, index % 2 ? ADA : BEN, tries())),
    )
    const balances = [await balance(ADA), await balance(BEN)].sort()
    expect(balances).toEqual([0n, 10_000_000_000n])
    const winner = (await balance(ADA)) > 0n ? ADA : BEN
    // One try has moved the money; the others of its account report the earlier redemption.
    const results = outcomes.map((outcome, index) => [
      index % 2 ? ADA : BEN,
      outcome.kind === 'done' ? 'done' : outcome.reason,
    ])
    expect(results.filter(([, what]) => what === 'done')).toEqual([[winner, 'done']])
    expect(results.filter(([account, what]) => account === winner && what === 'code_redeemed')).toHaveLength(9)
    expect(results.filter(([account, what]) => account !== winner && what === 'code_not_found')).toHaveLength(10)
    expect(await redemptions()).toEqual([
      { actor: 'operator', account: winner, target: id, detail: expect.any(String) },
    ])
    await expectSoundLedger()
  })

  it('and withdrawals: one of them succeeds', async () => {
    for (let round = 0; round < 10; round++) {
      const before = await balance()
      const { text, id } = await make('1.00')
      const [redeemed, withdrawn] = await Promise.all([redeem(text), withdrawCode(fixture.services, { code: id })])
      expect([redeemed.kind, withdrawn.kind].sort()).toEqual(['done', 'refused'])
      expect((await balance()) - before).toBe(redeemed.kind === 'done' ? 1_000_000_000n : 0n)
    }
  })
})

describe('a crash while a code is redeemed', () => {
  const crash = new Error('the process is gone')
  const before: Pick<Parameters<typeof redeemCode>[0], 'ledger'> = { ledger: { credit: () => Promise.reject(crash) } }
  const after = (): Pick<Parameters<typeof redeemCode>[0], 'ledger'> => ({
    ledger: { credit: (order) => fixture.ledger.credit(order).then(() => Promise.reject(crash)) },
  })

  it.each([
    ['between claim and credit', () => before],
    ['between credit and the note of it', after],
  ])('%s: the next start completes it, once', async (_, broken) => {
    const { text } = await make()
    await expect(redeem(text, ADA, { ...fixture.services, ...broken() })).rejects.toBe(crash)
    await fixture.restart()
    expect([await finish(), await balance()]).toEqual([1, 10_000_000_000n])
    expect([await finish(), await balance()]).toEqual([0, 10_000_000_000n])
    expect(await redeem(text)).toMatchObject({ reason: 'code_redeemed' })
    expect(await redeem(text, BEN)).toMatchObject({ reason: 'code_not_found' })
    await expectSoundLedger()
  })

  it.each([
    ['between claim and credit', () => before, () => credited('10.00')],
    ['between credit and the note of it', after, () => expect.objectContaining({ reason: 'code_redeemed' })],
  ])('%s: the next try of the same account completes it, and others are refused', async (_, broken, expected) => {
    const { text } = await make()
    await expect(redeem(text, ADA, { ...fixture.services, ...broken() })).rejects.toBe(crash)
    expect(await redeem(text, BEN)).toMatchObject({ reason: 'code_not_found' })
    expect(await withdrawCode(fixture.services, { code: text })).toMatchObject({ reason: 'code_redeemed' })
    expect(await redeem(text)).toEqual(expected())
    expect(await redemptions()).toHaveLength(1)
    expect([await finish(), await balance(), await balance(BEN)]).toEqual([0, 10_000_000_000n, 0n])
    await expectSoundLedger()
  })

  it('or a lost batch loses no money', async () => {
    const { text } = await make()
    const fail = `CREATE TRIGGER no_more BEFORE INSERT ON transfers BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`
    await fixture.database.file.atomic([{ sql: fail, rows: [[]] }])
    await expect(redeem(text)).rejects.toThrow(/could not confirm/)
    await fixture.database.file.atomic([{ sql: 'DROP TRIGGER no_more', rows: [[]] }])
    expect(await redeem(text, BEN)).toMatchObject({ reason: 'code_not_found' })
    expect(await redeem(text)).toEqual(credited('10.00'))
    await expectSoundLedger()
  })

  it('does not block other redemptions', async () => {
    const [first, second] = [await make(), await make()]
    for (const { text } of [first, second]) {
      await expect(redeem(text, ADA, { ...fixture.services, ...before })).rejects.toBe(crash)
    }
    const unfinished: [string, unknown][] = []
    const ledger: Parameters<typeof redeemCode>[0]['ledger'] = {
      credit: (order) => (order.ref.endsWith(first.id) ? Promise.reject(crash) : fixture.ledger.credit(order)),
    }
    const onUnfinished = (code: string, reason: unknown) => unfinished.push([code, reason])
    // Another node may be about to credit them.
    expect(await finishRedemptions({ ...fixture.services, redeemedBefore: 0, onUnfinished })).toBe(0)
    expect(await finishRedemptions({ ...fixture.services, ledger, onUnfinished })).toBe(1)
    expect(unfinished).toEqual([[first.id, crash]])
    expect([await finish(), await balance()]).toEqual([1, 20_000_000_000n])
  })
})
