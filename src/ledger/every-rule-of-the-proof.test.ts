import { beforeEach, expect, it } from 'vitest'
import { SIDES } from '../books/sides.ts'
import { GIVEN_BACK, settlement } from '../model/ending.fixture.ts'
import { insertAccount } from '../store/set-up.fixture.ts'
import { HOLD, useLedger } from './ledger.fixture.ts'
import { verifyBooks } from './verify-books.ts'

const bench = useLedger()

/** Row 1 is a charge, row 2 was given back, row 3 is open; bucket 3 is the wallet of all of them, and 4 somebody else's. */
beforeEach(async () => {
  await bench.credit(HOLD * 10n)
  await (await bench.admit()).settle(settlement(7n))
  await (await bench.admit()).settle(GIVEN_BACK)
  await (await bench.admit()).durable
  await insertAccount(bench.database.file, { id: 'acct_other', email: 'other@example.com', createdAt: 1 })
  await bench.expectCleanBooks()
  // Somebody who edits the file has no rules of the file in their way.
  for (const trigger of ['closed_receipts_are_final', 'entries_are_final']) await bench.run(`DROP TRIGGER ${trigger}`)
  await bench.database.file.all('PRAGMA ignore_check_constraints = 1', [])
})

const checks = async () => (await verifyBooks({ db: bench.database.db })).report.checks

/** A change by hand that breaks the rule. */
const BROKEN_BY: readonly (readonly [rule: string, sql: string])[] = [
  ['a charge is within its hold', 'UPDATE receipts SET charge_nano = hold_nano + 1 WHERE row = 1'],
  ['a charge is within its hold', 'UPDATE receipts SET charge_nano = -1 WHERE row = 1'],
  ['cost is charge plus shortfall', 'UPDATE receipts SET cost_nano = cost_nano + 1 WHERE row = 1'],
  ['what was released cost nothing', 'UPDATE receipts SET charge_nano = 1 WHERE row = 2'],
  ['entries of a charge sum to zero', `UPDATE receipts SET buckets = '[4000]' WHERE row = 1`],
  ['a receipt names a recorded price', 'UPDATE receipts SET price_version = 9 WHERE row = 2'],
  ['a receipt stands on a bucket of its account', `UPDATE receipts SET buckets = '[4]' WHERE row = 2`],
  [
    'a wallet key draws on the wallet, a builder key on windows, and neither on both',
    `UPDATE receipts SET buckets = '[]' WHERE row = 2`,
  ],
  [
    'a wallet key draws on the wallet, a builder key on windows, and neither on both',
    `UPDATE receipts SET kind = 'builder', movement = 1 WHERE row = 2`,
  ],
  ['a receipt stands on a bucket once', `UPDATE receipts SET buckets = '[3,3]' WHERE row = 2`],
  ['entries of a transfer sum to zero', 'UPDATE entries SET delta_nano = delta_nano + 1 WHERE seq = 1'],
  ['a transfer has the entries of its amount', 'UPDATE entries SET delta_nano = 2 * delta_nano'],
  ['a transfer stays within its unit', `UPDATE entries SET bucket = ${SIDES.quota.issued} WHERE seq = 1`],
  ['movements of an account are numbered without a gap', 'UPDATE receipts SET movement = 9 WHERE row = 2'],
  // The number of the charge, in the index of another kind.
  [
    'movements of an account are numbered without a gap',
    `UPDATE receipts SET kind = 'builder', movement = 2, balance_nano = NULL WHERE row = 2`,
  ],
  ['a balance is the one before and what moved', 'UPDATE receipts SET balance_nano = 1 WHERE row = 2'],
  ['posted is the sum of entries', 'UPDATE buckets SET posted_nano = posted_nano + 1 WHERE row = 3'],
  ['balances of a unit sum to zero', 'UPDATE buckets SET posted_nano = posted_nano + 1 WHERE row = 3'],
  ['revenue is what was charged', `UPDATE buckets SET posted_nano = 8 WHERE row = ${SIDES.usd.used}`],
  ['held is the sum of open holds', 'UPDATE buckets SET held_nano = held_nano + 1 WHERE row = 3'],
  ['no account is overdrawn (the other sides may be)', 'UPDATE buckets SET posted_nano = 1 WHERE row = 3'],
]

it.each(BROKEN_BY)('%s: or the proof says so (%s)', async (rule, sql) => {
  await bench.run(sql)
  expect((await checks()).filter(({ violations }) => violations > 0).map(({ name }) => name)).toContain(rule)
})

it('has a change by hand here for each of its rules', async () => {
  const rules = (await checks()).map(({ name }) => name)
  expect(new Set(BROKEN_BY.map(([rule]) => rule))).toEqual(new Set(rules))
})
