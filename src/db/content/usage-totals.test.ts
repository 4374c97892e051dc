import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AccountId } from '../../model/ids.ts'
import { type SqlStore, UnexpectedChanges } from '../sql-store.ts'
import { openContent } from './open-content.ts'
import {
  addUsage,
  type ClosedUsage,
  findCountedUpTo,
  forgetUsage,
  lastUsedOf,
  listCountedUpTo,
  listSeries,
  readUsageBefore,
} from './usage-totals.ts'

const ACCOUNT = 'acct_seven' as AccountId
const OTHER = 'acct_eight' as AccountId
const ALL = { since: 0, limit: 100 }
let folder: string
let file: SqlStore

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-usage-'))
  file = await openContent({ path: join(folder, 'content.db'), clock: { now: () => 1, nowMicros: () => 0 } })
})
afterEach(async () => {
  await file.close()
  rmSync(folder, { recursive: true })
})

const closed = (quarter: number, over: Partial<ClosedUsage> = {}): ClosedUsage => ({
  ...{ account: ACCOUNT, quarter, key: 1, model: 'demo', kind: 'wallet', last_at: quarter * 900_000 },
  ...{ requests: 1, failed: 0, uncached_input: 10, cached_input: 0, cache_write: 0, output: 5, reasoning: 0 },
  ...{ wallet_nano: 2n ** 60n, plan_nano: 0n },
  ...over,
})

const add = (from: number, to: number, ...usage: ClosedUsage[]) => {
  const slice = { account: ACCOUNT, from: { movement: from, closedAt: from }, to: { movement: to, closedAt: to } }
  return addUsage(file, [slice], usage)
}

async function requestsBefore(...quarters: number[]): Promise<number[]> {
  const [whole] = await listSeries(file, { account: ACCOUNT, level: 'all' }, ALL)
  const rows = await readUsageBefore(file, [whole!.series], quarters)
  return quarters.map((quarter) => rows.find(({ before }) => before === quarter)?.requests ?? 0)
}

it('has what a series came to by the end of each quarter, and nothing for quarters without use', async () => {
  await add(0, 3, closed(10), closed(10, { key: 2, model: 'other', kind: 'builder' }), closed(14))
  expect(await requestsBefore(10, 11, 14, 15, 1000)).toEqual([0, 2, 2, 3, 3])
  expect(await listSeries(file, { account: ACCOUNT, level: 'key+model' }, ALL)).toHaveLength(2)
  const [{ rows } = { rows: 0 }] = await file.all('SELECT COUNT(*) AS rows FROM usage', [])
  // Six levels; the two requests of the first quarter share the one of all.
  expect(rows).toBe(11 + 6)
})

it('goes on in the quarter in which it had stopped', async () => {
  await add(0, 1, closed(10))
  await add(1, 2, closed(10))
  expect(await requestsBefore(10, 11)).toEqual([0, 2])
})

it('counts a slice once, also when it comes again, and none that skips receipts', async () => {
  await add(0, 1, closed(10))
  await expect(add(0, 1, closed(10))).rejects.toThrow(UnexpectedChanges)
  await expect(add(5, 6, closed(11))).rejects.toThrow(UnexpectedChanges)
  expect(await requestsBefore(99)).toEqual([1])
  expect(await findCountedUpTo(file, [ACCOUNT, OTHER])).toEqual(new Map([[ACCOUNT, { movement: 1, closedAt: 1 }]]))
})

it('counts nothing under a number that another node has given to a series of another account meanwhile', async () => {
  await add(0, 1, closed(10))
  const late: SqlStore = {
    ...file,
    async all(sql: string, parameters: never[]) {
      return sql.includes('MAX(series)') ? [{ last: 0 }] : file.all(sql, parameters)
    },
  } as SqlStore
  const slice = { account: OTHER, from: { movement: 0, closedAt: 0 }, to: { movement: 1, closedAt: 1 } }
  await expect(addUsage(late, [slice], [closed(10, { account: OTHER })])).rejects.toThrow(UnexpectedChanges)
  expect(await requestsBefore(99)).toEqual([1])
  expect((await findCountedUpTo(file, [OTHER])).size).toBe(0)
})

it('adds to every later quarter what closed before it, should a clock ever have been wrong', async () => {
  await add(0, 2, closed(10), closed(20))
  await add(2, 3, closed(15))
  await add(3, 4, closed(5))
  expect(await requestsBefore(5, 6, 11, 16, 21)).toEqual([0, 1, 2, 3, 4])
})

it('refuses an amount that no number could hold rather than round it', async () => {
  await expect(add(0, 1, closed(10, { wallet_nano: 2n ** 63n }))).rejects.toThrow()
  await add(0, 1, closed(10))
  const [whole] = await listSeries(file, { account: ACCOUNT, level: 'all' }, ALL)
  expect((await readUsageBefore(file, [whole!.series], [99]))[0]?.wallet_nano).toBe(2n ** 60n)
})

it('is forgotten account by account', async () => {
  await add(0, 1, closed(10))
  await addUsage(
    file,
    [{ account: OTHER, from: { movement: 0, closedAt: 0 }, to: { movement: 1, closedAt: 1 } }],
    [closed(10, { account: OTHER })],
  )
  await forgetUsage(file, ACCOUNT)
  expect(await listSeries(file, { account: ACCOUNT, level: 'all' }, ALL)).toEqual([])
  expect(await findCountedUpTo(file, [ACCOUNT])).toEqual(new Map())
  expect(await lastUsedOf(file, OTHER, [1])).toEqual(new Map([[1, 9_000_000]]))
  await add(0, 1, closed(3))
  expect(await requestsBefore(4)).toEqual([1])
})

it('fits no ledger from the first step of being forgotten, wherever that is interrupted', async () => {
  await add(0, 1, closed(10))
  let writes = 0
  const dying: SqlStore = {
    ...file,
    async atomic(statements) {
      if (++writes === 2) throw new Error('killed')
      return file.atomic(statements)
    },
  }
  await expect(forgetUsage(dying, ACCOUNT)).rejects.toThrow('killed')
  expect(await findCountedUpTo(file, [ACCOUNT])).toEqual(new Map([[ACCOUNT, { movement: 1, closedAt: -1 }]]))
})

/** The values of a list. */
const KNOWN_SCANS = [/VIRTUAL TABLE INDEX/]

it('is asked nothing that has to be searched for', async () => {
  const searched: string[] = []
  const watched: SqlStore = {
    ...file,
    async all(sql, parameters) {
      for (const { detail } of await file.all(`EXPLAIN QUERY PLAN ${sql}`, parameters)) {
        const step = String(detail)
        if (/\bSCAN\b|\bAUTOMATIC\b|TEMP B-TREE/.test(step) && !KNOWN_SCANS.some((known) => known.test(step)))
          searched.push(`${step} in ${sql}`)
      }
      return file.all(sql, parameters)
    },
  }
  await findCountedUpTo(watched, [ACCOUNT])
  await listCountedUpTo(watched, { after: 0, limit: 2 })
  await readUsageBefore(watched, [1, 2], [3, 4])
  await lastUsedOf(watched, ACCOUNT, [1])
  await listSeries(watched, { account: ACCOUNT, level: 'key+model', keys: [1, 2], model: 'demo', kind: 'wallet' }, ALL)
  await listSeries(watched, { account: ACCOUNT, level: 'key+model', keys: [1] }, ALL)
  await listSeries(watched, { account: ACCOUNT, level: 'model' }, ALL)
  expect(searched).toEqual([])
})
