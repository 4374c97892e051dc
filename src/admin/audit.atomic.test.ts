import { beforeEach, describe, expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import type { AccountRow } from '../model/ids.ts'
import { changeAccountStatus, createAccount } from './accounts.ts'
import { createCodes, redeemCode, withdrawCode } from './codes.ts'
import { changeKey, createKey, rotateKey } from './keys.ts'
import { creditWallet, requestFunding } from './wallet.ts'

const ADA = 1 as AccountRow
const account = 'ada@example.com'

const fixture = useTestLedger({ owners: ['ada'] })
let key: string
let code: { id: string; secret: string }

beforeEach(async () => {
  const made = await createKey(fixture.services, { account, kind: 'wallet', name: 'ci' })
  const codes = await createCodes(fixture.services, { amount: '5.00', count: 1, note: '' })
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
      TABLES.map(async (table) => [table, await fixture.database.file.all(`SELECT * FROM ${table}`, [])] as const),
    ),
  )

const ACTS: Readonly<Record<string, () => Promise<unknown>>> = {
  'makes an account': () => createAccount(fixture.services, { email: 'ben@example.com' }),
  'suspends an account': () => changeAccountStatus(fixture.services, account, 'suspended'),
  'makes a key': () => createKey(fixture.services, { account, kind: 'wallet', name: 'second' }),
  'changes a key': () => changeKey(fixture.services, { key, name: 'new' }, { mayWiden: true }),
  'gives a key a new secret': () => rotateKey(fixture.services, { key, grace: '1h' }),
  'makes codes': () => createCodes(fixture.services, { amount: '1.00', count: 3, note: '' }),
  'withdraws a code': () => withdrawCode(fixture.services, { code: code.id }),
  'redeems a code': () => redeemCode(fixture.services, ADA, { code: code.secret }),
  'asks for funds': () => requestFunding(fixture.services, ADA, { amount: '1.00', note: '' }),
  'moves money': () => creditWallet(fixture.services, { account, amount: '1.00', reason: 'r', ref: '1' }),
}

describe('an action whose audit entry cannot be written', () => {
  it.each(Object.entries(ACTS))('is not performed: %s', async (_, act) => {
    const file = fixture.database.file
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

describe('an order to the ledger', () => {
  const order = { account, amount: '7.00', reason: 'June', ref: 'invoice 6' }
  const lines = async () => {
    const rows = await fixture.services.db.selectFrom('audit').select(['action', 'detail']).orderBy('seq').execute()
    return rows.filter(({ action }) => /order/.test(action)).map(({ action, detail }) => `${action}: ${detail}`)
  }

  it('is in the audit log before it runs, with the reference of the ledger, even after a crash', async () => {
    const died = new Promise<never>(() => {})
    void creditWallet({ ...fixture.services, ledger: { ...fixture.services.ledger, credit: () => died } }, order)
    await expect.poll(lines).toEqual(['wallet_ordered: 7.00 USD (invoice 6): June'])
  })

  it('gets a second entry when the ledger fails, and counts when it is repeated', async () => {
    const full = `CREATE TRIGGER no_more BEFORE INSERT ON transfers BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`
    await fixture.database.file.atomic([{ sql: full, rows: [[]] }])
    await expect(creditWallet(fixture.services, order)).rejects.toThrow(/could not confirm/)
    expect(await lines()).toEqual([
      'wallet_ordered: 7.00 USD (invoice 6): June',
      'order_failed: The ledger could not confirm the change. Check whether it was applied; if not, repeat the command: 7.00 USD (invoice 6): June',
    ])
    await fixture.database.file.atomic([{ sql: 'DROP TRIGGER no_more', rows: [[]] }])
    expect(await creditWallet(fixture.services, order)).toMatchObject({ kind: 'done', value: { available: '7.00' } })
  })

  it('gets a second entry when nothing moved', async () => {
    await creditWallet(fixture.services, order)
    await creditWallet(fixture.services, order)
    await creditWallet(fixture.services, { ...order, amount: '8.00' })
    expect(await lines()).toEqual([
      'wallet_ordered: 7.00 USD (invoice 6): June',
      'wallet_ordered: 7.00 USD (invoice 6): June',
      'order_void: counted before: 7.00 USD (invoice 6): June',
      'wallet_ordered: 8.00 USD (invoice 6): June',
      'order_void: ref_taken: 8.00 USD (invoice 6): June',
    ])
  })
})
