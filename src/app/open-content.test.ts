import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ended, RING_KEY } from '../../test/fixtures/db/content/stored-responses.ts'
import { insertAccount } from '../../test/fixtures/db/set-up.ts'
import { openContent, withMarks } from '../db/content/open-content.ts'
import { openBytes, sealBytes } from '../db/content/sealing.ts'
import { createStoredResponses } from '../db/content/stored-responses.ts'
import { createStoreDialect } from '../db/kysely-dialect.ts'
import { findNewestMark } from '../db/meta.ts'
import { type Database, openDatabase } from '../db/open-database.ts'
import { SqlFailure } from '../db/sql-store.ts'
import type { LedgerTables } from '../db/tables.ts'
import { deriveKey } from '../lib/crypto.ts'
import type { AccountId } from '../model/ids.ts'
import { openContentOfLedger } from './open-content.ts'

const clock = { now: () => Date.UTC(2026, 10, 23), nowMicros: () => 0 }
const ADA = 'acct_ada' as AccountId
const BOB = 'acct_bob' as AccountId

let folder: string
let database: Database
const at = (name: string) => join(folder, name)
const openLedger = async () => {
  database = await openDatabase({ path: at('ledger.db'), clock })
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-content-of-'))
  await openLedger()
})
afterEach(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

/** Opens content.db beside the ledger that is open, does something with it as a server would, and closes it. */
async function withContent<Result>(
  work: (responses: ReturnType<typeof createStoredResponses>) => Promise<Result>,
): Promise<{ result: Result; reason: string | undefined; file: string | undefined }> {
  const opened = await openContentOfLedger(
    {
      config: { storage: { data: folder } },
      ...{ clock, database, overrides: { openContent }, onDeath: () => {} },
    },
    async (file, mark) => {
      let current = mark
      const marked = withMarks(file, () => current)
      const responses = createStoredResponses({
        ...{ file: marked, sealingKeys: [RING_KEY], now: clock.now, bytesMax: 1_000_000 },
        onFailure: (error) => expect(error).toBe(undefined),
      })
      await responses.recover()
      return {
        responses,
        async close() {
          current = await findNewestMark(database.db)
          await marked.close()
        },
      }
    },
  )
  const result = await work(opened.built.responses)
  await opened.built.close()
  return { result, reason: opened.quarantine?.reason, file: opened.quarantine?.file }
}

const later = Date.UTC(2027, 0, 1)
const keep = (account: AccountId, name: string) =>
  withContent(async (responses) => {
    // Before there were ids an account was known by its number.
    await addReceipt(`req_${name}`, Number(account) || 1)
    return responses.finish(ended(name, { account, expiresAt: later }))
  })
const find = (account: AccountId, name: string) =>
  withContent((responses) => responses.find({ account }, `resp_${name}`))

let receipts = 0
/** A request that was released at once: all that matters here is that the ledger has it. */
async function addReceipt(requestId: string, account = 1): Promise<void> {
  receipts += 1
  const columns = `request_id, account, key, kind, state, model, price_version, buckets, hold_nano, output_cap, output_bound,
    input_estimate, cached_estimate, opened_at, closed_at, charge_nano, movement`
  const values = `'${requestId}', ${account}, 1, 'wallet', 'released', 'm', 1, '[]', 0, 1, 1, 1, 0, 1, 1, 0, ${receipts}`
  await database.file.atomic([{ sql: `INSERT INTO receipts (${columns}) VALUES (${values})`, rows: [[]] }])
}

async function restoreLedger(copy: string): Promise<void> {
  await database.close()
  cpSync(at(copy), at('ledger.db'))
  await openLedger()
}
async function copyLedger(copy: string): Promise<void> {
  await database.close()
  cpSync(at('ledger.db'), at(copy))
  await openLedger()
}
const addAccount = (id: AccountId) => insertAccount(database.file, { id, email: `${id}@example.com`, createdAt: 1 })

it('a ledger that was restored shows an account nothing of the one that had its row number before', async () => {
  await copyLedger('backup')
  await addAccount(ADA)
  await keep(ADA, 'secret')
  await restoreLedger('backup')
  await addAccount(BOB)
  const { result, reason, file } = await find(BOB, 'secret')
  expect([result, reason]).toEqual([undefined, 'ahead'])
  expect(file).toMatch(/content\.db\.set-aside-ahead-2026-11-23T00-00-00\.000Z$/)
  expect(existsSync(file!)).toBe(true)
  // Not even with the very file of the other one in its place.
  await addReceipt('req_secret')
  cpSync(file!, at('content.db'))
  expect((await find(BOB, 'secret')).result).toBe(undefined)
})

it('a restored ledger that went on is not taken for the one it was copied from', async () => {
  await copyLedger('backup')
  await addAccount(ADA)
  await keep(ADA, 'secret')
  await restoreLedger('backup')
  await addAccount(ADA)
  for (const name of ['other', 'another', 'third']) await addReceipt(`req_${name}`)
  expect(await find(ADA, 'secret')).toMatchObject({ result: undefined, reason: 'ahead' })
})

it('content.db of another installation is set aside, whose row numbers are the same', async () => {
  await addAccount(ADA)
  await keep(ADA, 'mine')
  await database.close()
  rmSync(at('ledger.db'))
  await openLedger()
  await addAccount(ADA)
  await addReceipt('req_mine')
  expect(await find(ADA, 'mine')).toMatchObject({ result: undefined, reason: 'other-ledger' })
  expect(await keep(ADA, 'new')).toMatchObject({ result: true, reason: undefined })
  expect((await find(ADA, 'new')).result?.status).toBe('completed')
})

it('content.db that is older than the ledger is used: it knows nothing that the ledger does not', async () => {
  await addAccount(ADA)
  await keep(ADA, 'old')
  cpSync(at('content.db'), at('content-backup'))
  await keep(ADA, 'new')
  cpSync(at('content-backup'), at('content.db'))
  expect(await find(ADA, 'old')).toMatchObject({ result: { status: 'completed' }, reason: undefined })
  expect((await find(ADA, 'new')).result).toBe(undefined)
})

it('what is no content.db of ours, or cannot be read, is set aside as damaged', async () => {
  await addAccount(ADA)
  await keep(ADA, 'a')
  const whole = readFileSync(at('content.db'))
  const zeros = Buffer.from(whole)
  zeros.fill(0, 4096, whole.length)
  for (const bytes of [Buffer.from('not a database at all'.repeat(300)), whole.subarray(0, 5000), zeros]) {
    writeFileSync(at('content.db'), bytes)
    const found = await find(ADA, 'a')
    expect(found).toMatchObject({ result: undefined, reason: 'damaged' })
    expect(readFileSync(found.file!).equals(bytes)).toBe(true)
    rmSync(found.file!)
  }
  expect(await keep(ADA, 'b')).toMatchObject({ result: true, reason: undefined })
})

/** Makes content.db what the version before ids had written: row numbers in its tables and in its seals. */
async function writeAsBefore(row: number): Promise<void> {
  const file = await openContent({ path: at('content.db'), clock })
  const [key] = await file.all<{ name: string; wrapped: Uint8Array }>('SELECT name, wrapped FROM account_keys', [])
  const secret = deriveKey(RING_KEY.secret, 'account-key')
  const dataKey = await openBytes(secret, `account-key ${row} ${row} ${key!.name}`, key!.wrapped)
  const wrapped = await sealBytes(secret, `account-key ${row} ${key!.name}`, dataKey!)
  await file.atomic([
    { sql: 'UPDATE account_keys SET wrapped = ?', rows: [[wrapped]] },
    ...['account_keys', 'responses', 'items'].map((table) => ({
      sql: `UPDATE ${table} SET account = ${row}`,
      rows: [[]],
    })),
    ...['DROP TABLE owners', 'DROP TABLE of_ledger', 'ALTER TABLE account_keys DROP COLUMN sealed_as'].map((sql) => ({
      ...{ sql, rows: [[]] },
    })),
    { sql: 'ALTER TABLE responses DROP COLUMN as_sent', rows: [[]] },
    { sql: 'ALTER TABLE responses DROP COLUMN person', rows: [[]] },
    ...[
      'DROP TRIGGER account_emptied_of_responses',
      `CREATE TRIGGER account_emptied AFTER DELETE ON responses
        WHEN NOT EXISTS (SELECT 1 FROM responses WHERE account = OLD.account)
        BEGIN DELETE FROM account_keys WHERE account = OLD.account; END`,
    ].map((sql) => ({ sql, rows: [[]] })),
    ...[
      'served',
      'served_latency',
      'served_lanes',
      'served_lane_latency',
      'served_upto',
      'served_models',
      'conversations',
    ].map((table) => ({
      ...{ sql: `DROP TABLE ${table}`, rows: [[]] },
    })),
    { sql: "DELETE FROM migrations WHERE name >= '0006'", rows: [[]] },
  ])
  await file.close()
}

it('content.db of an earlier version is taken over once, and from then on known by account ids', async () => {
  await addAccount(BOB)
  await addAccount(ADA)
  await keep('2' as AccountId, 'old')
  await writeAsBefore(2)
  expect(await find(ADA, 'old')).toMatchObject({ result: { status: 'completed' }, reason: undefined })
  expect((await find(BOB, 'old')).result).toBe(undefined)
  await withContent(async (responses) => {
    const next = ended('next', { account: ADA, parent: 'resp_old', expiresAt: later })
    expect(await responses.finish(next)).toBe(true)
    expect(await responses.context({ account: ADA }, 'resp_next', 1_000_000)).toMatchObject({
      kind: 'found',
      items: { length: 4 },
    })
  })
  // Its key is bound to the account's id now: what is moved to another account does not open.
  const file = await openContent({ path: at('content.db'), clock })
  await file.atomic([{ sql: 'UPDATE owners SET id = ?', rows: [['acct_other']] }])
  await file.close()
  const unreadable = withContent((responses) => responses.find({ account: 'acct_other' as AccountId }, 'resp_old'))
  await expect(unreadable).rejects.toThrow(/A stored response of/)
})

it('content.db of an earlier version is set aside where the ledger does not have what it knows', async () => {
  await addAccount(BOB)
  await addAccount(ADA)
  await copyLedger('backup')
  await keep('2' as AccountId, 'old')
  await writeAsBefore(2)
  await restoreLedger('backup')
  expect(await find(ADA, 'old')).toMatchObject({ result: undefined, reason: 'ahead' })
})

it('stays where it is when it is the ledger that cannot be read', async () => {
  await addAccount(ADA)
  await keep(ADA, 'a')
  const damaged = { all: () => Promise.reject(new SqlFailure('database disk image is malformed', 'SQLITE_CORRUPT')) }
  const db = new Kysely<LedgerTables>({ dialect: createStoreDialect(damaged as never) })
  const config = { storage: { data: folder } }
  const scene = {
    config,
    clock,
    database: { db, ledger: database.ledger },
    overrides: { openContent },
    onDeath: () => {},
  }
  await expect(openContentOfLedger(scene, async () => undefined)).rejects.toThrow(/ledger\.db is damaged/)
  expect((await find(ADA, 'a')).result).toMatchObject({ status: 'completed' })
})
