import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AccountId } from '../../model/ids.ts'
import type { SqlStore } from '../sql-store.ts'
import { openContent } from './open-content.ts'
import { addUsage, type ClosedUsage, listSeries, NEW_TAGS_A_DAY } from './usage-totals.ts'

const ACCOUNT = 'acct_seven' as AccountId
let folder: string
let file: SqlStore

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-tags-'))
  file = await openContent({ path: join(folder, 'content.db'), clock: { now: () => 1, nowMicros: () => 0 } })
})
afterEach(async () => {
  await file.close()
  rmSync(folder, { recursive: true })
})

let movement = 0
const closed = (quarter: number, tags: readonly string[]): ClosedUsage => ({
  ...{ account: ACCOUNT, quarter, key: 1, model: 'demo', kind: 'wallet', last_at: quarter * 900_000 },
  ...{ requests: 1, failed: 0, uncached_input: 10, cached_input: 0, cache_write: 0, output: 5, reasoning: 0 },
  ...{ wallet_nano: 7n, plan_nano: 0n, tags: tags.length === 0 ? null : JSON.stringify(tags) },
})
const add = async (...usage: ClosedUsage[]) => {
  const from = { movement, closedAt: movement }
  movement += 1
  await addUsage(file, [{ account: ACCOUNT, from, to: { movement, closedAt: movement } }], usage)
}
const listed = async (tagName: string) => {
  const series = await listSeries(file, { account: ACCOUNT, level: 'tag', tagName }, { since: 0, limit: 10_000 })
  return series.map(({ model }) => model).sort()
}

beforeEach(() => {
  movement = 0
})

it('has a series for each value of a name, and one for all of them', async () => {
  await add(closed(10, ['branch:main', 'repo:a']), closed(10, ['repo:b']), closed(10, []))
  expect(await listed('repo')).toEqual(['repo:a', 'repo:b'])
  expect(await listed('branch')).toEqual(['branch:main'])
  const [all] = await listSeries(file, { account: ACCOUNT, level: 'tag', model: 'repo' }, { since: 0, limit: 9 })
  const rows = await file.all('SELECT requests, wallet_nano FROM usage WHERE series = ?', [all!.series])
  expect(rows).toEqual([{ requests: 2, wallet_nano: 14n }])
})

it('counts no more new values a day than the bound, and the others together', async () => {
  const values = Array.from({ length: NEW_TAGS_A_DAY + 20 }, (_, index) => `job:${index}`)
  await add(...values.slice(0, 300).map((tag) => closed(96, [tag])))
  await add(...values.slice(300).map((tag) => closed(97, [tag])))
  const series = await listed('job')
  expect(series).toHaveLength(NEW_TAGS_A_DAY + 1)
  expect(series).toContain('job:')
  // A value that has been counted goes on, a new name is left out, and the next day there is room again.
  await add(closed(98, [values[0]!]), closed(98, ['fresh:x']))
  expect(await listed('job')).toHaveLength(NEW_TAGS_A_DAY + 1)
  expect(await listed('fresh')).toEqual([])
  // Runs have a bound of their own.
  await add(closed(98, ['run:fix-17']), ...values.map((_, index) => closed(99, [`run:${index}`])))
  expect(await listed('run')).toHaveLength(NEW_TAGS_A_DAY + 1)
  await add(closed(96 * 2, ['fresh:x']))
  expect(await listed('fresh')).toEqual(['fresh:x'])
})
