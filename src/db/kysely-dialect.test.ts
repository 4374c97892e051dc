import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Generated, Kysely, sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createStoreDialect } from './kysely-dialect.ts'
import type { SqlStore } from './sql-store.ts'
import { openSqlite } from './sqlite/open-sqlite.ts'

interface Tables {
  books: { id: Generated<number>; title: string; price_nano: bigint }
}

let folder: string
let file: SqlStore
let db: Kysely<Tables>

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-kysely-'))
  file = await openSqlite({ path: join(folder, 'test.db') })
  db = new Kysely<Tables>({ dialect: createStoreDialect(file) })
  await db.schema
    .createTable('books')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('title', 'text', (column) => column.notNull().unique())
    .addColumn('price_nano', 'integer', (column) => column.notNull())
    .execute()
})

afterEach(async () => {
  await db.destroy()
  await file.close()
  rmSync(folder, { recursive: true })
})

const book = { title: 'The Mill on the Floss', price_nano: 9_000_000_000_000_000_000n }

it('selects, inserts, updates and deletes', async () => {
  expect(await db.insertInto('books').values(book).returning('id').executeTakeFirstOrThrow()).toEqual({ id: 1 })
  expect(await db.selectFrom('books').selectAll().execute()).toEqual([{ id: 1, ...book }])
  const updated = await db.updateTable('books').set({ price_nano: 1n }).where('id', '=', 1).executeTakeFirst()
  expect(updated.numUpdatedRows).toBe(1n)
  const missed = await db.deleteFrom('books').where('id', '=', 2).executeTakeFirst()
  expect(missed.numDeletedRows).toBe(0n)
  expect((await sql<{ n: number }>`SELECT count(*) AS n FROM books WHERE price_nano = ${1n}`.execute(db)).rows).toEqual(
    [{ n: 1 }],
  )
})

it('refuses an interactive transaction and says what there is instead', async () => {
  const attempt = db.transaction().execute(async (tx) => tx.insertInto('books').values(book).execute())
  await expect(attempt).rejects.toThrow(/SqlStore\.atomic/)
  expect(await db.selectFrom('books').selectAll().execute()).toEqual([])
})
