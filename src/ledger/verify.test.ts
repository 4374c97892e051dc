import { Kysely } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { HOLD, useLedger } from '../../test/fixtures/ledger/ledger.ts'
import { GIVEN_BACK, settlement } from '../../test/fixtures/model/ending.ts'
import { createStoreDialect } from '../db/kysely-dialect.ts'
import type { SqliteFile } from '../db/sqlite/worker-messages.ts'
import type { LedgerTables } from '../db/tables.ts'
import { SIDES } from './state/state.ts'
import { verifyLedgerState } from './verify.ts'

const bench = useLedger()

beforeEach(async () => {
  await bench.credit(HOLD * 10n)
  for (const cost of [7n, HOLD + 5n]) await (await bench.admit()).settle(settlement(cost))
  await (await bench.admit()).settle(GIVEN_BACK)
  await (await bench.admit()).durable
})

const rowsOf = (sql: string) => bench.database.file.all(sql, [])
const broken = async () =>
  (await verifyLedgerState({ db: bench.database.db })).report.checks
    .filter(({ violations }) => violations > 0)
    .map(({ name }) => name)

describe('the ledger of usage', () => {
  it('have two entries for each charge: out of the wallet, into revenue', async () => {
    const entries = await rowsOf('SELECT receipt, bucket, delta_nano FROM usage_entries ORDER BY receipt, bucket DESC')
    expect(entries).toEqual([
      { receipt: 1, bucket: 3, delta_nano: -7n },
      { receipt: 1, bucket: SIDES.usd.used, delta_nano: 7n },
      { receipt: 2, bucket: 3, delta_nano: -HOLD },
      { receipt: 2, bucket: SIDES.usd.used, delta_nano: HOLD },
    ])
  })

  it('keep the balances of the wallet and of the outside world; the other sides are sums', async () => {
    const balances = await rowsOf('SELECT row, posted_nano FROM buckets WHERE posted_nano <> 0 ORDER BY row')
    expect(balances).toEqual([
      { row: SIDES.usd.issued, posted_nano: -HOLD * 10n },
      { row: 3, posted_nano: HOLD * 9n - 7n },
    ])
    expect((await verifyLedgerState({ db: bench.database.db })).report.sums).toEqual({
      usd: { issued: `${HOLD * 10n}`, used: `${HOLD + 7n}` },
      quota: { issued: '0', used: '0', expired: '0' },
    })
  })
})

describe('verify of a ledger in use', () => {
  it('agrees while turns are opened, settled and credited', async () => {
    await bench.credit(HOLD * 100n, 'more')
    const open = [await bench.admit(), await bench.admit()]
    await Promise.all(open.map((turn) => turn.durable))
    const { file } = bench.database
    let queries = 0
    let rowsMost = 0
    const busy: SqliteFile = {
      driver: file.driver,
      atomic: (statements) => file.atomic(statements),
      atomicEach: (groups) => file.atomicEach(groups),
      close: () => file.close(),
      async all(text, parameters) {
        try {
          const rows = await file.all(text, parameters)
          rowsMost = Math.max(rowsMost, rows.length)
          return rows as never
        } finally {
          queries++
          await open.pop()?.settle(settlement(9n))
          await bench.credit(5n, `during ${queries}`)
          await (await bench.admit()).durable
        }
      },
    }
    const db = new Kysely<LedgerTables>({ dialect: createStoreDialect(busy) })
    expect((await verifyLedgerState({ db })).report).toMatchObject({ ok: true, accounts: 1, receipts: 6, transfers: 2 })
    expect(queries).toBeGreaterThanOrEqual(6)
    expect(rowsMost, 'rows of one answer').toBeLessThan(10)
    await bench.expectBalancedLedger()
  })

  it('reads them in slices, and misses none', async () => {
    await bench.run(`WITH RECURSIVE n (row) AS (SELECT 100 UNION ALL SELECT row + 1 FROM n WHERE row < 6500)
      INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, hold_nano, output_cap,
        output_bound, input_estimate, opened_at, cost_nano, charge_nano, shortfall_nano,
        movement, balance_nano)
      SELECT row, 'req_' || row, 1, 1, 'wallet', 'released', 'demo', 1, '[3]', 5, 1, 1, 1, 1, 0, 0, 0,
        row - 95, ${HOLD * 9n - 7n} FROM n`)
    expect((await verifyLedgerState({ db: bench.database.db })).report).toMatchObject({ ok: true, receipts: 6405 })
    // Far behind the others, as where rows were lost: what is not there costs nothing.
    await bench.run('DROP TRIGGER closed_receipts_are_final')
    await bench.run('UPDATE receipts SET row = 9000000000000 WHERE row = 6500')
    expect((await verifyLedgerState({ db: bench.database.db })).report).toMatchObject({ ok: true, receipts: 6405 })
    for (const row of [100, 1000, 1001, 4000, 9000000000000]) {
      await bench.run(`UPDATE receipts SET cost_nano = 1 WHERE row = ${row}`)
      expect(await broken(), `row ${row}`).toEqual(['cost is charge plus shortfall'])
      await bench.run(`UPDATE receipts SET cost_nano = 0 WHERE row = ${row}`)
    }
  })
})

describe('verify finds', () => {
  const tamper = async (sql: string) => {
    await bench.run('DROP TRIGGER closed_receipts_are_final')
    await bench.run(sql)
  }

  it('a balance that was changed by hand, on either side', async () => {
    for (const [bucket, rule] of [
      [SIDES.usd.issued, 'the issued balance equals all credits less refunds'],
      [3, 'posted is the sum of entries'],
    ] as const) {
      await bench.run(`UPDATE buckets SET posted_nano = posted_nano + 1 WHERE row = ${bucket}`)
      expect(await broken()).toEqual([rule])
      await bench.run(`UPDATE buckets SET posted_nano = posted_nano - 1 WHERE row = ${bucket}`)
      await bench.expectBalancedLedger()
    }
  })

  it('a charge that has no other side, or two of one', async () => {
    await tamper(`UPDATE receipts SET buckets = '[3,3]' WHERE row = 1`)
    expect(await broken()).toContain('a receipt stands on a bucket once')
    await bench.run(`UPDATE receipts SET buckets = '[3]', kind = 'builder' WHERE row = 1`)
    expect(await broken()).toContain('a wallet key draws on the wallet, a builder key on windows, and neither on both')
  })

  it('a charge that was changed by hand', async () => {
    await tamper('UPDATE receipts SET charge_nano = 6, cost_nano = 6 WHERE row = 1')
    expect(await broken()).toEqual(['a balance is the one before and what moved'])
  })

  const GAP = 'movements of an account are numbered without a gap'
  const BALANCE = 'a balance is the one before and what moved'

  it('a movement without a number, one that is missing, and one that is there twice, also in another table', async () => {
    await tamper('UPDATE receipts SET movement = NULL WHERE row = 2')
    expect(await broken()).toContain(GAP)
    await bench.run('UPDATE receipts SET movement = 5 WHERE row = 2')
    expect(await broken()).toContain(GAP)
    await bench.run("UPDATE receipts SET kind = 'builder', movement = 4, balance_nano = NULL WHERE row = 2")
    expect(await broken()).toContain(GAP)
    await bench.run(`UPDATE receipts SET kind = 'wallet', movement = 3, balance_nano = ${HOLD * 9n - 7n} WHERE row = 2`)
    await bench.expectBalancedLedger()
    await bench.run('UPDATE transfers SET movement = 2')
    expect(await broken()).toContain(GAP)
    await bench.run('UPDATE transfers SET movement = NULL')
    expect(await broken()).toContain(GAP)
  })

  it('a balance that does not follow from the one before, of a charge or of a credit', async () => {
    await tamper('UPDATE receipts SET balance_nano = balance_nano + 1 WHERE row = 3')
    expect(await broken()).toEqual([BALANCE, 'posted is the sum of entries'])
    await bench.run('UPDATE receipts SET balance_nano = NULL WHERE row = 3')
    expect(await broken()).toEqual([BALANCE, 'posted is the sum of entries'])
    await bench.run(`UPDATE receipts SET balance_nano = ${HOLD * 9n - 7n} WHERE row = 3`)
    await bench.expectBalancedLedger()
    await bench.run('UPDATE transfers SET balance_nano = balance_nano - 1')
    expect(await broken()).toEqual([BALANCE])
  })

  it('the account whose numbers do not add up, and no other, in what is new since the last proof', async () => {
    await bench.ledger.audit({ whole: true })
    await (await bench.admit()).settle(settlement(9n))
    await tamper('UPDATE receipts SET movement = movement + 1 WHERE row = 5')
    expect(await bench.ledger.audit({ whole: false })).toMatchObject({ ok: false, suspects: [bench.account] })
  })

  it('a hold that no balance knows', async () => {
    await bench.run('UPDATE buckets SET held_nano = held_nano - 1 WHERE row = 3')
    expect(await broken()).toEqual(['held is the sum of open holds'])
  })
})
