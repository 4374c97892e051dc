import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, type LogEvent } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createSqliteDialect } from '../sqlite/kysely-dialect.ts'
import type { SqlValue } from '../sqlite/sqlite-file.ts'
import { type Database, openDatabase } from './open-database.ts'
import { KEYS_LOOKED_AT, searchKeys } from './search-keys.ts'
import { insertAccount, insertKey } from './set-up.fixture.ts'
import type { LedgerTables } from './tables.ts'

let folder: string
let database: Database

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-search-keys-'))
  database = await openDatabase({ path: join(folder, 'ledger.db'), clock: { now: () => 1, ticks: () => 0 } })
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

const insert = (made: number, account = 1) =>
  insertKey(database.db, {
    ...{ id: `key_${made}`, account, kind: 'wallet', name: `Key number ${made}`, shown: 'mr_wallet_Ab...yz' },
    ...{ digest: Buffer.alloc(32, made), models: MODELS, limits: null, expires_at: null, created_at: 9 },
  })

it('looks at few keys in a statement, however many and large they are, and finds all that have every word', async () => {
  for (let made = 0; made < 3 * KEYS_LOOKED_AT + 2; made++) await insert(made, made === 7 ? 2 : 1)
  const asked: LogEvent['query'][] = []
  const lookedAt: number[] = []
  const listening = new Kysely<LedgerTables>({
    dialect: createSqliteDialect(database.file),
    log: (event) => void asked.push(event.query),
  }).withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      lookedAt.push(result.rows.length)
      return result
    },
  })
  const rowsOf = async (words: string[], { before = 1000, limit = 100 } = {}) =>
    (await searchKeys(listening, 1, { before, limit, words })).map(({ name }) => name)

  expect(await rowsOf(['number 7', 'key'])).toEqual([])
  expect(lookedAt).toEqual([KEYS_LOOKED_AT, KEYS_LOOKED_AT, KEYS_LOOKED_AT, 1])
  expect(await rowsOf([`${'m'.repeat(196)}-499`, 'number 1'])).toEqual(
    [19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 1].map((made) => `Key number ${made}`),
  )
  expect(await rowsOf(['number 1'], { before: 19, limit: 2 })).toEqual(['Key number 17', 'Key number 16'])

  expect(asked).toHaveLength(9)
  for (const { sql, parameters } of asked) {
    const plan = await database.file.all(`EXPLAIN QUERY PLAN ${sql}`, parameters as SqlValue[])
    const steps = plan.map(({ detail }) => String(detail)).join('; ')
    expect(steps).toMatch(/MATERIALIZE looked.*SEARCH keys USING INDEX keys_of_account/)
    expect(sql.match(/lower\(/g)).toHaveLength(1)
  }
})

it('tells a key that it has found with all its columns', async () => {
  await insert(3)
  const stored = await database.db.selectFrom('keys').selectAll().executeTakeFirstOrThrow()
  const [found] = await searchKeys(database.db, 1, { before: 1000, limit: 1, words: ['number'] })
  expect(found).toEqual(expect.objectContaining(stored))
})
