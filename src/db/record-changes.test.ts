import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { setFrozen } from './accounts.ts'
import { type Database, openDatabase } from './open-database.ts'
import { forgetExpiredClaims } from './receipts.ts'
import { BATCH_STATEMENTS, CLAIM_STATEMENTS, REPLACE_MARK, type RowStatement } from './record-changes.ts'
import type { AtomicStatement, SqlStore } from './sql-store.ts'
import { recordProof } from './verify.ts'

let folder: string
let database: Database

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-batch-'))
  database = await openDatabase({ path: join(folder, 'ledger.db'), clock: { now: () => 1, nowMicros: () => 0 } })
})

afterAll(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

/** The values do not matter to the plan, their number does. */
async function stepsOf(sql: string): Promise<string[]> {
  const values = (sql.match(/\?/g) ?? []).map(() => 1)
  const plan = await database.file.all(`EXPLAIN QUERY PLAN ${sql}`, values)
  return plan.map(({ detail }) => String(detail))
}

const formsOf = ({ sql, several }: RowStatement): string[] => [
  sql,
  ...(several
    ? [4, 16].map((rows) => several.sql.replace(several.each, Array(rows).fill(several.each).join(', ')))
    : []),
]

const isOfTheBatch = (step: string): boolean => /^SCAN (batch|\d+-ROW VALUES CLAUSE|\d+ CONSTANT ROWS)$/.test(step)

describe('a row that is written is found, not searched for', () => {
  const statements: Record<string, RowStatement> = { ...BATCH_STATEMENTS, ...CLAIM_STATEMENTS, REPLACE_MARK }

  it.each(Object.entries(statements))('%s, one row and several', async (_name, statement) => {
    for (const sql of formsOf(statement)) {
      const searched = (await stepsOf(sql)).filter((step) => /\bSCAN\b|\bAUTOMATIC\b/.test(step) && !isOfTheBatch(step))
      expect(searched, sql).toEqual([])
    }
  })

  it('what the sweeper forgets and what an audit writes', async () => {
    const sent: AtomicStatement[] = []
    const file = { atomic: async (list) => list.map((one) => sent.push(one)) } as Pick<SqlStore, 'atomic'> as SqlStore
    await forgetExpiredClaims(file, 1, 100)
    await setFrozen(file, 1, 5)
    await setFrozen(file, 1, null)
    await recordProof(file, { receipt: 1, transfer: 1, issued: 5n })
    expect(sent).toHaveLength(5)
    for (const { sql } of sent) expect((await stepsOf(sql)).join('; '), sql).not.toMatch(/\bSCAN\b|\bAUTOMATIC\b/)
  })
})
