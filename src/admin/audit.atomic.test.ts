import { beforeEach, describe, expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import type { AccountRow } from '../model/ids.ts'
import { changeAccountStatus, createAccount } from './accounts.ts'
import { createCodes, redeemCode, withdrawCode } from './codes.ts'
import { changeKey, createKey, rotateKey } from './keys.ts'
import { creditWallet, requestFunding } from './wallet.ts'

const ADA = 1 as AccountRow
const account = 'ada@example.com'

const books = useTestLedger({ owners: ['ada'] })
let key: string
let code: { id: string; secret: string }

beforeEach(async () => {
  const made = await createKey(books.deps, { account, kind: 'wallet', name: 'ci' })
  const codes = await createCodes(books.deps, { amount: '5.00', count: 1, note: '' })
  if (made.kind === 'refused' || codes.kind === 'refused') throw new Error('nothing to act on')
  key = made.value.id
  const [first] = codes.value.items
  code = { id: first!.code.id, secret: first!.secret }
})

const TABLES = ['accounts', 'buckets', 'keys', 'codes', 'wishes', 'transfers', 'audit'] as const

/** All that the acts below could have changed. */
const everything = async () =>
  Object.fromEntries(
    await Promise.all(
      TABLES.map(async (table) => [table, await books.database.file.all(`SELECT * FROM ${table}`, [])] as const),
    ),
  )

const ACTS: Readonly<Record<string, () => Promise<unknown>>> = {
  'makes an account': () => createAccount(books.deps, { email: 'ben@example.com' }),
  'suspends an account': () => changeAccountStatus(books.deps, account, 'suspended'),
  'makes a key': () => createKey(books.deps, { account, kind: 'wallet', name: 'second' }),
  'changes a key': () => changeKey(books.deps, { key, name: 'new' }, { mayWiden: true }),
  'gives a key a new secret': () => rotateKey(books.deps, { key, grace: '1h' }),
  'makes codes': () => createCodes(books.deps, { amount: '1.00', count: 3, note: '' }),
  'withdraws a code': () => withdrawCode(books.deps, { code: code.id }),
  'redeems a code': () => redeemCode(books.deps, ADA, { code: code.secret }),
  'asks for funds': () => requestFunding(books.deps, ADA, { amount: '1.00', note: '' }),
  'moves money': () => creditWallet(books.deps, { account, amount: '1.00', reason: 'r', ref: '1' }),
}

describe('an act whose line cannot be written', () => {
  it.each(Object.entries(ACTS))('is not done: who %s', async (_, act) => {
    const file = books.database.file
    const full = `CREATE TRIGGER no_more BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`
    await file.atomic([{ sql: full, rows: [[]] }])
    const before = await everything()
    await expect(act()).rejects.toThrow(/the disk is full/)
    expect(await everything()).toEqual(before)
    await file.atomic([{ sql: 'DROP TRIGGER no_more', rows: [[]] }])
    expect(await act()).toMatchObject({ kind: 'done' })
    expect((await everything()).audit).toHaveLength(before.audit!.length + 1)
  })
})

describe('money that moves in a step of its own', () => {
  const order = { account, amount: '7.00', reason: 'June', ref: 'invoice 6' }
  const lines = async () => {
    const rows = await books.deps.db.selectFrom('audit').select(['action', 'detail']).orderBy('seq').execute()
    return rows.filter(({ action }) => /order/.test(action)).map(({ action, detail }) => `${action}: ${detail}`)
  }

  it('is in the trail before it moves, under the reference of the books, whatever dies in between', async () => {
    const died = new Promise<never>(() => {})
    void creditWallet({ ...books.deps, ledger: { ...books.deps.ledger, credit: () => died } }, order)
    await expect.poll(lines).toEqual(['wallet_ordered: 7.00 USD (invoice 6): June'])
  })

  it('is followed by a second line where the books could not take it, and counts when it is given again', async () => {
    const full = `CREATE TRIGGER no_more BEFORE INSERT ON transfers BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`
    await books.database.file.atomic([{ sql: full, rows: [[]] }])
    await expect(creditWallet(books.deps, order)).rejects.toThrow(/could not record/)
    expect(await lines()).toEqual([
      'wallet_ordered: 7.00 USD (invoice 6): June',
      'order_failed: The ledger could not record the change: look whether it is there, and give the order again if not: 7.00 USD (invoice 6): June',
    ])
    await books.database.file.atomic([{ sql: 'DROP TRIGGER no_more', rows: [[]] }])
    expect(await creditWallet(books.deps, order)).toMatchObject({ kind: 'done', value: { available: '7.00' } })
  })

  it('is followed by a second line where nothing moved', async () => {
    await creditWallet(books.deps, order)
    await creditWallet(books.deps, order)
    await creditWallet(books.deps, { ...order, amount: '8.00' })
    expect(await lines()).toEqual([
      'wallet_ordered: 7.00 USD (invoice 6): June',
      'wallet_ordered: 7.00 USD (invoice 6): June',
      'order_void: counted before: 7.00 USD (invoice 6): June',
      'wallet_ordered: 8.00 USD (invoice 6): June',
      'order_void: ref_taken: 8.00 USD (invoice 6): June',
    ])
  })
})
