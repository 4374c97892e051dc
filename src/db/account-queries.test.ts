import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, type LogEvent } from 'kysely'
import { expect, it } from 'vitest'
import { insertAccount, insertKey } from '../../test/fixtures/db/set-up.ts'
import { countByBucket, findPlanClosingTime, findWindow, listLatestWindows, listWindowSubjects } from './allowances.ts'
import { countKeys, countKeysOfPeople, findPlaygroundKey, listShownKeys, listUsableKeys } from './keys.ts'
import { createStoreDialect } from './kysely-dialect.ts'
import { openDatabase } from './open-database.ts'
import {
  findTaggedSliceStart,
  listClosedRequests,
  listReceiptsThatAreThere,
  listRunningRequests,
  sumClosedReceipts,
  sumRunning,
} from './receipts.ts'
import { listCountersOfRuns, listRuns } from './runs.ts'
import { RECEIPT_KINDS } from './sql.ts'
import type { SqlValue } from './sql-store.ts'
import {
  countWalletRequests,
  findLastMovement,
  findMovementAt,
  findMovementTime,
  findSliceStart,
  listLastMoves,
  listStatement,
} from './statement.ts'
import type { LedgerDb, LedgerTables } from './tables.ts'

it('queries of an account are answered from an index, in its order', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-account-queries-'))
  const { file, close } = await openDatabase({
    path: join(folder, 'ledger.db'),
    clock: { now: () => 1, nowMicros: () => 0 },
  })
  const open = `INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, hold_nano,
    output_cap, output_bound, input_estimate, opened_at) VALUES (1, 'req_a', 1, 1, 'wallet', 'open', 'demo', 1, '[3]', 5, 1, 1, 1, 1)`
  await file.atomic([{ sql: open, rows: [[]] }])
  const queries: { sql: string; parameters: readonly unknown[] }[] = []
  const log = (event: LogEvent) => void queries.push(event.query)
  const db: LedgerDb = new Kysely<LedgerTables>({ dialect: createStoreDialect(file), log })
  await findLastMovement(db, 1)
  for (const kinds of [RECEIPT_KINDS, ['wallet']] as const)
    await findSliceStart(db, 1, { kinds, before: 9, requests: 5 })
  const filter = { key: 1, model: 'demo', kind: 'builder', outcome: 'ok', bucket: 7 } as const
  for (const each of [
    {},
    filter,
    { bucket: 7 },
    { key: 1 },
    { person: 1 },
    { tag: 'repo:a' },
    { tag: 'repo:a', kind: 'wallet' } as const,
  ]) {
    await listClosedRequests(db, 1, { from: 1, before: 9, limit: 5, filter: each })
  }
  await findTaggedSliceStart(db, 1, { tag: 'repo:a', before: 9, requests: 5 })
  for (const each of [filter, { person: 1 }, { tag: 'repo:a' }])
    await listRunningRequests(db, 1, { before: 9, limit: 5, filter: each })
  for (const keys of [
    { account: 1 },
    { account: 1, person: 1 },
    { account: 1, team: 1 },
    { account: 1, person: 1, team: 1 },
  ]) {
    await listShownKeys(db, keys, { before: 9, limit: 5, words: [] })
    await countKeys(db, keys, 1)
    await listUsableKeys(db, keys, { since: 1, limit: 5 })
  }
  await countKeysOfPeople(db, [1, 2])
  for (const person of [undefined, 1]) await listRuns(db, { account: 1, person }, { before: 9, limit: 5 })
  await listCountersOfRuns(db, 1, [1, 2])
  for (const person of [null, 1]) await findPlaygroundKey(db, { account: 1, person, kind: 'wallet' })
  await sumRunning(db, 1, 'wallet')
  for (const kind of [undefined, 'charge', 'refund'] as const) {
    await listStatement(db, 1, { from: 1, before: 9, limit: 5, kind })
  }
  await findMovementTime(db, 1, 7)
  await findMovementAt(db, 1, { last: 9, at: 1, otherwise: -1 })
  await listLastMoves(db, 1, 7)
  await countWalletRequests(db, 1, { from: 1, before: 9 })
  await findWindow(db, 1, { subject: 'window:5h', start: 1 })
  await listWindowSubjects(db, 1)
  await listLatestWindows(db, 1, { subject: 'window:5h', limit: 5 })
  await findPlanClosingTime(db, 1, 7)
  for (const running of [true, false]) await countByBucket(db, 1, { from: 1, before: 9, running })
  await sumClosedReceipts(db, [{ account: 1, after: 7 }], 5)
  await listReceiptsThatAreThere(db, [{ account: 1, movement: 7, closedAt: 1 }])
  expect(queries).toHaveLength(51)
  for (const { sql, parameters } of queries) {
    const plan = await file.all(`EXPLAIN QUERY PLAN ${sql}`, parameters as SqlValue[])
    const steps = plan.map((step) => String(step.detail))
    const scans = steps.filter((step) => /\bSCAN\b|AUTOMATIC|TEMP B-TREE/.test(step))
    expect(
      scans.filter((step) => !EXPECTED.some((known) => known.test(step))),
      sql,
    ).toEqual([])
    expect(
      steps.some((step) => /USING .*(INDEX|PRIMARY KEY)/.test(step)),
      sql,
    ).toBe(true)
    expect(
      steps.filter((step) => ALL_OF_AN_ACCOUNT.test(step)),
      sql,
    ).toEqual([])
    if (sql.includes('charge_nano > 0'))
      expect(steps, 'merged as they are read').not.toContain('USE TEMP B-TREE FOR ORDER BY')
  }
  await close()
  rmSync(folder, { recursive: true })
})

it('the oldest of many that run are found, also where a filter passes over all others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-many-run-'))
  const clock = { now: () => 1, nowMicros: () => 0 }
  const { db, file, close } = await openDatabase({ path: join(folder, 'ledger.db'), clock })
  await insertAccount(file, { id: 'acct_ada', email: 'ada@example.com', createdAt: 1 })
  const key = {
    account: 1,
    kind: 'wallet',
    name: 'ci',
    shown: 'mr_',
    models: null,
    limits: null,
    expires_at: null,
  } as const
  await insertKey(db, { ...key, id: 'key_1', digest: new Uint8Array(32), created_at: 1 })
  const many = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
    INSERT INTO receipts (row, request_id, account, key, kind, state, model, price_version, buckets, hold_nano, output_cap,
    output_bound, input_estimate, opened_at) SELECT i, 'req_' || i, 1, 1, 'wallet', 'open', iif(i < 3, 'rare', 'demo'), 1,
    '[]', 5, 1, 1, 1, 1 FROM n`
  await file.atomic([{ sql: many, rows: [[]] }])
  const page = { before: Number.MAX_SAFE_INTEGER, limit: 2 }
  const rowsOf = async (over: object) =>
    (await listRunningRequests(db, 1, { ...page, filter: { model: 'rare' }, ...over })).map(({ row }) => row)
  expect(await rowsOf({})).toEqual([2, 1])
  expect(await rowsOf({ before: 2 })).toEqual([1])
  expect(await rowsOf({ filter: {} })).toEqual([2500, 2499])
  await close()
  rmSync(folder, { recursive: true })
})

/** A search by the account alone scans all its requests, except in the index of open ones. */
const ALL_OF_AN_ACCOUNT = /^SEARCH receipts (?!USING (COVERING )?INDEX open_receipts).*\(account=\?\)$/

/** What is as small as it looks: a constant, a list that was handed in and what is made of it, the buckets of one receipt, open holds, the one or two rows of a subquery. */
const EXPECTED = [
  /^SCAN CONSTANT ROW$/,
  /^SCAN (held_on|json_each|named|tagged)( EXISTS)? VIRTUAL TABLE INDEX/,
  /^SCAN (slices|bounded|halved|clock_corrections USING COVERING INDEX \w+)$/,
  /^SCAN receipts USING (COVERING )?INDEX open_receipts$/,
  /^SCAN (subjects|sums|counted|next|next_ones|of_kinds|last_(charge|transfer|two|wallet|builder|moves)|\(subquery-\d+\))$/,
  /^USE TEMP B-TREE FOR (GROUP BY|ORDER BY)$/,
]
