import { describe, expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import { updateAccountStatus } from '../../test/fixtures/db/set-up.ts'
import { accountFundingRequest } from '../contract/operate.ts'
import { requestFundingBody } from '../contract/owner.ts'
import { pageOf } from '../contract/values.ts'
import type { AccountRow } from '../model/ids.ts'
import { createCodes, redeemCode } from './codes.ts'
import {
  adjustWallet,
  creditWallet,
  listFundingRequests,
  openFundingRequest,
  refundWallet,
  requestFunding,
} from './wallet.ts'

const ADA = 1 as AccountRow
const BEN = 2 as AccountRow
const TEN = { account: 'ada@example.com', amount: '10.00', reason: 'paid' }

const fixture = useTestLedger({ owners: ['ada', 'ben', 'cyd'] })

const ask = (account = ADA, amount = '20.00', note = '') => requestFunding(fixture.services, account, { amount, note })

async function list(args: { after?: string; limit: number } = { limit: 10 }) {
  const outcome = await listFundingRequests(fixture.services, args)
  if (outcome.kind === 'refused') throw new Error(outcome.message)
  return pageOf(accountFundingRequest).parse(outcome.value)
}

describe('asking for funds', () => {
  it('is seen by the operator and by who asked', async () => {
    const request = { amount: '20.00', note: 'for the workshop', at: expect.stringMatching(/^20/) }
    expect(await ask(ADA, '20.00', 'for the workshop')).toEqual({ kind: 'done', value: request })
    expect(await openFundingRequest(fixture.services, ADA)).toEqual(request)
    expect(await openFundingRequest(fixture.services, BEN)).toBeNull()
    expect(await list()).toMatchObject({ items: [{ email: 'ada@example.com', ...request }], next: null })
  })

  it('replaces the open request, also concurrently', async () => {
    await ask(ADA, '20.00', 'first')
    await ask(BEN)
    await Promise.all([ask(ADA, '30.00', 'again'), ask(ADA, '30.00', 'again')])
    const { items } = await list()
    expect(items.map(({ email, amount, note }) => [email, amount, note])).toEqual([
      ['ada@example.com', '30.00', 'again'],
      ['ben@example.com', '20.00', ''],
    ])
  })

  it('is answered by a credit of the operator, in the same commit, and may be done again after it', async () => {
    await ask(ADA)
    await ask(BEN)
    await creditWallet(fixture.services, { ...TEN, ref: '1' })
    expect([await openFundingRequest(fixture.services, ADA), (await list()).items.length]).toEqual([null, 1])
    const [{ answered_at }, { at }] = [
      await fixture.services.db.selectFrom('wishes').selectAll().where('account', '=', ADA).executeTakeFirstOrThrow(),
      await fixture.services.db.selectFrom('transfers').selectAll().executeTakeFirstOrThrow(),
    ]
    expect(answered_at).toBe(at)
    await ask(ADA, '5.00')
    // The same order once more, after a lost answer, is no second credit and so no answer.
    await creditWallet(fixture.services, { ...TEN, ref: '1' })
    expect(await openFundingRequest(fixture.services, ADA)).toMatchObject({ amount: '5.00' })
  })

  it('is not answered by anything else that moves the wallet', async () => {
    await creditWallet(fixture.services, { ...TEN, ref: '1' })
    await ask(ADA)
    await refundWallet(fixture.services, { ...TEN, amount: '1.00', ref: '2' })
    await adjustWallet(fixture.services, { ...TEN, amount: '1.00', ref: '3', direction: 'add' })
    const codes = await createCodes(fixture.services, { amount: '1.00', count: 1, note: '' })
    const code = codes.kind === 'done' ? codes.value.items[0]!.secret : ''
    expect(await redeemCode(fixture.services, ADA, { code })).toMatchObject({ kind: 'done' })
    await fixture.ledger.assignPlan({ account: ADA, plan: 'basic', windows: [], endsAt: undefined })
    expect(await openFundingRequest(fixture.services, ADA)).toMatchObject({ amount: '20.00' })
  })

  it('comes page by page, and a page whose end was answered meanwhile can still be turned', async () => {
    for (const account of [ADA, BEN, 3 as AccountRow]) await ask(account)
    const first = await list({ limit: 1 })
    await creditWallet(fixture.services, { ...TEN, ref: '1' })
    const second = await list({ limit: 1, after: first.next! })
    const third = await list({ limit: 1, after: second.next! })
    expect([first, second, third].flatMap(({ items }) => items.map(({ email }) => email[0]))).toEqual(['a', 'b', 'c'])
    expect(third.next).toBeNull()
    for (const after of ['-1', 'X', '1 OR 1', '1.9', '9'.repeat(30)]) {
      expect(await listFundingRequests(fixture.services, { after, limit: 1 })).toMatchObject({
        reason: 'invalid_cursor',
      })
    }
  })

  it.each(['0', '-1', '1e3', '', 'much', '1000000.01'])('asks for no %j', async (amount) => {
    expect(await ask(ADA, amount)).toMatchObject({ kind: 'refused', reason: 'invalid_amount' })
    expect(await openFundingRequest(fixture.services, ADA)).toBeNull()
  })

  it('is one line of words, and not for closed accounts', async () => {
    // The operator reads it in a terminal, which obeys control characters.
    for (const note of ['a\nb', '\u0007', '\u001b[2J', '\u009b2J', 'x'.repeat(501)]) {
      expect(requestFundingBody.safeParse({ amount: '1', note }).success).toBe(false)
    }
    expect(requestFundingBody.safeParse({ amount: '1', note: '' }).success).toBe(true)
    expect(requestFundingBody.parse({ amount: '1', note: '  please  ' })).toEqual({ amount: '1', note: 'please' })
    await updateAccountStatus(fixture.services.db, ADA, 'closed')
    expect(await ask()).toMatchObject({ reason: 'account_closed' })
  })
})
