import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { insertAccount } from '../../test/fixtures/db/set-up.ts'
import type { ReceiptClosed } from '../ledger/state/state.ts'
import type { AccountRow } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import { ledgerMigrations } from './migrations/ledger-migrations.ts'
import { type Database, openDatabase } from './open-database.ts'
import { findReceipt } from './receipts.ts'
import { recordChanges } from './record-changes.ts'
import { DatabaseLocked } from './sqlite/failure.ts'
import { migrate } from './sqlite/migrate.ts'
import { openSqlite } from './sqlite/open-sqlite.ts'

const clock = { now: () => 1_700_000_000_000, nowMicros: () => 0 }
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

  it('is never created where a backup is being restored', async () => {
    await database.close()
    rmSync(path)
    writeFileSync(`${path}.restoring`, '')
    await expect(openDatabase({ path, clock })).rejects.toThrow(/being restored into .* repeat millrace db restore/)
    expect(existsSync(path)).toBe(false)
    rmSync(`${path}.restoring`)
    database = await openDatabase({ path, clock })
  })

  it('is never created beside files of an earlier ledger: the error says how to restore it', async () => {
    await database.close()
    const ofEarlierLedger = ['content.db', 'keyring.json']
    const begin = () => openDatabase({ path, clock, ofEarlierLedger })
    database = await begin()
    await database.close()
    for (const bytes of [undefined, Buffer.alloc(0)]) {
      rmSync(path, { force: true })
      if (bytes !== undefined) writeFileSync(path, bytes)
      await expect(begin()).rejects.toThrow(/ledger\.db is missing or empty, but content\.db, keyring\.json .* Restore/)
      expect(existsSync(path)).toBe(bytes !== undefined)
    }
    rmSync(path, { force: true })
    const blank = await openSqlite({ path })
    await blank.close()
    await expect(begin()).rejects.toThrow(/missing or empty/)
    rmSync(path)
    database = await openDatabase({ path, clock })
  })

  it('says of a file that is damaged, or no database, what it is and what to do', async () => {
    await database.file.atomic([{ sql: "INSERT INTO meta (name, value) VALUES ('some', 'thing')", rows: [[]] }])
    await database.close()
    const whole = readFileSync(path)
    writeFileSync(path, Buffer.concat([Buffer.from('no'), whole.subarray(2)]))
    await expect(openDatabase({ path, clock })).rejects.toThrow(
      /ledger\.db is not a database, .* Restore it from a backup/,
    )
    // As a crash leaves it: then every page is looked at, not only those that the start reads.
    writeFileSync(path, whole)
    const crashed = await openSqlite({ path })
    await crashed.atomic([{ sql: "UPDATE meta SET value = 'else' WHERE name = 'some'", rows: [[]] }])
    const image = [readFileSync(path), readFileSync(`${path}-wal`)] as const
    await crashed.close()
    const last = image[0].length - 4096
    writeFileSync(path, Buffer.concat([image[0].subarray(0, last), Buffer.alloc(4096, 7)]))
    writeFileSync(`${path}-wal`, image[1])
    await expect(openDatabase({ path, clock })).rejects.toThrow(/ledger\.db is damaged\. Restore it from a backup/)
    rmSync(`${path}-wal`, { force: true })
    writeFileSync(path, whole)
    database = await openDatabase({ path, clock })
  })

  it('has an identity of its own, for ever', async () => {
    const { ledger } = database
    expect(ledger).toMatch(/^[0-9a-f]{32}$/)
    await database.close()
    database = await openDatabase({ path, clock })
    expect(database.ledger).toBe(ledger)
    const other = await openDatabase({ path: `${path}-other`, clock })
    await other.close()
    expect(other.ledger).not.toBe(ledger)
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
  const migrations = ledgerMigrations.filter(({ name }) => name < '0003')
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
    await migrate(old, migrations, clock)
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
    await database.file.atomic(recordChanges([{ changes: [closed] }], undefined))
    expect(await findReceipt(database.db, 'req_open')).toMatchObject({
      ...{ state: 'settled', charge_nano: 7n, tokens_before: 48_210, tokens_after: 2_034 },
    })
  })
})

describe('a ledger of the version whose spend caps were buckets', () => {
  const migrations = ledgerMigrations.filter(({ name }) => name < '0007')

  it('goes on from what was spent and is held, and keeps its transfers, receipts and numbers', async () => {
    await database.close()
    rmSync(path)
    const old = await openSqlite({ path })
    await migrate(old, migrations, clock)
    await insertAccount(old, { id: 'a', email: 'a@example.com', createdAt: 1 })
    await old.atomic(
      [
        // The wallet, a used cap of the day with a turn on it, one of the month that was outlived, and the one after it.
        `UPDATE buckets SET posted_nano = 60, held_nano = 10 WHERE row = 3`,
        `INSERT INTO buckets (row, unit, kind, account, subject, period_start, period_end, posted_nano, held_nano) VALUES
          (1000, 'cap', 'cap', 1, 'cap:7:day', 5, 9, 460, 10), (1001, 'cap', 'cap', 1, 'cap:7:month', 1, 4, 60, 5),
          (1002, 'cap', 'cap', 1, 'cap:7:month', 4, 99, 880, 10)`,
        `INSERT INTO transfers (row, kind, unit, account, ref, reason, amount_nano, at, movement, balance_nano) VALUES
          (1, 'credit', 'usd', 1, 'r', 'why', 100, 1, 1, 100), (2, 'grant', 'cap', 1, '1000.2', 'why', 500, 5, 2, NULL),
          (3, 'grant', 'cap', 1, '1001.3', 'why', 100, 5, 3, NULL), (4, 'grant', 'cap', 1, '1002.4', 'why', 900, 5, 4, NULL)`,
        `INSERT INTO entries (transfer, seq, bucket, delta_nano) VALUES (1, 0, 3, 100), (1, 1, 1, -100),
          (2, 0, 1000, 500), (2, 1, -21, -500), (3, 0, 1001, 100), (3, 1, -21, -100), (4, 0, 1002, 900), (4, 1, -21, -900)`,
        `UPDATE buckets SET posted_nano = -100 WHERE row = 1`,
        `UPDATE buckets SET posted_nano = 40 WHERE row = 2`,
        `UPDATE buckets SET posted_nano = -1500 WHERE row = -21`,
        `INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, hold_nano,
            output_cap, output_bound, input_estimate, opened_at, closed_at, charge_nano, cost_nano, shortfall_nano, movement, balance_nano)
          VALUES (1, 'req_1', 1, 7, 'wallet', 'settled', 'demo', 1, '[3,1000,1002]', 50, 10, 10, 10, 5, 6, 40, 40, 0, 5, 60),
            (2, 'req_2', 1, 7, 'wallet', 'open', 'demo', 1, '[3,1000,1002]', 10, 10, 10, 10, 6, NULL, NULL, NULL, NULL, NULL, NULL)`,
      ].map((sql) => ({ sql, rows: [[]] })),
    )
    await old.close()

    database = await openDatabase({ path, clock })
    const { file } = database
    expect(await file.all('SELECT * FROM spend_counters ORDER BY subject', [])).toEqual([
      {
        ...{
          row: 1,
          first_receipt: 1,
          carried_nano: 40n,
          account: 1,
          subject: 'cap:7:day',
          period_start: 5,
          period_end: 9,
        },
        ...{ bound_nano: 500n, spent_nano: 40n, held_nano: 10n },
      },
      {
        ...{
          row: 2,
          first_receipt: 1,
          carried_nano: 20n,
          account: 1,
          subject: 'cap:7:month',
          period_start: 4,
          period_end: 99,
        },
        ...{ bound_nano: 900n, spent_nano: 20n, held_nano: 10n },
      },
    ])
    expect(await file.all('SELECT row, buckets, caps FROM receipts ORDER BY row', [])).toEqual([
      { row: 1, buckets: '[3,1000,1002]', caps: null },
      { row: 2, buckets: '[3]', caps: 'day month' },
    ])
    expect(await file.all("SELECT row FROM buckets WHERE kind = 'cap' AND closed_at IS NULL", [])).toEqual([])
    expect(await file.all("SELECT row, posted_nano FROM buckets WHERE kind = 'system' ORDER BY row", [])).toEqual(
      [-13, -12, -11, 1, 2].map((row) => ({ row, posted_nano: row === 1 ? -100n : 0n })),
    )
    expect(await file.all('SELECT COUNT(*) AS transfers FROM transfers', [])).toEqual([{ transfers: 4 }])
    const refund = `INSERT INTO transfers VALUES (?, ?, 'usd', 1, 'r', 'why', -5, 9, ?, 55)`
    await file.atomic([{ sql: refund, rows: [[5, 'refund', 6]] }])
    await expect(file.atomic([{ sql: refund, rows: [[6, 'refund', 7]] }])).rejects.toThrow(/UNIQUE/)
  })
})

describe('a ledger of the version before movements', () => {
  const migrations = ledgerMigrations.filter(({ name }) => name < '0004')
  const RECEIPT = `INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, hold_nano,
      output_cap, output_bound, input_estimate, opened_at, closed_at, charge_nano)
    VALUES (?, 'req_' || ?1, ?, 1, ?, ?, 'demo', 1, '[3]', 50, 10, 10, 10, 1, ?, ?)`
  const TRANSFER = `INSERT INTO transfers VALUES (?, ?, ?, ?, 'ref ' || ?1, 'why', ?, ?)`

  it('is numbered in the order of its times, account by account, with the balances that follow', async () => {
    await database.close()
    rmSync(path)
    const old = await openSqlite({ path })
    await migrate(old, migrations, clock)
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

describe('a ledger of the version before teams', () => {
  it('keeps its people, who stay signed in and invited, and takes the new roles', async () => {
    await database.close()
    rmSync(path)
    const old = await openSqlite({ path })
    await migrate(
      old,
      ledgerMigrations.filter(({ name }) => name < '0013'),
      clock,
    )
    await insertAccount(old, { id: 'a', email: 'a@example.com', createdAt: 1 })
    await old.atomic(
      [
        `INSERT INTO people (row, id, email, role, account, password, created_at, password_changed_at, disabled_at) VALUES
          (7, 'usr_7', 'a@example.com', 'owner', 1, 'hash', 1, 2, NULL), (9, 'usr_9', 'o@example.com', 'operator', NULL, 'hash', 1, 2, 3)`,
        `INSERT INTO sessions (row, id, digest, person, created_at, seen_at, expires_at, confirmed_at, agent, address)
          VALUES (4, 'ses_4', x'01', 7, 1, 2, 3, 4, 'agent', 'address')`,
        `INSERT INTO invites (row, digest, role, account, person, email, created_at, expires_at, used_at, created_by)
          VALUES (5, x'02', 'owner', 1, 7, 'a@example.com', 1, 2, NULL, 'usr_9')`,
      ].map((sql) => ({ sql, rows: [[]] })),
    )
    const tables = ['people', 'sessions', 'invites']
    const read = (file: Pick<Database['file'], 'all'>) =>
      Promise.all(tables.map((table) => file.all(`SELECT * FROM ${table} ORDER BY row`, [])))
    const indexes = (file: Pick<Database['file'], 'all'>) =>
      file.all(
        `SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name IN ('${tables.join("','")}') ORDER BY name`,
        [],
      )
    const [rows, indexed] = [await read(old), await indexes(old)]
    await old.close()

    database = await openDatabase({ path, clock })
    expect(await read(database.file)).toMatchObject(rows)
    expect(await indexes(database.file)).toEqual(indexed)
    expect(await database.file.all('SELECT * FROM pragma_foreign_key_check', [])).toEqual([])
    const leave = { sql: 'DELETE FROM people WHERE row = 7', rows: [[]] }
    await expect(database.file.atomic([leave])).rejects.toThrow(/FOREIGN KEY/)
    const join = `INSERT INTO people (id, email, role, account, password, created_at, password_changed_at)
      VALUES ('usr_10', 'v@example.com', 'viewer', 1, 'hash', 1, 1)`
    await database.file.atomic([{ sql: join, rows: [[]] }])
  })
})
