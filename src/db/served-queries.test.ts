import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, type LogEvent } from 'kysely'
import { expect, it } from 'vitest'
import { findAuditTime, listAuditSlice } from './audit.ts'
import { openContent } from './content/open-content.ts'
import {
  readLaneCalls,
  readModelMeasures,
  spansOf,
  sumLatencies,
  sumServed,
  sumServedByAccount,
  sumServedByModel,
} from './content/served-totals.ts'
import { createStoreDialect } from './kysely-dialect.ts'
import { openDatabase } from './open-database.ts'
import {
  findClosingTime,
  findOpeningTime,
  findOperatedReceipt,
  listOpenReceiptsOf,
  listReceiptsByMovement,
  listReceiptsByRow,
} from './receipts.ts'
import {
  findSliceEnds,
  sumLaneCalls,
  sumModelMeasures,
  sumReceiptLatencies,
  sumServedReceipts,
  sumUsageOfReceipts,
} from './served-receipts.ts'
import type { SqlStore, SqlValue } from './sql-store.ts'
import { findWalletBalance, listMoneyTransfers } from './statement.ts'
import type { LedgerDb, LedgerTables } from './tables.ts'

const CLOCK = { now: () => 1, nowMicros: () => 0 }
const TABLES = 'receipts|transfers|audit|keys|accounts|served\\w*|owners'

/** A scan of one of the tables that grow. What is made of a slice may be sorted. */
const GROWS = new RegExp(`^SCAN (${TABLES})\\b(?! USING COVERING INDEX open_receipts)`)

async function scansOf(file: SqlStore, sql: string, parameters: readonly unknown[]): Promise<string[]> {
  const plan = await file.all(`EXPLAIN QUERY PLAN ${sql}`, parameters as SqlValue[])
  return plan.map((step) => String(step.detail)).filter((step) => GROWS.test(step))
}

it('reports of operators and invoices read slices, by an index or by the numbers of rows', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-served-queries-'))
  const { file, close } = await openDatabase({ path: join(folder, 'ledger.db'), clock: CLOCK })
  const queries: { sql: string; parameters: readonly unknown[] }[] = []
  const log = (event: LogEvent) => void queries.push(event.query)
  const db: LedgerDb = new Kysely<LedgerTables>({ dialect: createStoreDialect(file), log })
  const slice = { account: 1, after: 0, upTo: 9 }
  await findSliceEnds(db, [{ account: 1, after: 0 }], 5)
  await sumServedReceipts(db, [slice])
  await sumReceiptLatencies(db, [slice])
  await sumLaneCalls(db, [slice], 1)
  await sumModelMeasures(db, [slice], 1)
  await sumUsageOfReceipts(db, slice)
  const filter = { key: 1, model: 'm', lane: 'l', status: 'ok', from: 1, before: 2, chargeMin: 5n } as const
  for (const each of [{}, filter, { status: 'running' } as const, { kind: 'wallet' } as const]) {
    await listReceiptsByRow(db, { from: 1, before: 9, limit: 5, filter: each })
    await listReceiptsByMovement(db, 1, { from: 1, before: 9, limit: 5, filter: each })
    await listOpenReceiptsOf(db, 1, each, 5)
  }
  await findOperatedReceipt(db, 'req_a')
  await findOpeningTime(db, 5)
  await findClosingTime(db, 1, 5)
  await findWalletBalance(db, 1, 5)
  await listMoneyTransfers(db, 1, { from: 1, before: 9, limit: 5 })
  for (const each of [{}, { target: 'key_a' }, { actor: 'a', action: 'key_created' }])
    await listAuditSlice(db, {
      from: 1,
      before: 9,
      limit: 5,
      target: undefined,
      actor: undefined,
      action: undefined,
      ...each,
    })
  await findAuditTime(db, 5)
  expect(queries.length).toBeGreaterThan(25)
  for (const { sql, parameters } of queries) expect(await scansOf(file, sql, parameters), sql).toEqual([])
  await close()

  const content = await openContent({ path: join(folder, 'content.db'), clock: CLOCK, onDeath: undefined })
  const asked: { sql: string; parameters: readonly SqlValue[] }[] = []
  const logged: SqlStore = {
    ...content,
    all(sql, parameters) {
      asked.push({ sql, parameters })
      return content.all(sql, parameters)
    },
  }
  const spans = spansOf(0, 100 * 86_400_000)
  await sumServed(logged, [spans, spans])
  await sumServedByModel(logged, spans, 5)
  await sumServedByAccount(logged, spans, 5)
  await sumLatencies(logged, spans, 'first')
  await readLaneCalls(logged, 5)
  await readModelMeasures(logged, 5)
  for (const { sql, parameters } of asked) expect(await scansOf(content, sql, parameters), sql).toEqual([])
  await content.close()
  rmSync(folder, { recursive: true })
})

const DAY = 86_400_000
const at = (text: string) => Date.parse(`${text}:00Z`)

it('a range is divided into whole quarters, days and months, without a gap', () => {
  expect(spansOf(at('2026-01-15T18:15'), at('2026-04-02T05:45'))).toEqual([
    { step: 'quarter', from: at('2026-01-15T18:15'), to: at('2026-01-16T00:00') },
    { step: 'day', from: at('2026-01-16T00:00'), to: at('2026-02-01T00:00') },
    { step: 'month', from: at('2026-02-01T00:00'), to: at('2026-04-01T00:00') },
    { step: 'day', from: at('2026-04-01T00:00'), to: at('2026-04-02T00:00') },
    { step: 'quarter', from: at('2026-04-02T00:00'), to: at('2026-04-02T05:45') },
  ])
  for (let from = at('2026-01-31T22:00'); from < at('2026-03-02T00:00'); from += DAY / 3) {
    for (const length of [DAY / 96, DAY / 2, DAY, 3 * DAY, 33 * DAY, 70 * DAY]) {
      const spans = spansOf(from, from + length)
      expect(spans[0]!.from).toBe(from)
      expect(spans.at(-1)!.to).toBe(from + length)
      for (const [index, span] of spans.slice(1).entries()) expect(span.from).toBe(spans[index]!.to)
    }
  }
})
