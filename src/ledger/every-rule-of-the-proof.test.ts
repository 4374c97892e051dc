import { beforeEach, expect, it } from 'vitest'
import { insertAccount } from '../../test/fixtures/db/set-up.ts'
import { HOLD, useLedger } from '../../test/fixtures/ledger/ledger.ts'
import { quotaOf } from '../../test/fixtures/model/allowance.ts'
import { GIVEN_BACK, settlement } from '../../test/fixtures/model/ending.ts'
import { allowancesOfCaps } from '../model/allowance.ts'
import type { KeyRow } from '../model/ids.ts'
import { SIDES } from './state/state.ts'
import { verifyLedgerState } from './verify.ts'

const bench = useLedger()

const WINDOW = 1_000_000_000
const windows = [quotaOf('month', { kind: 'month', day: 'billing' }, HOLD * 9n)]
const caps = allowancesOfCaps(1 as KeyRow, { day: HOLD * 9n, month: HOLD * 9n })

/**
 * Row 1 is a charge, row 2 was given back, row 3 is open; bucket 3 is the wallet of all of them, and 4 is that of another account. A
 * plan pays rows 4 and 5, of which one is open, and rows 6 and 7 count against the caps of their key.
 */
beforeEach(async () => {
  await bench.credit(HOLD * 10n)
  await (await bench.admit()).settle(settlement(7n))
  await (await bench.admit()).settle(GIVEN_BACK)
  await (await bench.admit()).durable
  await bench.ledger.assignPlan({ account: bench.account, plan: 'builder', windows, endsAt: undefined })
  const ofPlan = { kind: 'builder', plan: 'builder', allowances: windows } as const
  await (await bench.admit(ofPlan)).settle(settlement(5n))
  await (await bench.admit(ofPlan)).durable
  await (await bench.admit({ allowances: caps })).settle(settlement(3n))
  await (await bench.admit({ allowances: caps })).durable
  await insertAccount(bench.database.file, { id: 'acct_other', email: 'other@example.com', createdAt: 1 })
  await bench.expectBalancedLedger()
  // Editing the file directly bypasses its constraints.
  for (const trigger of ['closed_receipts_are_final', 'entries_are_final']) await bench.run(`DROP TRIGGER ${trigger}`)
  await bench.database.file.all('PRAGMA ignore_check_constraints = 1', [])
})

const checks = async () => (await verifyLedgerState({ db: bench.database.db })).report.checks

/** A change by hand that breaks the rule. */
const BROKEN_BY: readonly (readonly [rule: string, sql: string])[] = [
  ['a charge is within its hold', 'UPDATE receipts SET charge_nano = hold_nano + 1 WHERE row = 1'],
  ['a charge is within its hold', 'UPDATE receipts SET charge_nano = -1 WHERE row = 1'],
  ['cost is charge plus shortfall', 'UPDATE receipts SET cost_nano = cost_nano + 1 WHERE row = 1'],
  ['what was released cost nothing', 'UPDATE receipts SET charge_nano = 1 WHERE row = 2'],
  ['a receipt names a recorded price', 'UPDATE receipts SET price_version = 9 WHERE row = 2'],
  ['a receipt stands on a bucket of its account', `UPDATE receipts SET buckets = '[4]' WHERE row = 2`],
  ['a receipt stands on a bucket of its account', `UPDATE receipts SET buckets = '[4000]' WHERE row = 1`],
  ['a receipt stands on a bucket of its account', `UPDATE buckets SET closed_at = 1 WHERE row = ${WINDOW}`],
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
  ['a transfer has the entries of its amount', 'INSERT INTO entries VALUES (1, 2, 3, 0)'],
  ['a transfer stays within its unit', `UPDATE entries SET bucket = ${SIDES.quota.issued} WHERE seq = 1`],
  ['a transfer stays within its unit', `UPDATE entries SET bucket = ${SIDES.usd.used} WHERE seq = 1`],
  ['a transfer moves a bucket of its account, before that is closed', 'UPDATE entries SET bucket = 4 WHERE bucket = 3'],
  [
    'a transfer moves a bucket of its account, before that is closed',
    `UPDATE buckets SET closed_at = 1 WHERE row = ${WINDOW}`,
  ],
  ['movements of an account are numbered without a gap', 'UPDATE receipts SET movement = 19 WHERE row = 2'],
  // The number of the charge, in the index of another kind.
  [
    'movements of an account are numbered without a gap',
    `UPDATE receipts SET kind = 'builder', movement = 2, balance_nano = NULL WHERE row = 2`,
  ],
  ['a balance is the one before and what moved', 'UPDATE receipts SET balance_nano = 1 WHERE row = 2'],
  ['posted is the sum of entries', 'UPDATE buckets SET posted_nano = posted_nano + 1 WHERE row = 3'],
  ['posted is the sum of entries', `UPDATE buckets SET posted_nano = posted_nano - 1 WHERE row = ${WINDOW}`],
  ['posted is the sum of entries', 'UPDATE receipts SET charge_nano = 4, cost_nano = 4 WHERE row = 4'],
  [
    'the issued balance equals all credits less refunds',
    `UPDATE buckets SET posted_nano = posted_nano + 1 WHERE row = ${SIDES.usd.issued}`,
  ],
  ['held is the sum of open holds', 'UPDATE buckets SET held_nano = held_nano + 1 WHERE row = 3'],
  ['held is the sum of open holds', `UPDATE buckets SET held_nano = held_nano - 1 WHERE row = ${WINDOW}`],
  ['no account is overdrawn (the other sides may be)', 'UPDATE buckets SET posted_nano = 1 WHERE row = 3'],
  ['a spend cap has counted what was charged', `UPDATE spend_counters SET spent_nano = 2 WHERE subject = 'cap:1:day'`],
  ['a spend cap has counted what was charged', 'UPDATE receipts SET charge_nano = 2, cost_nano = 2 WHERE row = 6'],
  ['a spend cap has counted what was charged', `UPDATE receipts SET caps = 'day' WHERE row = 6`],
  ['a spend cap counts the open holds', `UPDATE spend_counters SET held_nano = 0 WHERE subject = 'cap:1:month'`],
  [
    'what a spend cap has counted is within its bound',
    `UPDATE spend_counters SET bound_nano = 1 WHERE subject = 'cap:1:month'`,
  ],
]

it.each(BROKEN_BY)('%s: or the proof says so (%s)', async (rule, sql) => {
  await bench.run(sql)
  expect((await checks()).filter(({ violations }) => violations > 0).map(({ name }) => name)).toContain(rule)
})

it('has a change by hand here for each of its rules', async () => {
  const rules = (await checks()).map(({ name }) => name)
  expect(new Set(BROKEN_BY.map(([rule]) => rule))).toEqual(new Set(rules))
})
