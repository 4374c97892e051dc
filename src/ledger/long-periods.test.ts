import { type CompiledQuery, Kysely, type LogEvent } from 'kysely'
import { expect, it } from 'vitest'
import { HOLD, useLedger } from '../../test/fixtures/ledger/ledger.ts'
import { quotaOf } from '../../test/fixtures/model/allowance.ts'
import { settlement } from '../../test/fixtures/model/ending.ts'
import { createStoreDialect } from '../db/kysely-dialect.ts'
import type { SqlValue } from '../db/sql-store.ts'
import type { LedgerDb, LedgerTables } from '../db/tables.ts'
import { allowancesOfCaps } from '../model/allowance.ts'
import type { KeyRow } from '../model/ids.ts'
import { capsOfRun } from '../model/run.ts'
import { verifyLedgerState } from './verify.ts'

const bench = useLedger()

const HOUR_MS = 3_600_000
const windows = [
  quotaOf('5h', { kind: 'anchored', ms: 5 * HOUR_MS }, HOLD * 900n),
  quotaOf('month', { kind: 'month', day: 'billing' }, HOLD * 9000n),
]
const ofPlan = { kind: 'builder', plan: 'builder' } as const
const caps = (key: number) => allowancesOfCaps(key as KeyRow, { day: HOLD * 900n, month: HOLD * 9000n })

const whole = () => bench.ledger.audit({ whole: true })
const since = () => bench.ledger.audit({ whole: false })
const sums = () => bench.database.file.all('SELECT subject, used_nano, movement FROM proved_sums ORDER BY subject', [])
const broken = async (audit: ReturnType<typeof whole>) =>
  (await audit).checks.filter(({ violations }) => violations > 0).map(({ name }) => name)

/** More than one statement looks through, under two caps of a key, and on two windows. */
async function use(times: number, cost: bigint): Promise<void> {
  for (let n = 0; n < times; n++) {
    const key = (1 + (n % 3)) as KeyRow
    const allowances = n % 2 === 0 ? caps(key) : [...windows, ...caps(key)]
    await (await bench.admit({ key, ...(n % 2 === 0 ? {} : ofPlan), allowances })).settle(settlement(cost))
  }
}

it('periods with many receipts are added up in slices, and the next proof goes on from there', async () => {
  await bench.credit(HOLD * 1000n)
  await bench.ledger.assignPlan({ account: bench.account, plan: 'builder', windows, endsAt: undefined })
  // Somewhere in a month, so that the periods of both caps began at other times.
  bench.clock.aheadMs = Date.UTC(2030, 4, 10, 12) - Date.now()
  await use(90, 3n)
  bench.clock.aheadMs += 24 * HOUR_MS
  await use(150, 5n)
  expect(await whole()).toMatchObject({ ok: true, receipts: 240 })
  const proved = await sums()
  expect(proved.map(({ used_nano }) => used_nano).sort()).toEqual(
    [...Array(3).fill(250n), ...Array(3).fill(250n + 90n), 375n, 375n + 135n].sort(),
  )
  expect(await since(), 'nothing is behind them').toMatchObject({ ok: true, receipts: 0 })
  await use(9, 7n)
  expect(await since()).toMatchObject({ ok: true, receipts: 9 })
  expect(await sums(), 'a few are added up again, and not kept').toEqual(proved)

  await bench.run(`UPDATE spend_counters SET spent_nano = spent_nano + 1 WHERE subject = 'cap:2:month'`)
  expect(await broken(since())).toEqual(['a spend cap has counted what was charged'])
  await bench.run(`UPDATE spend_counters SET spent_nano = spent_nano - 1 WHERE subject = 'cap:2:month'`)
  await bench.run(`UPDATE buckets SET posted_nano = posted_nano + 1 WHERE subject = 'window:5h' AND closed_at IS NULL`)
  expect(await broken(whole())).toEqual(['posted is the sum of entries'])
})

it('no statement of a proof reads a whole table, or sorts one', async () => {
  await bench.credit(HOLD * 1000n)
  await bench.ledger.assignPlan({ account: bench.account, plan: 'builder', windows, endsAt: undefined })
  await use(80, 3n)
  const queries: CompiledQuery[] = []
  const log = (event: LogEvent) => void queries.push(event.query)
  const { file } = bench.database
  const db: LedgerDb = new Kysely<LedgerTables>({ dialect: createStoreDialect(file), log })
  const { proved } = await verifyLedgerState({ db })
  await verifyLedgerState({ db, since: proved })
  const steps = new Set<string>()
  for (const { sql, parameters } of queries) {
    for (const { detail } of await file.all(`EXPLAIN QUERY PLAN ${sql}`, parameters as SqlValue[]))
      steps.add(String(detail))
  }
  expect(queries.length).toBeGreaterThan(15)
  const searched = [...steps].filter((step) => /SCAN|AUTOMATIC|FOR ORDER BY/.test(step))
  expect(searched.filter((step) => !BOUNDED.some((bounded) => bounded.test(step)))).toEqual([])
})

/** One slice, the few steps of a search, the last movement of each kind, the list in one receipt, and what runs. */
const BOUNDED = [
  /^SCAN (slice|halved|CONSTANT ROW|\(subquery-\d+\))$/,
  /^SCAN (held_on|json_each|marked) VIRTUAL TABLE INDEX/,
  // The caps that are asked for.
  /^SEARCH counted USING AUTOMATIC COVERING INDEX \(name=\?\)$/,
  /^SCAN clock_corrections USING COVERING INDEX/,
  /^SCAN receipts USING (COVERING )?INDEX open_receipts$/,
]

it('the caps of many keys of one account are proved in one reading of its receipts', async () => {
  await bench.credit(HOLD * 1000n)
  const costOf = async () => {
    const queries: CompiledQuery[] = []
    const log = (event: LogEvent) => void queries.push(event.query)
    const db: LedgerDb = new Kysely<LedgerTables>({ dialect: createStoreDialect(bench.database.file), log })
    expect((await verifyLedgerState({ db })).report).toMatchObject({ ok: true })
    const caps = queries.filter(({ sql }) => sql.includes('counted'))
    return {
      statements: caps.length,
      letters: caps.reduce((sum, { parameters }) => sum + String(parameters).length, 0),
    }
  }
  // Many keys have begun their periods on days of their own.
  const useKeys = async (first: number, count: number) => {
    for (let key = first; key < first + count; key++) {
      if (key % 10 === 0) bench.clock.aheadMs += 24 * HOUR_MS
      await (await bench.admit({ key: key as KeyRow, allowances: caps(key) })).settle(settlement(3n))
    }
  }
  await useKeys(1, 300)
  const once = await costOf()
  await useKeys(301, 900)
  const fourTimes = await costOf()
  console.info(`300 keys: ${JSON.stringify(once)}; 1,200 keys: ${JSON.stringify(fourTimes)}`)
  expect(once.statements).toBeGreaterThan(1)
  expect(fourTimes.statements).toBeLessThanOrEqual(5 * once.statements)
  expect(fourTimes.letters).toBeLessThanOrEqual(5 * once.letters)
})

it('a new run is proved from its first receipt, not from the first of the account', async () => {
  await bench.credit(HOLD * 1000n)
  const end = Date.UTC(2099, 0)
  const inRun = async (run: number) =>
    (await bench.admit({ allowances: capsOfRun(run, end, { total: HOLD * 9n, requests: 99n }) })).settle(settlement(2n))
  for (let n = 0; n < 100; n++) await (await bench.admit({ allowances: [] })).settle(settlement(3n))
  bench.clock.aheadMs += HOUR_MS / 2
  for (let n = 0; n < 40; n++) await inRun(1 + (n % 2))
  const pages: number[] = []
  const log = ({ query: { sql, parameters } }: LogEvent) => {
    if (!sql.includes('counted')) return
    const asked = JSON.parse(parameters.find((each) => String(each).startsWith('[['))! as string) as number[][]
    pages.push(...asked.map(([, , after]) => after!))
  }
  const db: LedgerDb = new Kysely<LedgerTables>({ dialect: createStoreDialect(bench.database.file), log })
  expect((await verifyLedgerState({ db })).report).toMatchObject({ ok: true })
  expect(pages.length).toBeGreaterThan(3)
  expect(Math.min(...pages)).toBeGreaterThanOrEqual(100)
  await bench.run(`UPDATE spend_counters SET spent_nano = spent_nano + 1 WHERE subject = 'cap:run:2:requests'`)
  expect(await broken(whole())).toEqual(['a spend cap has counted what was charged'])
})

it('a window that was closed is proved too, by the receipts up to its end', async () => {
  await bench.credit(HOLD * 1000n)
  await bench.ledger.assignPlan({ account: bench.account, plan: 'builder', windows, endsAt: undefined })
  await use(100, 3n)
  bench.clock.aheadMs = 6 * HOUR_MS
  await use(100, 5n)
  expect(await whole()).toMatchObject({ ok: true })
  await bench.run('DROP TRIGGER closed_receipts_are_final')
  await bench.run('UPDATE receipts SET charge_nano = 4, cost_nano = 4 WHERE row = 2')
  expect(await broken(whole())).toContain('posted is the sum of entries')
})

it('a cap from when it was a bucket goes on from what it had counted', async () => {
  await bench.credit(HOLD * 1000n)
  const [day] = caps(1)
  for (let n = 0; n < 40; n++) await (await bench.admit({ allowances: [day!] })).settle(settlement(2n))
  await bench.run('DROP TRIGGER closed_receipts_are_final')
  const start = `(SELECT period_start FROM spend_counters)`
  await bench.run(`INSERT INTO buckets (row, unit, kind, account, subject, period_start, period_end, closed_at)
    VALUES (1000000000, 'cap', 'cap', ${bench.account}, 'cap:1:day', ${start}, ${start} + 86400000, ${start} + 86400000)`)
  await bench.run(`UPDATE receipts SET buckets = '[3,1000000000]', caps = NULL WHERE row <= 39`)
  await bench.run('UPDATE spend_counters SET carried_nano = 78')
  expect(await whole()).toMatchObject({ ok: true })
  await bench.run('UPDATE spend_counters SET spent_nano = spent_nano - 2')
  expect(await broken(whole())).toEqual(['a spend cap has counted what was charged'])
})
