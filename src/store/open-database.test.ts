import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ReceiptClosed } from '../books/changes.ts'
import type { AccountRow } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import { migrate } from '../sqlite/migrate.ts'
import { openSqlite } from '../sqlite/open-sqlite.ts'
import { DatabaseLocked } from '../sqlite/sqlite-failure.ts'
import { ledgerSchema } from './migrations/ledger-schema.ts'
import { type Database, openDatabase } from './open-database.ts'
import { findReceipt } from './receipts.ts'
import { recordChanges } from './record-changes.ts'
import { insertAccount } from './set-up.fixture.ts'

const clock = { now: () => 1_700_000_000_000, ticks: () => 0 }
let folder: string
let path: string
let database: Database

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-store-'))
  path = join(folder, 'ledger.db')
  database = await openDatabase({ path, clock })
})

afterEach(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

describe('opening the ledger', () => {
  it('makes a new one, and finds everything again the second time', async () => {
    await insertAccount(database.file, { id: 'acct_1', email: 'a@example.com', createdAt: 1 })
    await database.close()
    database = await openDatabase({ path, clock })
    expect(await database.db.selectFrom('accounts').select('id').execute()).toEqual([{ id: 'acct_1' }])
    expect(await database.db.selectFrom('buckets').select(['row', 'subject']).where('row', '>', 0).execute()).toEqual([
      { row: 1, subject: 'external' },
      { row: 2, subject: 'revenue' },
      { row: 3, subject: 'wallet' },
    ])
  })

  it('refuses one that is open elsewhere', async () => {
    await expect(openDatabase({ path, clock })).rejects.toBeInstanceOf(DatabaseLocked)
  })

  it('refuses one with foreign tables, says which, and leaves the file to others', async () => {
    await database.file.atomic([{ sql: 'CREATE TABLE diary (day TEXT) STRICT', rows: [[]] }])
    await database.close()
    await expect(openDatabase({ path, clock })).rejects.toThrow(/ledger\.db: .*not ours: diary/)
    const file = await openSqlite({ path })
    await file.atomic([{ sql: 'DROP TABLE diary', rows: [[]] }])
    await file.close()
    database = await openDatabase({ path, clock })
  })
})

describe('a ledger of the version before compactions', () => {
  const migrations = ledgerSchema.migrations.filter(({ name }) => name < '0003')
  const COLUMNS = 'row, request_id, account, key, kind, state, model, price_version, buckets, hold_nano, output_cap'
  const OLD = `INSERT INTO receipts (${COLUMNS}, output_bound, input_estimate, opened_at, closed_at, charge_nano)
    VALUES (?, ?, 1, 1, 'wallet', ?, 'demo', 1, '[3]', 50, 10, 10, 10, 1, ?, ?)`
  const closed: ReceiptClosed = {
    ...{ kind: 'receipt-closed', receipt: 2, account: 1 as AccountRow, at: 3 },
    ending: {
      ...{ outcome: 'completed', lane: 'demo/demo', attempts: [], firstByteMs: 1, totalMs: 2, kept: false },
      owed: {
        usage: { uncachedInput: 1, cachedInput: 0, cacheWrite: 0, output: 1, reasoning: 0, estimated: false },
        ...{ tier: 0, cost: 7n as NanoUsd },
      },
      compaction: { tokensBefore: 48_210, tokensAfter: 2_034 },
    },
    ...{ charge: 7n as NanoUsd, shortfall: 0n as NanoUsd, movement: 2, balance: 93n },
  }

  it('is brought along: what is closed says nothing of one, and what is open may end with one', async () => {
    await database.close()
    rmSync(path)
    const old = await openSqlite({ path })
    await migrate(old, { ...ledgerSchema, migrations }, clock)
    const rows = [
      [1, 'req_closed', 'settled', 2, 7n],
      [2, 'req_open', 'open', null, null],
    ]
    await old.atomic([{ sql: OLD, rows }])
    await old.close()

    database = await openDatabase({ path, clock })
    const none = { tokens_before: null, tokens_after: null }
    expect(await findReceipt(database.db, 'req_closed')).toMatchObject({ charge_nano: 7n, closed_at: 2, ...none })
    expect(await findReceipt(database.db, 'req_open')).toMatchObject({ state: 'open', hold_nano: 50n, ...none })
    await database.file.atomic(recordChanges([closed], undefined))
    expect(await findReceipt(database.db, 'req_open')).toMatchObject({
      ...{ state: 'settled', charge_nano: 7n, tokens_before: 48_210, tokens_after: 2_034 },
    })
  })
})

describe('a ledger of the version before movements', () => {
  const migrations = ledgerSchema.migrations.filter(({ name }) => name < '0004')
  const RECEIPT = `INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, hold_nano,
      output_cap, output_bound, input_estimate, opened_at, closed_at, charge_nano)
    VALUES (?, 'req_' || ?1, ?, 1, ?, ?, 'demo', 1, '[3]', 50, 10, 10, 10, 1, ?, ?)`
  const TRANSFER = `INSERT INTO transfers VALUES (?, ?, ?, ?, 'ref ' || ?1, 'why', ?, ?)`

  it('is numbered in the order of its times, account by account, with the balances that follow', async () => {
    await database.close()
    rmSync(path)
    const old = await openSqlite({ path })
    await migrate(old, { ...ledgerSchema, migrations }, clock)
    for (const name of ['a', 'b']) await insertAccount(old, { id: name, email: `${name}@example.com`, createdAt: 1 })
    await old.atomic([
      {
        sql: TRANSFER,
        rows: [
          [1, 'credit', 'usd', 1, 100n, 5],
          [2, 'credit', 'usd', 2, 70n, 5],
          [3, 'grant', 'quota', 1, 900n, 6],
          [4, 'refund', 'usd', 1, -20n, 9],
        ],
      },
      {
        sql: RECEIPT,
        rows: [
          [1, 1, 'wallet', 'settled', 9, 7n],
          [2, 1, 'wallet', 'settled', 6, 3n],
          [3, 1, 'builder', 'settled', 8, 40n],
          [4, 1, 'wallet', 'open', null, null],
          [5, 1, 'wallet', 'released', 9, 0n],
          [6, 2, 'wallet', 'settled', 7, 1n],
        ],
      },
    ])
    await old.close()

    database = await openDatabase({ path, clock })
    const numbered = await database.file.all(
      `SELECT account, movement, 'transfer ' || row AS what, balance_nano FROM transfers
        UNION ALL SELECT account, movement, 'receipt ' || row, balance_nano FROM receipts ORDER BY account, movement`,
      [],
    )
    expect(
      numbered.map(({ account, movement, what, balance_nano }) => [account, movement, what, balance_nano]),
    ).toEqual([
      [1, null, 'receipt 4', null],
      [1, 1, 'transfer 1', 100n],
      [1, 2, 'transfer 3', null],
      [1, 3, 'receipt 2', 97n],
      [1, 4, 'receipt 3', null],
      [1, 5, 'transfer 4', 77n],
      [1, 6, 'receipt 1', 70n],
      [1, 7, 'receipt 5', 70n],
      [2, 1, 'transfer 2', 70n],
      [2, 2, 'receipt 6', 69n],
    ])
    const edit = database.file.atomic([{ sql: 'UPDATE receipts SET charge_nano = 6 WHERE row = 1', rows: [[]] }])
    await expect(edit).rejects.toThrow(/closed receipt is never edited/)
    const twice = { sql: "UPDATE receipts SET state = 'released', charge_nano = 0, movement = ? WHERE row = 4" }
    await expect(database.file.atomic([{ ...twice, rows: [[7]] }])).rejects.toThrow(/UNIQUE/)
    await database.file.atomic([{ ...twice, rows: [[8]] }])
  })
})

describe('what the file itself refuses', () => {
  const HOLD = 'UPDATE buckets SET held_nano = held_nano + ? WHERE row = 3'
  const OPEN = `INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, hold_nano,
    output_cap, output_bound, input_estimate, opened_at) VALUES (?, ?, 1, 1, 'wallet', 'open', 'demo', 1, '[3]', ?, 10, 10, 10, 1)`
  const CLOSE = 'UPDATE receipts SET state = ?, charge_nano = ? WHERE row = ?'

  beforeEach(async () => {
    await insertAccount(database.file, { id: 'acct_1', email: 'a@example.com', createdAt: 1 })
    await database.file.atomic([{ sql: 'UPDATE buckets SET posted_nano = 100 WHERE row = 3', rows: [[]] }])
  })

  const code = async (sql: string, ...rows: (string | number | bigint)[][]) =>
    database.file.atomic([{ sql, rows }]).then(
      () => 'done',
      (error) => error.code,
    )

  it('is a wallet that would be overdrawn, by a charge or by holds', async () => {
    expect(await code(HOLD, [60n], [41n])).toBe('SQLITE_CONSTRAINT_CHECK')
    expect(await code(HOLD, [60n], [40n])).toBe('done')
    expect(await code('UPDATE buckets SET posted_nano = posted_nano - 1 WHERE row = 3', [])).toBe(
      'SQLITE_CONSTRAINT_CHECK',
    )
    expect(await code(HOLD, [-101n])).toBe('SQLITE_CONSTRAINT_CHECK')
    expect(await code('UPDATE buckets SET posted_nano = -5 WHERE row = 1', [])).toBe('done')
  })

  it('is a charge above the hold, below zero, or without an end', async () => {
    expect(await code(OPEN, [1, 'req_1', 50n])).toBe('done')
    expect(await code(CLOSE, ['settled', 51n, 1])).toBe('SQLITE_CONSTRAINT_CHECK')
    expect(await code(CLOSE, ['settled', -1n, 1])).toBe('SQLITE_CONSTRAINT_CHECK')
    expect(await code(CLOSE, ['released', 1n, 1])).toBe('SQLITE_CONSTRAINT_CHECK')
    expect(await code(CLOSE, ['open', 1n, 1])).toBe('SQLITE_CONSTRAINT_CHECK')
  })

  it('is a change of what is final: a closed receipt, an entry', async () => {
    expect(await code(OPEN, [1, 'req_1', 50n])).toBe('done')
    expect(await code(CLOSE, ['settled', 50n, 1])).toBe('done')
    expect(await code(CLOSE, ['settled', 49n, 1])).toBe('SQLITE_CONSTRAINT_TRIGGER')
    expect(await code("INSERT INTO transfers VALUES (1, 'credit', 'usd', 1, 'r', 'why', 5, 1, 1, 5)", [])).toBe('done')
    expect(await code('INSERT INTO entries VALUES (1, 1, 3, 5)', [])).toBe('done')
    expect(await code('UPDATE entries SET delta_nano = 6', [])).toBe('SQLITE_CONSTRAINT_TRIGGER')
    expect(await code('DELETE FROM entries', [])).toBe('SQLITE_CONSTRAINT_TRIGGER')
  })

  it('is a second receipt of the same request', async () => {
    expect(await code(OPEN, [1, 'req_1', 5n], [2, 'req_1', 5n])).toBe('SQLITE_CONSTRAINT_UNIQUE')
  })
})
