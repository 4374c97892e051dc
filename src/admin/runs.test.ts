import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { expect, it } from 'vitest'
import { insertAccount } from '../../test/fixtures/db/set-up.ts'
import { createStoreDialect } from '../db/kysely-dialect.ts'
import { openDatabase } from '../db/open-database.ts'
import type { LedgerDb, LedgerTables } from '../db/tables.ts'
import type { AccountRow } from '../model/ids.ts'
import { readRunTree } from './runs.ts'

it('the requests of a run are added up once for all that ask while an account is read for', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-runs-'))
  const clock = { now: () => 1, nowMicros: () => 0 }
  const { file, close } = await openDatabase({ path: join(folder, 'ledger.db'), clock })
  for (const name of ['ada', 'ben'])
    await insertAccount(file, { id: `acct_${name}`, email: `${name}@x.com`, createdAt: 1 })
  const insert = "INSERT INTO runs (account, id, opened_at, ends_at) VALUES (?, 'fix', 1, 9), (?, 'other', 1, 9)"
  await file.atomic([1, 2].map((account) => ({ sql: insert, rows: [[account, account]] })))
  const sums: unknown[] = []
  let [underWay, mostUnderWay] = [0, 0]
  const db: LedgerDb = new Kysely<LedgerTables>({
    dialect: createStoreDialect({
      ...file,
      async all(sql, parameters) {
        if (!sql.includes('receipt_tags')) return file.all(sql, parameters)
        sums.push(parameters[0])
        mostUnderWay = Math.max(mostUnderWay, ++underWay)
        await new Promise((resolve) => setTimeout(resolve, 20))
        underWay--
        return file.all(sql, parameters)
      },
    }),
  })
  const read = (account: number, id: string) => readRunTree({ db, clock }, { account: account as AccountRow }, id)
  const runs = await Promise.all(Array.from({ length: 100 }, () => read(1, 'fix')))
  expect(new Set(runs.map((run) => run?.id))).toEqual(new Set(['fix']))
  // The first, and one that began after it for all others.
  expect([sums.length, mostUnderWay]).toEqual([2, 1])
  sums.length = 0
  expect((await Promise.all([read(1, 'fix'), read(1, 'other')])).map((run) => run?.id)).toEqual(['fix', 'other'])
  expect([sums.length, mostUnderWay]).toEqual([2, 1])
  await Promise.all([read(1, 'fix'), read(2, 'fix')])
  expect(mostUnderWay).toBe(2)
  await close()
  rmSync(folder, { recursive: true })
})
