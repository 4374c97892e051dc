import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../lib/clock.ts'
import { ACCOUNTS_AT_ONCE, listAccountsLike } from './accounts.ts'
import { countRunningPlans } from './allowances.ts'
import { createStoreDialect } from './kysely-dialect.ts'
import { type Database, openDatabase } from './open-database.ts'
import type { LedgerDb, LedgerTables } from './tables.ts'

/** More than two slices of either kind, and the last one not full. */
const ACCOUNTS = 2 * ACCOUNTS_AT_ONCE + 37
const folder = mkdtempSync(join(tmpdir(), 'millrace-search-'))
let database: Database
let db: LedgerDb
const queries: { sql: string; parameters: readonly unknown[]; rows: number }[] = []

beforeAll(async () => {
  database = await openDatabase({ path: join(folder, 'ledger.db'), clock: systemClock })
  const { file } = database
  const listening = {
    ...file,
    async all<Row extends object>(sql: string, parameters: never[]) {
      const rows = await file.all(sql, parameters)
      queries.push({ sql, parameters, rows: rows.length })
      return rows as Row[]
    },
  }
  db = new Kysely<LedgerTables>({ dialect: createStoreDialect(listening as never) })
  const rows = Array.from({ length: ACCOUNTS }, (_, at) => [`acct_${String(at).padStart(8, '0')}abcdef`, `u${at}@x.io`])
  const plans = rows.map((_, at) => [at + 1, at % 3 === 0 ? 'lean' : 'pro', at % 5 === 0 ? 50 : null])
  await file.atomic([
    { sql: `INSERT INTO accounts (id, email, status, created_at) VALUES (?, ?, 'active', 1)`, rows },
    {
      sql: `INSERT INTO subscriptions (account, plan, billing_day, started_at, ends_at) VALUES (?, ?, 1, 1, ?)`,
      rows: plans,
    },
  ])
})
afterAll(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

const search = async (text: string, page: { before?: number; limit?: number } = {}) => {
  queries.length = 0
  const { before = Number.MAX_SAFE_INTEGER, limit = 50 } = page
  return (await listAccountsLike(db, { before, limit, search: text })).map(({ row }) => row)
}

describe('a search for accounts never blocks the worker for longer than a slice', () => {
  it('and finds what a look at all of them would find, newest first, page by page', async () => {
    const having = (text: string) =>
      Array.from({ length: ACCOUNTS }, (_, at) => at + 1)
        .filter((row) => `u${row - 1}@x.io`.includes(text))
        .reverse()
    for (const text of ['7@', 'U80', 'u1@', '@x.io', 'nobody', '37@x']) {
      const all = having(text.toLowerCase())
      const pages: number[] = []
      for (let before = Number.MAX_SAFE_INTEGER; pages.length < Math.min(all.length, 400); before = pages.at(-1)!)
        pages.push(...(await search(text, { before, limit: 100 })))
      expect(pages, text).toEqual(all.slice(0, pages.length))
      expect(pages.length, text).toBeGreaterThanOrEqual(Math.min(all.length, 400))
    }
  })

  it('because each query is for a bounded range of rows', async () => {
    expect(await search('nobody')).toEqual([])
    const slices = queries.filter(({ sql }) => sql.includes('instr'))
    expect(slices).toHaveLength(3)
    for (const { sql, parameters } of slices) {
      const bounds = parameters.filter((value): value is number => typeof value === 'number' && Math.abs(value) > 100)
      expect(Math.max(...bounds) - Math.min(...bounds), sql).toBeLessThanOrEqual(ACCOUNTS_AT_ONCE)
      const plan = await database.file.all(`EXPLAIN QUERY PLAN ${sql}`, parameters as never[])
      expect(String(plan[0]!.detail)).toBe('SEARCH accounts USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)')
    }
  })

  it('and stops as soon as the page is full', async () => {
    expect(await search('@x.io', { limit: 3 })).toEqual([ACCOUNTS, ACCOUNTS - 1, ACCOUNTS - 2])
    expect(queries).toHaveLength(2)
  })

  it('and uses the index of ids where the text is the start of one', async () => {
    expect(await search('acct_00000007')).toEqual([8])
    const [{ sql, parameters }] = queries as [(typeof queries)[number]]
    const plan = await database.file.all(`EXPLAIN QUERY PLAN ${sql}`, parameters as never[])
    const steps = plan.map(({ detail }) => String(detail)).join('; ')
    expect(steps).toMatch(/SEARCH named USING COVERING INDEX/)
    expect(steps).not.toMatch(/SCAN/)
    expect(await search('acct_000000070abcdef')).toEqual([])
    expect(await search('acct_00000')).toHaveLength(50)
  })
})

it('the accounts of each plan are counted slice by slice', async () => {
  queries.length = 0
  const expected = { lean: 0, pro: 0 }
  for (let at = 0; at < ACCOUNTS; at++) if (at % 5 !== 0) expected[at % 3 === 0 ? 'lean' : 'pro']++
  expect(await countRunningPlans(db, 60)).toEqual([
    { plan: 'lean', accounts: expected.lean },
    { plan: 'pro', accounts: expected.pro },
  ])
  expect(queries.filter(({ sql }) => sql.includes('count('))).toHaveLength(3)
})
