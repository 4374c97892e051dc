import { expect, it } from 'vitest'
import { ADA, doneValue, useSpending } from '../../test/fixtures/admin/spending.ts'
import { expectStatementsByDay } from '../../test/fixtures/admin/statement-by-day.ts'
import { statementQuery } from '../contract/owner.ts'
import { walletStatement } from './statement.ts'

const SEED = Number(process.env.STATEMENT_SEED ?? Date.now() % 1_000_000)
const RANGES = Number(process.env.STATEMENT_RANGES ?? 20)
const bench = useSpending()

it(`a statement by day is the sum of its movements, in any range and zone (seed ${SEED})`, async () => {
  const { db, file } = bench.database
  const files = { kind: 'sqlite', db, file, content: file } as const
  const lines = await expectStatementsByDay(files, { seed: SEED, receipts: 2000, ranges: RANGES })
  expect(lines).toBeGreaterThan(RANGES)
})

it('a day is cut where funds were added in it, and a day that cost nothing is left out', async () => {
  const services = { db: bench.database.db }
  const byDay = async (query: object = {}) =>
    doneValue(await walletStatement(services, ADA, statementQuery.parse({ by: 'day', ...query })))
  await bench.credit(ADA, 2n * 10n ** 9n, 'first')
  await bench.spend(ADA, [10, 20])
  await bench.spend(ADA, undefined)
  await bench.credit(ADA, 10n ** 9n, 'second')
  await bench.spend(ADA, [10, 20])
  bench.at += 86_400_000
  await bench.spend(ADA, undefined)
  const { items, next } = await byDay()
  expect(next).toBeNull()
  expect(items.map(({ kind, ref, requests }) => [kind, ref, requests])).toEqual([
    ['charges', '2026-10-01', 1],
    ['credit', 'second', null],
    ['charges', '2026-10-01', 2],
    ['credit', 'first', null],
  ])
  const { balance } = await bench.ledger.accountStatus(ADA)
  expect(items[0]!.balance).toBe(
    `${balance / 10n ** 9n}.${String(balance % 10n ** 9n)
      .padStart(9, '0')
      .replace(/0+$/, '')}`,
  )
  expect((await byDay({ kind: 'charge' })).items.map(({ requests }) => requests)).toEqual([1, 2])
  expect((await byDay({ kind: 'credit' })).items.map(({ ref }) => ref)).toEqual(['second', 'first'])
  expect(await walletStatement(services, ADA, { by: 'day', zone: 'Mars/Olympus', limit: 5 })).toMatchObject({
    reason: 'invalid_range',
  })
})
