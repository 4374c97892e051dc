import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { SqlStore } from '../sql-store.ts'
import { openContent } from './open-content.ts'
import { addRefusedTurns, forgetRefusedTurns, type RefusedTurns, readRefusedBefore } from './refused-turns.ts'

let folder: string
let file: SqlStore

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-refused-'))
  file = await openContent({ path: join(folder, 'content.db'), clock: { now: () => 1, nowMicros: () => 0 } })
})
afterEach(async () => {
  await file.close()
  rmSync(folder, { recursive: true })
})

const refused = (quarter: number, over: Partial<RefusedTurns> = {}): RefusedTurns => ({
  ...{ account: 'acct_a', key: 'key_a', kind: 'wallet', code: 'rate_limit_exceeded', quarter, count: 1, ...over },
})

const totals = async (quarters: readonly number[]) => {
  const rows = await readRefusedBefore(file, { account: 'acct_a' }, quarters)
  return quarters.map((quarter) => rows.find(({ before }) => before === quarter)?.total ?? 0)
}

it('keeps what a reason had come to by the end of each quarter, of all keys together', async () => {
  await addRefusedTurns(file, [refused(10, { count: 3 }), refused(10, { key: 'key_b' }), refused(14)])
  await addRefusedTurns(file, [refused(14, { key: 'key_c', kind: 'builder', count: 5 })])
  await addRefusedTurns(file, [refused(14, { account: 'acct_b', count: 9 })])
  expect(await totals([10, 11, 14, 15, 1000])).toEqual([0, 4, 4, 10, 10])
})

it('forgets what lies far back, and tells the same of what came later', async () => {
  await addRefusedTurns(file, [refused(10, { count: 3 }), refused(14), refused(20, { count: 4 }), refused(21)])
  await addRefusedTurns(file, [refused(12, { key: 'key_b', kind: 'builder' })])
  const rows = async (table: string) => (await file.all(`SELECT * FROM ${table}`, [])).length
  expect([await rows('refused_series'), await rows('refused_turns')]).toEqual([4, 10])
  expect(await totals([20, 21, 30])).toEqual([5, 9, 10])
  await forgetRefusedTurns(file, 20)
  expect(await totals([20, 21, 30])).toEqual([4, 8, 9])
  // Of the key and of all keys: the last row before, and those behind it. Of what has nothing behind it, not even its name.
  expect([await rows('refused_series'), await rows('refused_turns')]).toEqual([2, 6])
  await addRefusedTurns(file, [refused(30, { key: 'key_b', kind: 'builder' })])
  expect(await totals([20, 21, 30, 31])).toEqual([4, 8, 9, 10])
})

it('is asked nothing that has to be searched for', async () => {
  await addRefusedTurns(file, [refused(1)])
  const steps: string[] = []
  const watched: SqlStore = {
    ...file,
    async all(sql, parameters) {
      for (const { detail } of await file.all(`EXPLAIN QUERY PLAN ${sql}`, parameters)) steps.push(String(detail))
      return file.all(sql, parameters)
    },
  }
  await readRefusedBefore(watched, { account: 'acct_a', keys: ['key_a', 'key_b'], kind: 'wallet' }, [1, 2])
  expect(steps.filter((step) => step.startsWith('SEARCH'))).toHaveLength(3)
  // The values of a list.
  expect(steps.filter((step) => /SCAN|AUTOMATIC/.test(step) && !step.includes('VIRTUAL TABLE INDEX'))).toEqual([])
})
