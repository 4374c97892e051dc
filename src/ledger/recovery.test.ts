import { describe, expect, it } from 'vitest'
import { limitOf } from '../../test/fixtures/ledger/contract-bench.ts'
import { HOLD, useLedger } from '../../test/fixtures/ledger/ledger.ts'
import { GIVEN_BACK, settlement } from '../../test/fixtures/model/ending.ts'
import { findReceipt } from '../db/receipts.ts'
import type { SqlValue } from '../db/sql-store.ts'

const bench = useLedger()

const HOLDS = /INSERT INTO receipts/
const ENDS = /UPDATE receipts/

const opensAgain = () => expect.poll(() => bench.ledger.gate.open, { timeout: 10_000 }).toBe(true)

/** A turn that no process attends, with delivered output. */
async function leaveOrphan() {
  const orphan = await bench.admit()
  orphan.mark(5)
  await orphan.durable
  orphan.detach()
  return orphan
}

describe('while the ledger is being read back', () => {
  it('the sweeper changes nothing, even if it had begun before, and counts only what became durable', async () => {
    await bench.credit(HOLD * 10n)
    const orphan = await leaveOrphan()

    const price = bench.holdQuery('prices')
    const sweep = bench.ledger.sweep()
    await price.asked
    bench.failWrites(HOLDS)
    const receipts = bench.holdQuery('receipts')
    expect(await (await bench.admit()).durable).toBe('lost')
    await receipts.asked
    price.letGo()
    expect(await sweep).toBe(0)
    expect(bench.recovered).toBe(0)
    expect(bench.ledger.openHolds, 'a state that is about to be replaced is left alone').toBe(2)

    receipts.letGo()
    await opensAgain()
    bench.failWrites(undefined)
    await bench.expectMemoryIsTheFile()
    expect(await findReceipt(bench.database.db, orphan.requestId)).toMatchObject({ state: 'open' })
    expect(await bench.ledger.sweep()).toBe(1)
    expect(await findReceipt(bench.database.db, orphan.requestId)).toMatchObject({ state: 'settled', output: 5 })
    await bench.expectMemoryIsTheFile()
    await bench.expectBalancedLedger()
  })

  it('the sweeper does not touch a state that was read back while it looked up a price', async () => {
    await bench.credit(HOLD * 10n)
    await leaveOrphan()
    const price = bench.holdQuery('prices')
    const sweep = bench.ledger.sweep()
    await price.asked
    bench.failWrites(HOLDS)
    expect(await (await bench.admit()).durable).toBe('lost')
    await opensAgain()
    bench.failWrites(undefined)
    price.letGo()
    expect(await sweep).toBe(1)
    await bench.expectMemoryIsTheFile()
    await bench.expectBalancedLedger()
  })

  it('a recovery that was lost is not counted, keeps its progress, and is done again', async () => {
    await bench.credit(HOLD * 10n)
    const orphan = await bench.admit()
    orphan.mark(7)
    await orphan.durable
    orphan.detach()
    bench.failWrites(ENDS)
    expect(await bench.ledger.sweep()).toBe(0)
    expect(bench.recovered).toBe(0)
    bench.failWrites(undefined)
    await opensAgain()
    expect(await bench.ledger.sweep()).toBe(1)
    expect(await findReceipt(bench.database.db, orphan.requestId)).toMatchObject({ output: 7 })
    await bench.expectBalancedLedger()
  })

  it('a charge that was lost is tried again once the ledger can be written, although the turn is over', async () => {
    await bench.credit(HOLD * 10n)
    const turn = await bench.admit()
    await turn.durable
    bench.failWrites(/UPDATE receipts|INTO meta/)
    const settled = turn.settle(settlement(1000n))
    await expect.poll(() => bench.failures.length).toBeGreaterThan(1)
    turn.detach()
    bench.failWrites(undefined)
    expect(await settled).toMatchObject({ kind: 'settled', charge: 1000n })
    await bench.expectMemoryIsTheFile()
    await bench.expectBalancedLedger()
  })

  it('a turn settles after its state was read back, and keeps its newer mark in memory', async () => {
    await bench.credit(HOLD * 10n)
    const turn = await bench.admit()
    await turn.durable
    turn.mark(3)
    await expect.poll(async () => (await bench.database.file.all('SELECT * FROM marks', [])).length).toBe(1)
    bench.failWrites(/INTO marks/)
    turn.mark(9)
    await expect.poll(() => bench.failures.length).toBeGreaterThan(0)
    bench.failWrites(undefined)
    await opensAgain()
    turn.detach()
    expect(await bench.ledger.sweep()).toBe(1)
    expect(await findReceipt(bench.database.db, turn.requestId)).toMatchObject({ output: 9 })
  })
})

it('a place under a limit that was taken by a hold which was lost is free again, and one of a turn that runs is not', async () => {
  await bench.credit(HOLD * 10n)
  const limits = [limitOf('concurrent', 2)]
  const running = await bench.admit({ limits })
  await running.durable
  bench.failWrites(HOLDS)
  expect(await (await bench.admit({ limits })).durable).toBe('lost')
  bench.failWrites(undefined)
  await opensAgain()
  expect((await bench.admit({ limits })).kind).toBe('admitted')
  expect(await bench.ledger.admit(bench.request({ limits }))).toMatchObject({ refusal: { kind: 'limited' } })
})

describe('what is counted on an account', () => {
  it('goes on behind what was recorded, when a credit and a charge were decided and lost', async () => {
    await bench.credit(HOLD * 10n)
    const turn = await bench.admit()
    await turn.durable
    bench.failWrites(/INTO transfers/)
    const [lost, settled] = [bench.credit(5n, 'lost'), turn.settle(settlement(1000n))]
    await expect(lost).rejects.toThrow()
    expect(await settled).toMatchObject({ kind: 'settled', charge: 1000n })
    bench.failWrites(undefined)
    await opensAgain()
    await bench.credit(7n, 'later')
    const rows = await bench.database.file.all(
      `SELECT movement, balance_nano FROM receipts WHERE movement IS NOT NULL
        UNION ALL SELECT movement, balance_nano FROM transfers ORDER BY movement`,
      [],
    )
    const [first, charged] = [HOLD * 10n, HOLD * 10n - 1000n]
    expect(rows.map(({ movement, balance_nano }) => [movement, balance_nano])).toEqual([
      [1, first],
      [2, charged],
      [3, charged + 7n],
    ])
    await bench.expectMemoryIsTheFile()
    await bench.expectBalancedLedger()
  })
})

describe('a full disk', () => {
  it('stays closed until a write has become durable, and opens by itself then', async () => {
    await bench.credit(HOLD * 1000n)
    const before = await bench.admit()
    await before.durable
    const pragma = async (text: string) => Number(Object.values((await bench.database.file.all(text, []))[0]!)[0])
    await pragma(`PRAGMA max_page_count = ${await pragma('PRAGMA page_count')}`)
    // Rows find room in the pages that are there until these are full.
    let lost = 0
    for (let tries = 0; tries < 500 && lost === 0; tries++) {
      const turn = await bench.admit({ requestId: `req_${tries}_${'x'.repeat(2000)}` as never })
      if ((await turn.durable) === 'lost') lost++
      else await turn.settle(GIVEN_BACK)
    }
    expect(lost).toBe(1)
    // The first failure, then those of the probe: reading works all the while.
    await expect.poll(() => bench.failures.length, { timeout: 5000 }).toBeGreaterThanOrEqual(3)
    expect(bench.ledger.gate.open).toBe(false)
    expect(await bench.ledger.admit(bench.request())).toMatchObject({ refusal: { kind: 'unavailable' } })

    await pragma('PRAGMA max_page_count = 1000000')
    await opensAgain()
    expect((await before.settle(settlement(1000n))).kind).toBe('settled')
    expect(await (await bench.admit()).durable).toBe('durable')
    await bench.expectMemoryIsTheFile()
    await bench.expectBalancedLedger()
  })

  /** The next write reaches the file, but its answer does not come back. */
  function loseNextAnswer() {
    const { file } = bench.database
    const { atomic } = file
    file.atomic = async (statements) => {
      file.atomic = atomic
      await atomic(statements)
      throw new Error('no answer')
    }
  }

  it.each([
    ['settled', 'in a batch of its own'],
    ['released', 'in a batch of its own'],
    ['settled', 'in the batch of its hold'],
    ['released', 'in the batch of its hold'],
  ] as const)('a turn whose end had reached the file after all reports %s, and not lost: %s', async (state, batch) => {
    await bench.credit(HOLD * 10n)
    const turn = await bench.admit()
    if (batch === 'in a batch of its own') await turn.durable
    loseNextAnswer()
    if (state === 'released') expect(await turn.settle(GIVEN_BACK)).toEqual({ kind: 'released' })
    else {
      const settled = await turn.settle(settlement(HOLD + 7n))
      expect(settled).toEqual({ kind: 'settled', charge: HOLD, shortfall: 7n, tier: 0 })
    }
    expect(bench.failures).toHaveLength(1)
    expect(await findReceipt(bench.database.db, turn.requestId)).toMatchObject({ state })
    await bench.expectMemoryIsTheFile()
    await bench.expectBalancedLedger()
  })

  it('a turn whose hold was taken for lost charges nothing, although the hold had reached the file', async () => {
    await bench.credit(HOLD * 10n)
    loseNextAnswer()
    const turn = await bench.admit()
    expect(await turn.durable).toBe('lost')
    await opensAgain()
    expect(await turn.settle(settlement(1000n))).toEqual({ kind: 'lost' })
    turn.detach()
    await bench.ledger.sweep()
    expect(await findReceipt(bench.database.db, turn.requestId)).toMatchObject({ state: 'released', charge_nano: 0n })
    await bench.expectBalancedLedger()
  })

  it('a turn that was ended by another caller does not report that end as its own', async () => {
    await bench.credit(HOLD * 10n)
    const turn = await bench.admit()
    await turn.durable
    const { file } = bench.database
    const { atomic } = file
    const byRecovery = (value: SqlValue) => (value === 'completed' ? 'recovered' : value)
    file.atomic = async (statements) => {
      file.atomic = atomic
      await atomic(statements.map((each) => ({ ...each, rows: each.rows.map((row) => row.map(byRecovery)) })))
      throw new Error('no answer')
    }
    expect(await turn.settle(settlement(1000n))).toEqual({ kind: 'not-ours' })
  })
})

describe('an account that the file refused and that cannot be read again', () => {
  it('makes the ledger read its whole state back, so that no operation continues on a state that the file does not have', async () => {
    await bench.credit(HOLD * 10n)
    const before = await bench.admit()
    await before.durable
    await bench.run(`UPDATE buckets SET posted_nano = ${HOLD} WHERE account = ${bench.account}`)
    bench.failWrites(/UPDATE accounts SET frozen_at/)
    const doomed = await bench.admit({ clientCap: 10 })
    const durable = doomed.durable
    expect(await durable).toBe('refused')
    expect(await bench.ledger.admit(bench.request()), 'not on a state that is ahead of the file').not.toMatchObject({
      kind: 'admitted',
    })
    await expect.poll(() => bench.failures.length).toBeGreaterThanOrEqual(2)
    await opensAgain()
    await bench.expectMemoryIsTheFile()
    expect((await before.settle(settlement(1000n))).kind).toBe('settled')
    expect(await doomed.settle(settlement(1000n))).toEqual({ kind: 'lost' })
    expect((await bench.ledger.accountStatus(bench.account)).balance).toBe(HOLD - 1000n)
    await bench.expectMemoryIsTheFile()
  })
})
