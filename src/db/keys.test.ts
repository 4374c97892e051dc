import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, type LogEvent } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { insertAccount, insertKey } from '../../test/fixtures/db/set-up.ts'
import { KEYS_AT_ONCE, listShownKeys, listWholeKeys, SEARCHED_AT_ONCE } from './keys.ts'
import { createStoreDialect } from './kysely-dialect.ts'
import { type Database, openDatabase } from './open-database.ts'
import type { SqlValue } from './sql-store.ts'
import type { LedgerTables } from './tables.ts'

let folder: string
let database: Database

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-list-keys-'))
  database = await openDatabase({ path: join(folder, 'ledger.db'), clock: { now: () => 1, nowMicros: () => 0 } })
  for (const name of ['ada', 'ben']) {
    await insertAccount(database.file, { id: `acct_${name}`, email: `${name}@example.com`, createdAt: 5 })
  }
})

afterEach(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

/** As many of the longest names as a key may have. */
const MODELS = JSON.stringify(Array.from({ length: 500 }, (_, index) => `${'M'.repeat(196)}-${index}`))

const insert = (made: number, account = 1, models: string | null = MODELS) =>
  insertKey(database.db, {
    ...{ id: `key_${made}`, account, kind: 'wallet', name: `Key number ${made}`, shown: 'mr_wallet_Ab...yz' },
    ...{ digest: Buffer.alloc(32, made), models, limits: null, expires_at: null, created_at: 9 },
  })

interface Query {
  readonly sql: string
  readonly parameters: readonly unknown[]
  rows: number
}

/** The same ledger, and the queries sent to it. */
function listening() {
  const queries: Query[] = []
  const db = new Kysely<LedgerTables>({
    dialect: createStoreDialect(database.file),
    log: ({ query }: LogEvent) => void queries.push({ sql: query.sql, parameters: query.parameters, rows: 0 }),
  }).withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      queries.at(-1)!.rows = result.rows.length
      return result
    },
  })
  return { db, queries }
}

it('looks at few keys in a statement, however many and large they are, and finds all that have every word', async () => {
  for (let made = 0; made < 3 * SEARCHED_AT_ONCE + 2; made++) await insert(made, made === 188 ? 2 : 1)
  const { db, queries } = listening()
  const rowsOf = async (words: string[], { before = 1000, limit = 100 } = {}) =>
    (await listShownKeys(db, { account: 1 }, { before, limit, words })).map(({ name }) => name)

  expect(await rowsOf(['number 188', 'key'])).toEqual([])
  expect(queries.map(({ rows }) => rows)).toEqual([SEARCHED_AT_ONCE, SEARCHED_AT_ONCE, SEARCHED_AT_ONCE, 1])
  expect(await rowsOf([`${'m'.repeat(196)}-499`, 'number 2'])).toEqual(
    [29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 2].map((made) => `Key number ${made}`),
  )
  expect(await rowsOf(['number 2'], { before: 29, limit: 2 })).toEqual(['Key number 27', 'Key number 26'])

  expect(queries).toHaveLength(11)
  for (const { sql, parameters } of queries) {
    if (!sql.includes('looked')) continue
    const plan = await database.file.all(`EXPLAIN QUERY PLAN ${sql}`, parameters as SqlValue[])
    const steps = plan.map(({ detail }) => String(detail)).join('; ')
    expect(steps).toMatch(/MATERIALIZE looked.*SEARCH keys USING (COVERING )?INDEX keys_of_account/)
    expect(sql.match(/lower\(/g)).toHaveLength(1)
  }
})

it('tells of the models of a key how many there are and the first, and never brings all of them', async () => {
  await insert(3)
  await insert(4, 1, JSON.stringify(['a', 'b*']))
  await insert(5, 1, null)
  const all = await listShownKeys(database.db, { account: 1 }, { before: 1000, limit: 9, words: [] })
  expect(all.map(({ name, models_count }) => [name, models_count])).toEqual([
    ['Key number 5', null],
    ['Key number 4', 2],
    ['Key number 3', 500],
  ])
  expect(all.map(({ models_first }) => models_first && JSON.parse(models_first))).toEqual([
    null,
    ['a', 'b*', ...Array<null>(8).fill(null)],
    JSON.parse(MODELS).slice(0, 10),
  ])
  expect(JSON.stringify(all).length).toBeLessThan(4000)
  expect(await listShownKeys(database.db, { account: 1 }, { before: 1000, limit: 9, words: ['number'] })).toEqual(all)
})

it('brings few whole keys in a statement, each with its owner', async () => {
  for (let made = 0; made < 2 * KEYS_AT_ONCE + 3; made++) await insert(made, made % 2 === 0 ? 1 : 2)
  const { db, queries } = listening()
  const all = await listWholeKeys(db, undefined, { before: 1000, limit: 2 * KEYS_AT_ONCE + 2 })
  expect(all.map(({ row }) => row)).toEqual(Array.from({ length: 2 * KEYS_AT_ONCE + 2 }, (_, index) => 35 - index))
  expect(all[0]).toMatchObject({ models: MODELS, owner_id: 'acct_ada', owner_email: 'ada@example.com' })
  expect(queries.map(({ rows }) => rows)).toEqual([KEYS_AT_ONCE, KEYS_AT_ONCE, 2])
  expect(await listWholeKeys(db, 2, { before: 5, limit: 9 })).toMatchObject([{ row: 4 }, { row: 2 }])
})
