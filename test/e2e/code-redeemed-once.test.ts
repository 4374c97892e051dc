import { describe, expect, it } from 'vitest'
import { listOwnKeys } from '../../src/admin/keys.ts'
import { playgroundKey } from '../../src/admin/playground.ts'
import { requestFunding } from '../../src/admin/wallet.ts'
import { chat } from '../support/send-chat.ts'
import { openAccount, rowOf } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

describe('a credit code', () => {
  const server = useServer()

  it('credits the first account that redeems it, and requests draw on it', async () => {
    const [first, second] = [await openAccount(server(), { credit: '0' }), await openAccount(server(), { credit: '0' })]
    const { items } = await server().operate('codes.create', { amount: '2.00', count: 2, note: 'in May' })
    const [code, other] = items
    expect((await chat(server(), first)).status).toBe(402)
    await server().operate('codes.redeem', { account: first.id, code: code!.secret })
    expect(await server().attempt('codes.redeem', { account: second.id, code: code!.secret })).toMatchObject({
      reason: 'code_not_found',
    })
    expect((await chat(server(), first)).status).toBe(200)
    expect((await chat(server(), second)).status).toBe(402)
    await server().operate('codes.withdraw', { code: other!.code.id })
    const listed = await server().operate('codes.list', { limit: 2 })
    expect(listed.items.map(({ state, redeemed_by }) => [state, redeemed_by])).toEqual([
      ['withdrawn', null],
      ['redeemed', first.id],
    ])
    expect(await server().operate('db.verify', {})).toMatchObject({ ok: true })
  })

  it('is one way to get funds; a funding request is the other', async () => {
    const account = await openAccount(server(), { credit: '0' })
    const { operations } = server().app
    const row = await rowOf(server(), account.id)
    await requestFunding(operations, row, { amount: '3.00', note: 'please' })
    expect((await server().operate('wallet.wishes', {})).items).toMatchObject([{ account: account.id, amount: '3.00' }])
    await server().operate('wallet.credit', { account: account.id, amount: '3.00', reason: 'asked', ref: 'wish' })
    expect(await server().operate('wallet.wishes', {})).toEqual({ items: [], next: null })
  })

  it('pays for playground requests like any other', async () => {
    const account = await openAccount(server())
    const { operations } = server().app
    const row = await rowOf(server(), account.id)
    const made = await Promise.all(
      [1, 2].map(() => playgroundKey(operations, { account: row, person: null }, 'wallet')),
    )
    expect(made[0]).toMatchObject({ kind: 'caller', caller: { accountId: account.id, keyName: 'Playground' } })
    expect(made[1]).toEqual(made[0])
    const listed = await listOwnKeys(
      { ...operations, lastUsed: async () => new Map() },
      { account: row },
      {
        limit: 9,
        after: undefined,
      },
    )
    expect(listed).toMatchObject({ kind: 'done', value: { items: [{ name: 'Playground', playground: true }, {}] } })
  })
})
