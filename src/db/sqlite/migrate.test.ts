import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { SqlStore } from '../sql-store.ts'
import { migrate } from './migrate.ts'
import { openSqlite } from './open-sqlite.ts'

const clock = { now: () => 1_700_000_000_000, nowMicros: () => 0 }
const first = {
  name: '0001-first',
  statements: ['CREATE TABLE books (id INTEGER PRIMARY KEY) STRICT', 'INSERT INTO books VALUES (1)'],
}
const second = { name: '0002-second', statements: ['ALTER TABLE books ADD COLUMN title TEXT'] }

let folder: string
let file: SqlStore

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-migrate-'))
  file = await openSqlite({ path: join(folder, 'test.db') })
})

afterEach(async () => {
  await file.close()
  rmSync(folder, { recursive: true })
})

const tables = async () =>
  (await file.all("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name", [])).map((row) => row.name)

it('applies each migration once, in order, and remembers when', async () => {
  await migrate(file, [first], clock)
  await migrate(file, [first, second], clock)
  await migrate(file, [first, second], clock)
  expect(await file.all('SELECT * FROM books', [])).toEqual([{ id: 1, title: null }])
  expect(await file.all('SELECT * FROM migrations', [])).toEqual([
    { position: 1, name: '0001-first', applied_at: clock.now() },
    { position: 2, name: '0002-second', applied_at: clock.now() },
  ])
})

const broken = {
  name: '0002-broken',
  statements: ['CREATE TABLE half (x INTEGER) STRICT', 'INSERT INTO nowhere VALUES (1)'],
}

it('leaves a new file empty when one of its migrations fails', async () => {
  await expect(migrate(file, [first, broken], clock)).rejects.toThrow(
    'Migration 0002-broken failed and was undone: no such table: nowhere, in step 2: INSERT INTO nowhere VALUES (1)',
  )
  expect(await tables()).toEqual([])
  await migrate(file, [first, second], clock)
})

it('names the step of a failing migration and undoes it, but not the ones before', async () => {
  await migrate(file, [first], clock)
  await expect(migrate(file, [first, broken], clock)).rejects.toThrow(
    'Migration 0002-broken failed and was undone: no such table: nowhere, in step 2: INSERT INTO nowhere VALUES (1)',
  )
  expect(await tables()).toEqual(['books', 'migrations'])
  await migrate(file, [first, second], clock)
})

it('refuses a database of another program and does not touch it', async () => {
  await file.atomic([{ sql: 'CREATE TABLE recipes (id INTEGER PRIMARY KEY) STRICT', rows: [[]] }])
  await expect(migrate(file, [first], clock)).rejects.toThrow(/another program's database: it has the tables recipes/)
  expect(await tables()).toEqual(['recipes'])
})

it('refuses a foreign table', async () => {
  await migrate(file, [first], clock)
  await file.atomic([{ sql: 'CREATE TABLE my_notes (id INTEGER PRIMARY KEY) STRICT', rows: [[]] }])
  await expect(migrate(file, [first, second], clock)).rejects.toThrow(/not ours: my_notes/)
})

it('refuses a table that has the name of one that exists only while a migration runs', async () => {
  const rebuilt = {
    name: '0002-rebuilt',
    statements: [
      'CREATE TABLE rebuilt_one (id INTEGER PRIMARY KEY) STRICT',
      'ALTER TABLE rebuilt_one RENAME TO second_one',
      'CREATE TABLE scratch (id INTEGER PRIMARY KEY) STRICT',
      'DROP TABLE scratch',
    ],
  }
  await migrate(file, [first, rebuilt], clock)
  await migrate(file, [first, rebuilt], clock)
  for (const table of ['rebuilt_one', 'scratch']) {
    await file.atomic([{ sql: `CREATE TABLE ${table} (id INTEGER PRIMARY KEY) STRICT`, rows: [[]] }])
    await expect(migrate(file, [first, rebuilt], clock)).rejects.toThrow(`not ours: ${table}`)
    await file.atomic([{ sql: `DROP TABLE ${table}`, rows: [[]] }])
  }
})

it('refuses a schema that a newer version has made', async () => {
  await migrate(file, [first, second], clock)
  await expect(migrate(file, [first], clock)).rejects.toThrow(/newer version: it has the migrations 0002-second/)
})
