import { Kysely, type LogEvent } from 'kysely'
import { describe, expect, it } from 'vitest'
import {
  SERVED_SUMS,
  sumLatencies,
  sumServed,
  sumServedByAccount,
  sumServedByModel,
} from '../../src/db/content/served-totals.ts'
import { createStoreDialect } from '../../src/db/kysely-dialect.ts'
import { openPostgres } from '../../src/db/postgres/open-database.ts'
import { listClosedRequests, listReceiptsByMovement, sumClosedReceipts } from '../../src/db/receipts.ts'
import {
  sumLaneCalls,
  sumModelMeasures,
  sumReceiptLatencies,
  sumServedReceipts,
  sumUsageOfReceipts,
} from '../../src/db/served-receipts.ts'
import type { SqlStore, SqlValue } from '../../src/db/sql-store.ts'
import {
  countWalletRequests,
  findLastMovement,
  findMovementAt,
  findMovementTime,
  findSliceStart,
  listLastMoves,
  listStatement,
} from '../../src/db/statement.ts'
import type { LedgerDb, LedgerTables } from '../../src/db/tables.ts'
import { insertAccount } from '../fixtures/db/set-up.ts'
import { postgresUrl } from '../support/server-on-postgres.ts'
import { createEmptyDatabase, createPostgresLedgerState, type EmptyDatabase, postgres } from './postgres-ledger.ts'

const RECEIPTS = 20_000
/** Requests that a list looks at before its page ends, of each kind. */
const READ_MAX = 2 * 1000

/** Requests of a wallet alone, of one account: there is none of a plan to be found. */
const FILL = `INSERT INTO receipts (request_id, account, key, kind, state, model, price_version, buckets, hold_nano, output_cap,
    output_bound, input_estimate, cached_estimate, opened_at, node, limits, closed_at, outcome, charge_nano, movement, balance_nano, attempts)
  SELECT 'req_' || n, 1, 1, 'wallet', 'settled', 'demo', 1, '{1}', 5, 1, 1, 1, 0, n, 1, '[]', n, 'completed', 1, n, 0, '[]'
    FROM generate_series(1, ${RECEIPTS}) AS n`

async function fill(database: EmptyDatabase, file: SqlStore): Promise<void> {
  await insertAccount(file, { id: 'acct_ada', email: 'ada@example.com', createdAt: 1 })
  const pool = database.connect(1, 'fill', '-c search_path=millrace')
  await pool.query('INSERT INTO nodes (started_at, lease_until) VALUES (1, 1)')
  await pool.query(`INSERT INTO keys (id, account, kind, name, digest, shown, created_at)
    SELECT 'key_' || n, 1, 'wallet', 'ci', n::text::bytea, 'mr_', 1 FROM generate_series(1, 3000) AS n`)
  await pool.query(FILL)
  await pool.query('VACUUM (ANALYZE) receipts, keys')
}

interface PlanNode {
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

const LARGE = ['receipts', 'served', 'served_latency']

/** Rows of large tables that a plan has read. */
const rowsRead = (node: PlanNode): number => {
  const own = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
  const below = (node.Plans ?? []).reduce((sum, each) => sum + rowsRead(each), 0)
  return below + (LARGE.includes(node['Relation Name'] ?? '') ? own : 0)
}

async function expectFewRead(file: SqlStore, sql: string, parameters: readonly SqlValue[]): Promise<void> {
  const [answer] = await file.all(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`, parameters)
  const plans = answer!['QUERY PLAN'] as unknown as [{ Plan: PlanNode }]
  expect([sql, rowsRead(plans[0].Plan)]).toEqual([sql, expect.toSatisfy((rows: number) => rows <= READ_MAX)])
}

describe.skipIf(!postgres)('queries of an account, on PostgreSQL', () => {
  it('read no more of its requests than they bring or look at', async () => {
    const database = await createEmptyDatabase()
    const node = await openPostgres({ url: postgresUrl(database.database), mayLoseCommits: true, onTrouble() {} })
    await fill(database, node.file)
    const queries: { sql: string; parameters: readonly unknown[] }[] = []
    const log = (event: LogEvent) => void queries.push(event.query)
    const db: LedgerDb = new Kysely<LedgerTables>({ dialect: createStoreDialect(node.file), log })
    const before = RECEIPTS + 1
    const page = { from: before - 1000, before, limit: 5 }

    expect(await findLastMovement(db, 1)).toBe(RECEIPTS)
    for (const kinds of [['wallet', 'builder'], ['wallet'], ['builder']] as const)
      await findSliceStart(db, 1, { kinds, before, requests: 1000 })
    for (const filter of [{}, { model: 'none' }, { key: 7 }, { kind: 'builder' }] as const) {
      await listClosedRequests(db, 1, { ...page, filter })
      await listReceiptsByMovement(db, 1, { ...page, filter })
    }
    await listStatement(db, 1, { ...page, kind: undefined })
    await listLastMoves(db, 1, before)
    await findMovementTime(db, 1, before)
    await findMovementAt(db, 1, { last: RECEIPTS, at: 7, otherwise: -1 })
    await countWalletRequests(db, 1, { from: before - 1000, before })
    await sumClosedReceipts(db, [{ account: 1, after: before - 400 }], 300)
    const slice = { account: 1, after: before - 400, upTo: before - 100 }
    await sumUsageOfReceipts(db, slice)
    await sumServedReceipts(db, [slice])
    await sumReceiptLatencies(db, [slice])
    await sumModelMeasures(db, [slice], 1)
    await sumLaneCalls(db, [slice], 1)
    expect(queries).toHaveLength(24)
    for (const { sql, parameters } of queries) await expectFewRead(node.file, sql, parameters as SqlValue[])
    await node.close()
    await database.drop()
  })

  it('sum what was served in a range by its rows alone', async () => {
    const database = await createEmptyDatabase()
    const node = await openPostgres({ url: postgresUrl(database.database), mayLoseCommits: true, onTrouble() {} })
    const pool = database.connect(1, 'fill', '-c search_path=millrace')
    const zeros = SERVED_SUMS.map(() => '0').join(', ')
    await pool.query(`INSERT INTO served (level, step, at, account, model, ${SERVED_SUMS.join(', ')})
      SELECT level, 'day', n, 0, '', ${zeros} FROM generate_series(1, 10000) AS n, unnest('{all,model,account}'::text[]) AS level`)
    await pool.query(`INSERT INTO served_latency (measure, step, at, ms, requests)
      SELECT 'first', 'day', n, 7, 1 FROM generate_series(1, 20000) AS n`)
    await pool.query('VACUUM (ANALYZE) served, served_latency')
    const queries: [string, readonly SqlValue[]][] = []
    const all: SqlStore['all'] = (sql, parameters) => {
      queries.push([sql, parameters])
      return node.content.all(sql, parameters)
    }
    const content = { ...node.content, all }
    const range = [{ step: 'day', from: 100, to: 200 }] as const
    await sumServed(content, [range])
    await sumServedByModel(content, range, 5)
    await sumServedByAccount(content, range, 5)
    await sumLatencies(content, range, 'first')
    expect(queries).toHaveLength(4)
    for (const [sql, parameters] of queries) await expectFewRead(node.content, sql, parameters)
    await node.close()
    await database.drop()
  })
})

describe.skipIf(!postgres)('runs that have ended, on PostgreSQL', () => {
  it('are forgotten with the run around them, and a pass looks at few of them', async () => {
    const ledgerState = await createPostgresLedgerState()
    await ledgerState.addAccount()
    const pool = await ledgerState.pool.connect()
    const insert = (id: string, parent: string | null, end: string) =>
      pool.query(
        `INSERT INTO runs (account, id, parent, opened_at, ends_at)
          VALUES (1, $1, (SELECT row FROM runs WHERE id = $2), 1, ${end})`,
        [id, parent],
      )
    const now = '(extract(epoch FROM now()) * 1000)::bigint'
    await insert('open', null, `${now} + 60000`)
    await insert('part', 'open', '1')
    await insert('piece', 'part', '1')
    await insert('lately', null, `${now} - 29 * 86400000::bigint`)
    await insert('held', 'lately', '1')
    await insert('old', null, '1')
    await insert('inside old', 'old', '1')
    const tidy = () => pool.query('SELECT tidy_ledger()')
    for (let pass = 0; pass < 3; pass++) await tidy()
    const { rows } = await pool.query('SELECT id FROM runs ORDER BY row')
    expect(rows.map(({ id }) => id)).toEqual(['open', 'part', 'piece', 'lately', 'held'])
    await pool.query(`INSERT INTO runs (account, id, parent, opened_at, ends_at)
      SELECT 1, 'many ' || n, (SELECT row FROM runs WHERE id = 'open'), 1, 1 FROM generate_series(1, 20000) AS n`)
    // Counts of the statements before may not have been reported yet.
    const looked = async () => {
      const { rows } = await pool.query(`SELECT (seq_tup_read + idx_tup_fetch)::integer AS rows
        FROM pg_stat_xact_user_tables WHERE relname = 'runs'`)
      return rows[0].rows
    }
    await pool.query('BEGIN')
    const before = await looked()
    await tidy()
    expect((await looked()) - before).toBeLessThan(5000)
    await pool.query('COMMIT')
    pool.release()
    await ledgerState.close()
  })
})
