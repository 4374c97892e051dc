import { beforeEach, describe, expect, it } from 'vitest'
import { useOperatorLedger } from '../../test/fixtures/admin/operations.ts'

const { must, refusal, run } = useOperatorLedger()

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

  it('takes money out again as a refund or an adjustment, never more than is there, once a reference of their kind', async () => {
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
    expect(await refusal('wallet.refund', { ...refund, amount: '1.00' })).toMatchObject({ reason: 'ref_taken' })
    const sameRef = { ...adjust, ref: 'back-1', direction: 'add' } as const
    expect(await must('wallet.adjust', sameRef)).toMatchObject({ balance: '11.00', repeated: false })
    const { items: entries } = await must('wallet.entries', { account: credit().account })
    expect(entries.map(({ kind, amount }) => `${kind} ${amount}`)).toEqual([
      'adjustment 1.00',
      'adjustment -1.00',
      'adjustment 1.00',
      'refund -2.50',
      'credit 12.50',
    ])
  })

  it('holds a billion dollars, and all of them together what a row can hold', async () => {
    const billion = '1000000000'
    expect(await refusal('wallet.credit', credit({ amount: '1000000000.01' }))).toMatchObject({
      reason: 'invalid_amount',
      message: 'One wallet holds at most 1000000000.00 USD. Nothing was added.',
    })
    await must('wallet.credit', credit({ amount: billion }))
    for (const name of ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']) {
      await must('accounts.create', { email: `${name}@example.com` })
      const last = credit({ account: `${name}@example.com`, amount: billion })
      if (name !== 'j') await must('wallet.credit', last)
      else
        expect(await refusal('wallet.credit', last)).toMatchObject({
          reason: 'invalid_amount',
          message: 'All wallets and earnings together hold at most 9000000000.00 USD. Nothing was added.',
        })
    }
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
