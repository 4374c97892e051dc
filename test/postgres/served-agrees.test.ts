import { describe, expect, it } from 'vitest'
import { openPostgres } from '../../src/db/postgres/open-database.ts'
import {
  expectAgreement,
  openServedBench,
  randomRange,
  readCredits,
  readReceipts,
  type ServedBench,
  seedLedger,
} from '../fixtures/admin/served-bench.ts'
import { expectStatementsByDay } from '../fixtures/admin/statement-by-day.ts'
import { randomFrom } from '../fixtures/lib/seeded-random.ts'
import { postgresUrl } from '../support/server-on-postgres.ts'
import { createEmptyDatabase, postgres } from './postgres-ledger.ts'

const SEED = Number(process.env.SERVED_SEED ?? Date.now() % 1_000_000)
const RANGES = Number(process.env.SERVED_RANGES ?? 5)
const RECEIPTS = Number(process.env.SERVED_RECEIPTS ?? 500)

const openNode = async (database: string) => {
  const node = await openPostgres({ url: postgresUrl(database), mayLoseCommits: true, onTrouble() {} })
  const bench = openServedBench({ kind: 'postgres', db: node.db, file: node.file, content: node.content })
  const close = async () => {
    await bench.served.close()
    await bench.usage.close()
    await node.close()
  }
  return { bench, close }
}

describe.skipIf(!postgres)('what the server served, on PostgreSQL', () => {
  it(`is what the receipts say, while two nodes count it (seed ${SEED})`, async () => {
    const database = await createEmptyDatabase()
    const nodes = [await openNode(database.database), await openNode(database.database)]
    const benches = nodes.map(({ bench }) => bench)
    const bench = benches[0] as ServedBench
    await seedLedger(bench, { seed: SEED, receipts: RECEIPTS })
    // Both count the same accounts at once: one of them is undone.
    await Promise.all(benches.map(({ served }) => served.catchUp()))
    const below = randomFrom(SEED + 1)
    const [receipts, credits] = [await readReceipts(bench), await readCredits(bench)]
    let found = 0
    for (let range = 0; range < RANGES; range++)
      found += await expectAgreement(benches[range % 2]!, randomRange(below), receipts, credits)
    expect(found).toBeGreaterThan(0)
    expect(benches.map(({ failures }) => failures)).toEqual([[], []])
    for (const { close } of nodes) await close()
    await database.drop()
  })

  it(`a statement by day is the sum of its movements (seed ${SEED})`, async () => {
    const database = await createEmptyDatabase()
    const node = await openNode(database.database)
    expect(await expectStatementsByDay(node.bench, { seed: SEED, receipts: 300, ranges: 3 })).toBeGreaterThan(3)
    await node.close()
    await database.drop()
  })
})
