import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type BenchAccount, openUsageBench, type UsageBench } from '../../test/fixtures/admin/usage-bench.ts'
import { findCountedUpTo } from '../db/content/usage-totals.ts'
import type { SqlStore } from '../db/sql-store.ts'
import { createUsageKeeper, type UsageKeeper } from './count-usage.ts'

let bench: UsageBench
let ada: BenchAccount
let keeper: UsageKeeper
let writes: number
let whenWriting: () => void
const failures: unknown[] = []
const INTERVAL_MS = 500

beforeEach(async () => {
  bench = await openUsageBench(Date.UTC(2026, 10, 22))
  ada = await bench.addAccount('ada@example.com')
  // The bench has a keeper of its own, which is not asked here.
  await bench.keeper.close()
  writes = 0
  whenWriting = () => {}
  failures.length = 0
  const content: SqlStore = {
    ...bench.content,
    atomic(statements) {
      writes += 1
      whenWriting()
      return bench.content.atomic(statements)
    },
  }
  keeper = createUsageKeeper({
    ...{ db: bench.database.db, content, clock: bench.clock, intervalMs: INTERVAL_MS },
    onFailure: (error) => failures.push(error),
  })
})
afterEach(async () => {
  vi.useRealTimers()
  await keeper.close()
  await bench.close()
})

const ask = () =>
  bench.ask({
    ...{ account: ada, key: ada.keys[0]!, model: 'demo', outcome: 'completed' },
    ...{ tokens: [1, 0, 0, 1, 0], cost: 5n },
  })
const noteAda = () => keeper.noteAccount(ada.row)

/** Until everything has been done that needs no timer. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) {
    await bench.content.all('SELECT 1 AS one', [])
    await bench.database.file.all('SELECT 1 AS one', [])
  }
}

it('counts once per interval, however much is noted meanwhile', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  await ask()
  whenWriting = noteAda
  noteAda()
  noteAda()
  await settled()
  expect(writes).toBe(0)
  vi.advanceTimersByTime(INTERVAL_MS)
  await settled()
  expect(writes).toBe(1)
  await ask()
  await settled()
  expect(writes).toBe(1)
  vi.advanceTimersByTime(INTERVAL_MS)
  await settled()
  expect(writes).toBe(2)
})

it('retries failed writes with growing delays, and answers with the counted totals', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  await ask()
  bench.failing = 2
  noteAda()
  for (const wait of [1, 2]) {
    vi.advanceTimersByTime(INTERVAL_MS * wait)
    await settled()
    expect(failures).toHaveLength(wait)
  }
  vi.advanceTimersByTime(INTERVAL_MS * 2)
  await settled()
  expect(writes).toBe(2)
  bench.failing = 1
  expect(await keeper.readUpToDate(ada.row, async (asOf) => asOf)).toBe(0)
  expect(await keeper.readUpToDate(ada.row, async (asOf) => asOf)).toBe(bench.clock.at)
  vi.advanceTimersByTime(INTERVAL_MS * 4)
  await settled()
  expect(await findCountedUpTo(bench.content, [ada.id])).toEqual(
    new Map([[ada.id, { movement: expect.any(Number), closedAt: bench.clock.at }]]),
  )
})

const countedTo = async (account: BenchAccount = ada) =>
  (await findCountedUpTo(bench.content, [account.id])).get(account.id)?.movement

it('reads consistently while others read and count', async () => {
  await ask()
  const moments: (number | undefined)[][] = []
  let begun = () => {}
  let goOn = () => {}
  const isReading = new Promise<void>((resolve) => {
    begun = resolve
  })
  const mayGoOn = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const slow = keeper.readUpToDate(ada.row, async () => {
    const first = await countedTo()
    begun()
    await mayGoOn
    return moments[moments.push([first, await countedTo()]) - 1]
  })
  await isReading
  await ask()
  const meanwhile = await keeper.readUpToDate(ada.row, () => countedTo())
  goOn()
  expect(await slow).toEqual([meanwhile, meanwhile])
  expect(moments, 'more was counted between its two questions').toEqual([
    [meanwhile! - 1, meanwhile],
    [meanwhile, meanwhile],
  ])
})

it('completes a read although every read is interrupted', async () => {
  await ask()
  let reads = 0
  const answer = await keeper.readUpToDate(ada.row, async () => {
    const first = await countedTo()
    reads += 1
    if (reads > 5) throw new Error('read for ever')
    await ask()
    const counted = keeper.readUpToDate(ada.row, () => countedTo())
    // Behind this one, once it is read with nothing counted meanwhile.
    if (reads < 4) await counted
    else void counted
    return [first, await countedTo()]
  })
  expect(reads).toBe(4)
  expect(answer[0]).toBe(answer[1])
})

it('deletes totals of another ledger account by account', async () => {
  const ben = await bench.addAccount('ben@example.com')
  await bench.restart(() => bench.copyLedger('ledger.copy'))
  const foreign = { model: 'demo', outcome: 'completed', tokens: [1, 0, 0, 1, 0], cost: 5n } as const
  for (const account of [ada, ben]) await bench.ask({ ...foreign, account, key: account.keys[0]! })
  await bench.keeper.catchUp()
  await bench.restart(() => bench.putBackLedger('ledger.copy'))
  expect(await Promise.all([countedTo(ada), countedTo(ben)])).toEqual([expect.any(Number), expect.any(Number)])
  expect(await bench.keeper.readUpToDate(ada.row, () => countedTo(ada))).toBeUndefined()
  expect(await countedTo(ben)).toBeDefined()
  await bench.keeper.catchUp()
  expect(await countedTo(ben)).toBeUndefined()
})

it('counts nothing after it is closed', async () => {
  await ask()
  await keeper.close()
  noteAda()
  await expect(keeper.readUpToDate(ada.row, async () => 1)).rejects.toThrow(/not counted any more/)
  await keeper.catchUp()
  expect(writes).toBe(0)
})

/** As many more as one slice has, each a second behind the one before. */
const copyNewestReceipt = async (times: number): Promise<void> => {
  const { file } = bench.database
  const columns = (await file.all("SELECT name FROM pragma_table_info('receipts')", [])).map(({ name }) => String(name))
  const changed: Readonly<Record<string, string>> = {
    ...{ row: 'row + n', request_id: 'request_id || n', movement: 'movement + n', closed_at: 'closed_at + n * 1000' },
  }
  const sql = `INSERT INTO receipts (${columns.join()}) WITH RECURSIVE counted (n) AS
    (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${times})
    SELECT ${columns.map((name) => changed[name] ?? name).join()}
      FROM counted CROSS JOIN (SELECT * FROM receipts ORDER BY row DESC LIMIT 1)`
  await file.atomic([{ sql, rows: [[]] }])
}

it('bounds the wait for the count, and reports how far it has counted', async () => {
  await ask()
  await copyNewestReceipt(5000)
  const begun = bench.clock.at
  let slowMicros = 0
  const slow = { now: () => bench.clock.at, nowMicros: () => (slowMicros += 1_500_000) }
  bench.clock.at += 10_000_000
  const impatient = createUsageKeeper({
    ...{ db: bench.database.db, content: bench.content, clock: slow, intervalMs: INTERVAL_MS },
    onFailure: (error) => failures.push(error),
  })
  const asOf = await impatient.readUpToDate(ada.row, async (at) => at)
  await impatient.close()
  expect(asOf).toBe(begun + 1999 * 1000)
  expect(await keeper.readUpToDate(ada.row, async (at) => at)).toBe(bench.clock.at)
  expect((await findCountedUpTo(bench.content, [ada.id])).get(ada.id)?.closedAt).toBe(begun + 5000 * 1000)
})

it('retains no results', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const results: WeakRef<object>[] = []
  for (let count = 0; count < 20; count++) {
    await keeper.readUpToDate(ada.row, async () => {
      const report = { count }
      results.push(new WeakRef(report))
      return report
    })
  }
  await settled()
  collectGarbage()
  expect(results.filter((report) => report.deref() !== undefined).length).toBeLessThanOrEqual(1)
})
