import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, type LogEvent } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { insertAccount } from '../../test/fixtures/db/set-up.ts'
import { findPriceTerms, insertPrice, listNewestPrices } from '../ledger/prices.ts'
import { accountStatusUpdate, findAccountByEmail, findAccountById, findAccountByRow, listAccounts } from './accounts.ts'
import { countRunningPlans, findSubscription, findSubscriptionAt, listBuckets, listLiveBuckets } from './allowances.ts'
import { clockCorrectionInsert } from './clock.ts'
import {
  findKeyByDigest,
  findKeyById,
  findKeyByRow,
  type KeyChange,
  keyInsert,
  keyUpdate,
  listShownKeys,
  listWholeKeys,
  type NewKey,
} from './keys.ts'
import { createStoreDialect } from './kysely-dialect.ts'
import { addMeta, findMeta } from './meta.ts'
import { type Database, openDatabase } from './open-database.ts'
import { findLatestLedgerTime, findMarks, findNewestRows, findReceipt, listOpenReceipts } from './receipts.ts'
import { type AtomicStatement, type SqlValue, UnexpectedChanges } from './sql-store.ts'
import { findMovementTime, findTransferByRef, listTransfersOfAccount } from './statement.ts'
import type { LedgerDb, LedgerTables } from './tables.ts'

let folder: string
let database: Database
let db: LedgerDb

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-queries-'))
  database = await openDatabase({ path: join(folder, 'ledger.db'), clock: { now: () => 1, nowMicros: () => 0 } })
  db = database.db
  for (const name of ['ada', 'ben', 'cyd']) {
    await insertAccount(database.file, { id: `acct_${name}`, email: `${name}@example.com`, createdAt: 5 })
  }
})

afterEach(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

/** Whether a statement found what it was made for. */
const did = (...statements: AtomicStatement[]): Promise<boolean> =>
  database.file.atomic(statements).then(
    () => true,
    (error: unknown) => {
      if (error instanceof UnexpectedChanges) return false
      throw error
    },
  )

const run = (sql: string, ...rows: SqlValue[][]) => database.file.atomic([{ sql, rows }])

const ALL = { before: Number.MAX_SAFE_INTEGER, limit: 10 }

describe('accounts', () => {
  const ada = {
    row: 1,
    id: 'acct_ada',
    email: 'ada@example.com',
    status: 'active',
    created_at: 5,
    frozen_at: null,
    second_factor: 0,
    scim_version: 0,
  }

  it('are found by id, email and row', async () => {
    expect(await findAccountById(db, 'acct_ada')).toEqual(ada)
    expect(await findAccountByEmail(db, 'ada@example.com')).toEqual(ada)
    expect(await findAccountByRow(db, 1)).toEqual(ada)
    expect(await findAccountById(db, 'acct_nobody')).toBeUndefined()
  })

  it('have one wallet each, and one email for one account', async () => {
    const wallet = { row: 4, subject: 'wallet', posted_nano: 0n, held_nano: 0n }
    expect(await listLiveBuckets(db, 2)).toMatchObject([wallet])
    await expect(
      insertAccount(database.file, { id: 'acct_new', email: 'ada@example.com', createdAt: 6 }),
    ).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_UNIQUE', message: expect.stringContaining('accounts.email') })
    await expect(
      insertAccount(database.file, { id: 'acct_ada', email: 'x@example.com', createdAt: 6 }),
    ).rejects.toThrow()
    expect(await listAccounts(db, { after: 0, limit: 9 })).toHaveLength(3)
    expect(await listLiveBuckets(db, 4)).toEqual([])
  })

  it('are listed in pages', async () => {
    expect((await listAccounts(db, { after: 0, limit: 9 })).map(({ row }) => row)).toEqual([1, 2, 3])
    expect((await listAccounts(db, { after: 0, limit: 2 })).map(({ row }) => row)).toEqual([1, 2])
    expect((await listAccounts(db, { after: 2, limit: 2 })).map(({ row }) => row)).toEqual([3])
  })

  it('stay closed', async () => {
    expect(await did(accountStatusUpdate(1, 'suspended'))).toBe(true)
    expect(await did(accountStatusUpdate(1, 'closed'))).toBe(true)
    expect(await did(accountStatusUpdate(1, 'active'))).toBe(false)
    expect((await findAccountByRow(db, 1))?.status).toBe('closed')
  })
})

describe('keys', () => {
  const digest = new Uint8Array(32).fill(7)
  const key = {
    id: 'key_1',
    account: 2,
    kind: 'wallet',
    name: 'ci',
    digest,
    shown: 'mr_wallet_abcd...wxyz',
    models: '["demo"]',
    limits: null,
    expires_at: null,
    created_at: 9,
  } as const

  const insert = (row: NewKey = key, liveMax = 9, needsNewName = false) =>
    did(keyInsert(db, row, { liveMax, needsNewName }))
  const update = (row: number, change: KeyChange) => did(...keyUpdate(db, { row, account: 2 }, change))
  beforeEach(() => insert())

  it('are found with their account by digest, and alone by id, row and account', async () => {
    const never = { former_digest: null, former_shown: null, former_until: null, playground: 0 }
    const stored = {
      ...{ ...key, ...never, row: 1, disabled_at: null, revoked_at: null },
      ...{
        cap_day_nano: null,
        cap_month_nano: null,
        person: null,
        team: null,
        addresses: null,
        run: null,
        step_down: null,
      },
    }
    const subscribed = { plan: null, plan_ends_at: null, person_disabled_at: null, person_role: null }
    expect(await findKeyByDigest(db, digest)).toEqual({
      ...stored,
      ...subscribed,
      account_id: 'acct_ben',
      account_status: 'active',
    })
    expect(await findKeyByDigest(db, new Uint8Array(32))).toBeUndefined()
    expect(await findKeyById(db, 'key_1')).toEqual(stored)
    expect(await findKeyByRow(db, 1)).toEqual(stored)
    expect(await listWholeKeys(db, 2, ALL)).toEqual([
      { ...stored, owner_id: 'acct_ben', owner_email: 'ben@example.com' },
    ])
    expect(await listWholeKeys(db, 1, ALL)).toEqual([])
  })

  it('are renamed, disabled and enabled until they are revoked, for good', async () => {
    expect(await update(1, { name: 'build', disabled_at: 3 })).toBe(true)
    expect(await update(1, { disabled_at: null })).toBe(true)
    expect(await findKeyByRow(db, 1)).toMatchObject({ name: 'build', disabled_at: null, revoked_at: null })
    expect(await update(1, { revoked_at: 4 })).toBe(true)
    expect(await update(1, { revoked_at: 5 })).toBe(false)
    expect(await update(1, { name: 'again' })).toBe(false)
    expect(await findKeyByRow(db, 1)).toMatchObject({ name: 'build', revoked_at: 4 })
    expect(await update(99, { name: 'nobody' })).toBe(false)
  })

  it('are as many as an account may have, but for those that are revoked', async () => {
    const next = (id: string) => ({ ...key, id, digest: new Uint8Array(32).fill(id.charCodeAt(4)) })
    expect(await insert(next('key_2'), 1)).toBe(false)
    expect(await insert(next('key_2'), 2)).toBe(true)
    await update(1, { disabled_at: 3 })
    expect(await insert(next('key_3'), 2)).toBe(false)
    await update(1, { revoked_at: 4 })
    expect(await insert(next('key_3'), 2)).toBe(true)
    expect(await insert({ ...next('key_4'), account: 1 }, 2)).toBe(true)
  })

  it('have a new name among those that are not revoked, where that is asked for', async () => {
    const next = { ...key, id: 'key_2', digest: new Uint8Array(32).fill(2) }
    expect(await insert(next, 9, true)).toBe(false)
    await update(1, { revoked_at: 4 })
    expect(await insert(next, 9, true)).toBe(true)
  })

  it('belong to an account and have a digest of their own', async () => {
    await expect(insert({ ...key, id: 'key_2' })).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_UNIQUE' })
    const orphan = { ...key, id: 'key_3', digest: new Uint8Array(32), account: 99 }
    await expect(insert(orphan)).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_FOREIGNKEY' })
  })
})

describe('receipts', () => {
  const OPEN = `INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, hold_nano,
    output_cap, output_bound, input_estimate, opened_at) VALUES (?, ?, 1, 1, 'wallet', 'open', 'demo', 1, '[3]', ?, 10, 10, 20, ?)`
  const CLOSE = `UPDATE receipts SET state = 'settled', charge_nano = 1, closed_at = ? WHERE row = ?`

  it('are found by request, listed while open, and give the last number', async () => {
    expect(await findNewestRows(db)).toMatchObject({ receipt: 0, transfer: 0, subscription: 0 })
    await run(OPEN, [1, 'req_a', 2n ** 60n, 100], [2, 'req_b', 5n, 110], [3, 'req_c', 5n, 120])
    await run(CLOSE, [115, 2])
    expect(await findReceipt(db, 'req_a')).toMatchObject({
      row: 1,
      hold_nano: 2n ** 60n,
      charge_nano: null,
      opened_at: 100,
    })
    expect(await findReceipt(db, 'req_x')).toBeUndefined()
    expect((await listOpenReceipts(db)).map(({ row }) => row)).toEqual([1, 3])
    expect(await findNewestRows(db)).toMatchObject({ receipt: 3, transfer: 0 })
  })

  it('give, with transfers and marks, the latest time of the ledger', async () => {
    expect(await findLatestLedgerTime(db)).toBe(0)
    await run(OPEN, [1, 'req_a', 5n, 100], [2, 'req_b', 5n, 110])
    expect(await findLatestLedgerTime(db)).toBe(110)
    await run(CLOSE, [130, 1])
    expect(await findLatestLedgerTime(db)).toBe(130)
    await run("INSERT INTO transfers VALUES (1, 'credit', 'usd', 1, 'r', 'why', 5, 140, 1, 5)", [])
    expect(await findLatestLedgerTime(db)).toBe(140)
    await run('INSERT INTO marks VALUES (?, ?, ?)', [1, 150, new Uint8Array([1, 2])])
    expect(await findLatestLedgerTime(db)).toBe(150)
    expect(await findMarks(db)).toEqual([{ node: 1, at: 150, packed: new Uint8Array([1, 2]) }])
  })

  it('count as no later than what ledger time was set back to, but for those that came after that', async () => {
    await run(OPEN, [1, 'req_a', 5n, 90], [2, 'req_b', 5n, 500])
    await run("INSERT INTO transfers VALUES (1, 'credit', 'usd', 1, 'r', 'why', 5, 510, 1, 5)", [])
    await database.file.atomic([clockCorrectionInsert(520, 100)])
    expect(await findLatestLedgerTime(db)).toBe(100)
    await run(OPEN, [3, 'req_c', 5n, 120])
    expect(await findLatestLedgerTime(db)).toBe(120)
    expect(await findMovementTime(db, 1, 1)).toBe(100)
    await run("INSERT INTO transfers VALUES (2, 'credit', 'usd', 1, 's', 'why', 5, 130, 2, 10)", [])
    expect(await findLatestLedgerTime(db)).toBe(130)
    expect([await findMovementTime(db, 1, 1), await findMovementTime(db, 1, 2)]).toEqual([100, 130])
  })
})

it('finds a transfer by the reference of its own account, and lists newest first', async () => {
  await run(
    "INSERT INTO transfers VALUES (?, 'credit', 'usd', ?, ?, 'why', ?, ?, ?, ?)",
    [1, 1, 'may', 5n, 10, 1, 5n],
    [2, 1, 'june', 6n, 20, 2, 11n],
    [3, 2, 'may', 7n, 30, 1, 7n],
  )
  expect(await findTransferByRef(db, 2, 'credit', 'may')).toMatchObject({ row: 3, amount_nano: 7n })
  expect(await findTransferByRef(db, 2, 'credit', 'june')).toBeUndefined()
  expect((await listTransfersOfAccount(db, 1, { before: 9, limit: 5 })).map(({ ref }) => ref)).toEqual(['june', 'may'])
  expect((await listTransfersOfAccount(db, 1, { before: 2, limit: 5 })).map(({ ref }) => ref)).toEqual(['may'])
})

it('keeps every version of a price and lists the newest', async () => {
  const price = { model: 'demo', version: 1, terms: '{"input":"1"}', since: 1 }
  await insertPrice(db, price)
  await insertPrice(db, { ...price, version: 2, terms: '{"input":"2"}' })
  await insertPrice(db, { ...price, model: 'other' })
  expect(await listNewestPrices(db)).toEqual([
    { ...price, version: 2, terms: '{"input":"2"}' },
    { ...price, model: 'other' },
  ])
  expect(await findPriceTerms(db, 'demo', 1)).toBe(price.terms)
  expect(await findPriceTerms(db, 'demo', 3)).toBeUndefined()
  await expect(insertPrice(db, price)).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_PRIMARYKEY' })
})

it('tells which plan an account is on, at which time, and how many are on each', async () => {
  const row = { account: 1, plan: 'basic', billing_day: 1, started_at: 10, ends_at: null as number | null }
  await db
    .insertInto('subscriptions')
    .values({ row: 1, ...row, ends_at: 20 })
    .execute()
  await db
    .insertInto('subscriptions')
    .values({ row: 2, ...row, plan: 'pro', started_at: 20, ends_at: 90 })
    .execute()
  await db
    .insertInto('subscriptions')
    .values({ row: 3, ...row, account: 2, plan: 'pro' })
    .execute()
  expect(await findSubscription(db, 1)).toMatchObject({ plan: 'pro' })
  expect(await findSubscriptionAt(db, 1, 19)).toMatchObject({ plan: 'basic' })
  expect(await findSubscriptionAt(db, 1, 20)).toMatchObject({ plan: 'pro' })
  expect(await findSubscriptionAt(db, 1, 9)).toBeUndefined()
  expect(await countRunningPlans(db, 89)).toEqual([{ plan: 'pro', accounts: 2 }])
  expect(await countRunningPlans(db, 90)).toEqual([{ plan: 'pro', accounts: 1 }])
})

it('remembers by name, and the first value counts', async () => {
  expect(await findMeta(db, 'note')).toBeUndefined()
  expect(await addMeta(db, 'note', 'one')).toBe('one')
  expect(await addMeta(db, 'note', 'two')).toBe('one')
  expect(await findMeta(db, 'note')).toBe('one')
})

it('answers every query that grows with the ledger from an index', async () => {
  const queries: { sql: string; parameters: readonly unknown[] }[] = []
  const log = (event: LogEvent) => void queries.push(event.query)
  const listening: LedgerDb = new Kysely<LedgerTables>({ dialect: createStoreDialect(database.file), log })
  await findAccountById(listening, 'acct_ada')
  await findAccountByEmail(listening, 'ada@example.com')
  await listAccounts(listening, { after: 1, limit: 2 })
  await findKeyByDigest(listening, new Uint8Array(32))
  await listWholeKeys(listening, 1, ALL)
  await listWholeKeys(listening, undefined, ALL)
  await listShownKeys(listening, { account: 1 }, { ...ALL, words: [] })
  await findReceipt(listening, 'req_a')
  await listOpenReceipts(listening)
  await findTransferByRef(listening, 1, 'credit', 'may')
  await listTransfersOfAccount(listening, 1, { before: 9, limit: 2 })
  await findPriceTerms(listening, 'demo', 1)
  await listLiveBuckets(listening, 1)
  await listBuckets(listening, [1, 2])
  await findSubscription(listening, 1)
  await findSubscriptionAt(listening, 1, 5)
  expect(queries).toHaveLength(16)
  for (const { sql, parameters } of queries) {
    const plan = await database.file.all(`EXPLAIN QUERY PLAN ${sql}`, parameters as SqlValue[])
    const steps = plan.map((step) => String(step.detail)).join('; ')
    expect(steps, sql).toMatch(/USING/)
    expect(steps, sql).not.toMatch(/SCAN (?!receipts USING INDEX open_receipts)|TEMP B-TREE/)
  }
})
