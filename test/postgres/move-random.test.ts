import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { loadKeyring } from '../../src/app/key-ring.ts'
import type { AdmitRequest } from '../../src/ledger/state/turns.ts'
import { type Allowance, type Cycle, capOf } from '../../src/model/allowance.ts'
import type { AccountRow, RequestId } from '../../src/model/ids.ts'
import { requestFor, usd } from '../fixtures/ledger/contract-bench.ts'
import { fractionsFrom } from '../fixtures/lib/seeded-random.ts'
import { spendCapOf } from '../fixtures/model/allowance.ts'
import { postgresUrl } from '../support/server-on-postgres.ts'
import { createBothLedgers } from './both-ledgers.ts'
import { createPlaces, moved } from './moves/moving.ts'
import { createPostgresLedgerState, type PostgresLedgerState, postgres } from './postgres-ledger.ts'

const seed = Number(process.env.MILLRACE_SEED ?? Date.now() % 1_000_000_000)
const RUNS = 3
const STEPS = 150
const HOUR = 3_600_000
const SECRET = 'the-secret-of-a-ledger-that-is-moved-to-and-fro'
const CONFIG = `key_ring: { secret_key: ${SECRET} }\n`

const quota = (name: string, cycle: Cycle): Allowance => ({
  ...{ subject: `window:${name}`, unit: 'quota', name, cycle, amount: usd(10_000_000n) },
})
const WINDOWS = [quota('5h', { kind: 'anchored', ms: 5 * HOUR }), quota('month', { kind: 'month', day: 'billing' })]
const CAPS = [
  ...[spendCapOf(1, 'day', 60_000_000n), spendCapOf(1, 'month', 60_000_000n), spendCapOf(1, 'tokens_day', 1_000_000n)],
  ...[capOf('team', 1, 'total', 600_000_000n), capOf('person', 1, 'requests_day', 1000n)],
]

/** Periods, caps, expiries and refusals in a random order, at rest in the end. */
async function liveAtRandom(database: PostgresLedgerState, next: () => number): Promise<void> {
  const below = (most: number) => Math.floor(next() * most)
  const of = <Each>(choices: readonly Each[]): Each => choices[below(choices.length)]!
  const accounts = [await database.addAccount(), await database.addAccount(), await database.addAccount()]
  const both = await createBothLedgers(database, accounts, [])
  let at = Date.UTC(2025, below(12), 1 + below(28))
  await both.setClock(at)
  const open: RequestId[] = []
  const turn = (account: AccountRow): AdmitRequest => {
    const kind = of(['wallet', 'builder'] as const)
    return requestFor(account, {
      ...{ kind, clientCap: of([1, 100, 300]) },
      allowances: [...(kind === 'builder' ? WINDOWS : []), ...(below(2) === 0 ? CAPS : [])],
    })
  }
  const end = (requestId: RequestId) => ({
    ...{ requestId, kept: false, compaction: undefined },
    charge: below(4) === 0 ? undefined : { usage: USAGE, tier: 0, cost: usd(BigInt(below(3_000_000))) },
  })
  for (const account of accounts) {
    await both.transfer({ account, kind: 'credit', amount: usd(90_000_000n), reason: 'r', ref: 'first' })
    await both.assign({ account, plan: 'small', windows: WINDOWS, endsAt: undefined })
  }
  for (let step = 0; step < STEPS; step++) {
    const turns = Array.from({ length: below(4) }, () => turn(of(accounts)))
    const { found } = await both.run(open.splice(0, below(open.length + 1)).map(end), turns)
    for (const [place, { outcome }] of found.admissions.entries())
      if (outcome.kind === 'held') open.push(turns[place]!.requestId)
    if (below(10) === 0)
      await both.transfer({
        ...{ account: of(accounts), kind: 'credit', amount: usd(5_000_000n), reason: 'r', ref: `${step}` },
      })
    at += below(of([1000, HOUR, 8 * HOUR, 24 * HOUR]))
    await both.setClock(at)
  }
  await both.run(open.map(end), [])
  await database.pool.query('UPDATE nodes SET lease_until = 0')
  const { keys } = await loadKeyring({ dataDir: '', secretFromEnvironment: SECRET })
  await database.pool.query("INSERT INTO meta (name, value) VALUES ('sealed_by', $1)", [keys[0].id])
}

const USAGE = { uncachedInput: 10, cachedInput: 5, cacheWrite: 0, output: 20, reasoning: 0, estimated: false }
/** With what a move computes; without what belongs to the nodes of the first place. */
const EVERYTHING = {
  buckets: 'SELECT * FROM millrace.buckets ORDER BY row',
  receipts: `SELECT to_jsonb(receipts) - 'node' - 'limits' - 'closing' FROM millrace.receipts ORDER BY row`,
  transfers: 'SELECT * FROM millrace.transfers ORDER BY row',
  entries: 'SELECT * FROM millrace.entries ORDER BY transfer, seq',
  counters: 'SELECT * FROM millrace.spend_counters ORDER BY account, subject',
  subscriptions: 'SELECT * FROM millrace.subscriptions ORDER BY row',
  next: `SELECT (SELECT max(row) FROM millrace.buckets) < nextval('millrace.period_rows') AS period,
    (SELECT max(row) FROM millrace.receipts) < nextval(pg_get_serial_sequence('millrace.receipts', 'row')) AS receipt,
    (SELECT max(row) FROM millrace.transfers) < nextval('millrace.transfer_rows') AS transfer`,
}

describe.skipIf(!postgres)('a ledger of random operations', () => {
  const places = createPlaces()
  afterAll(() => places.clear())

  it(`is the same when it has been in files (MILLRACE_SEED=${seed})`, { timeout: 120_000 }, async () => {
    const next = fractionsFrom(seed)
    for (let run = 0; run < RUNS; run++) {
      const database = await createPostgresLedgerState()
      await liveAtRandom(database, next)
      const { rows } = await database.pool.query('SELECT current_database() AS name')
      const [folder, last] = [await places.folder(), await places.database()]
      const out = await moved(await places.folder(), folder, { database: rows[0].name, config: CONFIG })
      expect(out.checks.filter(({ violations }) => violations > 0)).toEqual([])
      expect(out.tables.filter(({ equal }) => !equal)).toEqual([])
      const back = await moved(folder, postgresUrl(last), { config: CONFIG })
      expect(back.checks.filter(({ violations }) => violations > 0)).toEqual([])
      const counts = Object.fromEntries(back.tables.map(({ table, rows: count }) => [table, count]))
      console.log(`seed ${seed}: ${counts.receipts} receipts, ${counts.buckets} buckets, ${counts.spend_counters} caps`)
      const other = new pg.Pool({ connectionString: postgresUrl(last), max: 1 })
      for (const [name, sql] of Object.entries(EVERYTHING))
        expect((await other.query(sql)).rows, name).toEqual((await database.pool.query(sql)).rows)
      await other.end()
      await database.close()
    }
  })
})
