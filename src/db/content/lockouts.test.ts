import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { SqlStore } from '../sql-store.ts'
import { createLockoutKeeper, type LockoutKeeper, listLockouts } from './lockouts.ts'
import { openContent } from './open-content.ts'

let folder: string
let file: SqlStore
let keeper: LockoutKeeper
let now: number
let writes: number
let failures: unknown[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-lockouts-'))
  file = await openContent({ path: join(folder, 'content.db'), clock: { now: () => 1, nowMicros: () => 0 } })
  now = 1000
  writes = 0
  failures = []
  const counting: SqlStore = {
    ...file,
    atomic(statements) {
      writes += 1
      return file.atomic(statements)
    },
  }
  keeper = createLockoutKeeper({ file: counting, now: () => now, onFailure: (error) => failures.push(error) })
})

afterEach(async () => {
  await file.close()
  await rm(folder, { recursive: true })
})

const names = async () => (await listLockouts(file, now)).map(({ name }) => name)

it('what is kept is there until it is over, and the last word counts', async () => {
  keeper.keep({ name: 'name:a', until: 2000 })
  keeper.keep({ name: 'name:b', until: 3000 })
  await keeper.close()
  keeper.keep({ name: 'name:a', until: 4000 })
  keeper.keep({ name: 'name:c', until: 3500 })
  keeper.drop('name:b')
  await keeper.close()
  expect(await listLockouts(file, now)).toEqual([
    { name: 'name:c', until: 3500 },
    { name: 'name:a', until: 4000 },
  ])
  now = 3500
  expect(await names()).toEqual(['name:a'])
  keeper.keep({ name: 'name:d', until: 9000 })
  await keeper.close()
  expect(await file.all('SELECT name FROM lockouts ORDER BY name', [])).toEqual([
    { name: 'name:a' },
    { name: 'name:d' },
  ])
})

it('however many come, they are few writes and a bounded table, with those that last longest', async () => {
  for (let index = 0; index < 25_000; index++) keeper.keep({ name: `name:${index}`, until: 2000 + index })
  await keeper.close()
  expect(writes).toBeLessThanOrEqual(2)
  for (let index = 0; index < 5_000; index++) keeper.keep({ name: `late:${index}`, until: 100_000 + index })
  await keeper.close()
  const kept = await names()
  expect(kept).toHaveLength(10_000)
  expect(kept.filter((name) => name.startsWith('late:'))).toHaveLength(5_000)
})

it('a write that fails is told of, and the next one goes through', async () => {
  await file.atomic([
    {
      sql: `CREATE TRIGGER full BEFORE INSERT ON lockouts BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`,
      rows: [[]],
    },
  ])
  keeper.keep({ name: 'name:a', until: 2000 })
  await keeper.close()
  expect(failures).toEqual([expect.objectContaining({ message: expect.stringContaining('the disk is full') })])
  await file.atomic([{ sql: 'DROP TRIGGER full', rows: [[]] }])
  keeper.keep({ name: 'name:b', until: 2000 })
  await keeper.close()
  expect(await names()).toEqual(['name:b'])
})
