import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { installSchema, PostgresUnusable, tidyBuilds } from '../../src/db/postgres/install.ts'
import type { PostgresConnections, PostgresPool } from '../../src/db/postgres/pool.ts'
import { FUNCTIONS_SCHEMA, TABLE_CHANGES } from '../../src/db/postgres/schema.ts'
import type { AccountRow } from '../../src/model/ids.ts'
import { dayCap, HOLD, limitOf, requestFor, usd } from '../fixtures/ledger/contract-bench.ts'
import { settlement } from '../fixtures/model/ending.ts'
import { until } from '../support/until.ts'
import { openNode } from './postgres-bench.ts'
import { createEmptyDatabase, type EmptyDatabase, postgres } from './postgres-ledger.ts'

const KILLS = 20
const ADDED = [
  ...['usage', 'cost', 'charge', 'place', 'kept', 'compaction', 'wallet', 'before', 'most', 'balance', 'hold'],
  ...['closed_rows', 'kept_rows', 'living_node', 'mark', 'tokens', 'tokens_held', 'ends', 'turn', 'plain', 'states'],
  ...['books', 'one', 'found', 'ending'],
]

async function expectRefusal(installation: Promise<void>, message: string | RegExp) {
  const error = await installation.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(PostgresUnusable)
  expect((error as Error).message).toMatch(message)
}

describe.skipIf(!postgres)('the schema in PostgreSQL', () => {
  let database: EmptyDatabase

  beforeEach(async () => {
    database = await createEmptyDatabase()
  })
  afterEach(() => database.drop())

  const connections = (name?: string, options?: string) => database.connect(2, name, options) as PostgresConnections
  const install = (pool = connections()) => installSchema(pool, { mayLoseCommits: true })
  const everything = async () => {
    const { rows } = await connections().query(
      `SELECT (SELECT count(*)::integer FROM pg_class JOIN pg_namespace AS place ON place.oid = relnamespace
          WHERE nspname LIKE 'millrace%') AS relations,
        (SELECT count(*)::integer FROM pg_proc JOIN pg_namespace AS place ON place.oid = pronamespace
          WHERE nspname LIKE 'millrace%') AS functions,
        (SELECT value FROM millrace.meta WHERE name = 'schema') AS version`,
    )
    return rows[0]
  }
  const serves = async () => {
    const { ledger, facts } = await openNode(connections())
    expect(await ledger.takeRequest([])).toMatchObject({ kind: 'taken' })
    await ledger.close()
    expect(facts.troubles).toEqual([])
  }

  it('is made once when nodes start at once, and is left alone by the next start', async () => {
    await Promise.all(Array.from({ length: 5 }, () => install()))
    const first = await everything()
    expect(first).toMatchObject({ version: String(TABLE_CHANGES.length) })
    await install()
    expect(await everything()).toEqual(first)
    await serves()
  })

  it('loses the functions of builds that no node has used for a month, and no others', async () => {
    await install()
    const pool = connections()
    const builds: [string, number][] = [
      ['millrace_old', 31],
      ['millrace_recent', 29],
      [FUNCTIONS_SCHEMA, 40],
    ]
    for (const [name, days] of builds) {
      await pool.query(`CREATE SCHEMA IF NOT EXISTS ${name}`)
      await pool.query('INSERT INTO millrace.builds VALUES ($1, now() - make_interval(days => $2))', [name, days])
    }
    await tidyBuilds(pool)
    const { rows } = await pool.query("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'millrace\\_%' ORDER BY 1")
    expect(rows.map(({ nspname }) => nspname)).toEqual([FUNCTIONS_SCHEMA, 'millrace_recent'].sort())
    await serves()
  })

  it('is whole after kills at any moment, and a start', async () => {
    const admin = connections('admin')
    let interrupted = 0
    for (let kill = 0; kill < KILLS; kill++) {
      await admin.query('DROP SCHEMA IF EXISTS millrace CASCADE')
      await admin.query(`DROP SCHEMA IF EXISTS ${FUNCTIONS_SCHEMA} CASCADE`)
      const victim = install(connections(`victim-${kill}`)).catch(() => {
        interrupted += 1
      })
      const ofVictim = 'FROM pg_stat_activity WHERE application_name = $1'
      // Before it has connected there is nothing to interrupt.
      await until(async () => (await admin.query(`SELECT pid ${ofVictim}`, [`victim-${kill}`])).rows.length > 0)
      await pause((kill * 120) / KILLS)
      await admin.query(`SELECT pg_terminate_backend(pid) ${ofVictim}`, [`victim-${kill}`])
      await victim
      await install()
      await serves()
    }
    console.log(`${interrupted} of ${KILLS} installations were interrupted`)
    expect(interrupted).toBeGreaterThan(2)
  })

  it('keeps the functions of another build beside its own', async () => {
    await install()
    await connections().query(
      'CREATE SCHEMA millrace_older; CREATE FUNCTION millrace_older.run_turns() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
    )
    await install()
    expect((await connections().query('SELECT millrace_older.run_turns() AS one')).rows).toEqual([{ one: 1 }])
    await serves()
  })

  it.each([
    ['tables of another program', 'CREATE SCHEMA millrace; CREATE TABLE millrace.users ()', /not Millrace's/],
    [
      'a table of that name of another program',
      'CREATE SCHEMA millrace; CREATE TABLE millrace.meta (id int)',
      /not Millrace's/,
    ],
  ])('is not put beside %s', async (_what, statements, message) => {
    const pool = connections()
    await pool.query(statements)
    await expectRefusal(install(pool), message)
    expect((await pool.query(`SELECT FROM pg_namespace WHERE nspname = $1`, [FUNCTIONS_SCHEMA])).rows).toEqual([])
  })

  it('is refused when its functions were restored in part', async () => {
    await connections().query(`CREATE SCHEMA ${FUNCTIONS_SCHEMA}`)
    await expectRefusal(install(), 'incomplete')
  })

  it('serves when the next version has added columns of any name to its tables', async () => {
    await install()
    await connections().query(
      ['receipts', 'buckets', 'claims', 'spend_counters', 'limits', 'nodes', 'accounts']
        .map((table) => `ALTER TABLE millrace.${table} ${ADDED.map((name) => `ADD "${name}" jsonb`).join(', ')};`)
        .join(''),
    )
    const { ledger, facts } = await openNode(connections())
    const added = await connections().query(`SELECT ${FUNCTIONS_SCHEMA}.add_account('acct_1', 'a@example.com') AS row`)
    const account = Number(added.rows[0]!.row) as AccountRow
    await ledger.credit({ account, kind: 'credit', amount: usd(HOLD * 10n), reason: 'test', ref: 'first' })
    await connections().query(`INSERT INTO millrace.prices (model, version, terms, since) VALUES ('demo', 1, '{}', 0)`)
    const claim = { scope: 'one', fingerprint: 'f', expiresAt: 2 ** 50 }
    const admission = await ledger.admit(
      requestFor(account, { limits: [limitOf('tokens', 100_000)], allowances: [dayCap(HOLD)], claim }),
    )
    if (admission.kind !== 'admitted') throw new Error(admission.refusal.kind)
    expect(await admission.settle(settlement(20_000n))).toMatchObject({ kind: 'settled' })
    const plain = await ledger.admit(requestFor(account))
    if (plain.kind !== 'admitted') throw new Error(plain.refusal.kind)
    expect(await plain.settle(settlement(20_000n))).toMatchObject({ kind: 'settled' })
    await ledger.close()
    expect(facts.troubles).toEqual([])
  })

  it('of the next version is served, and of a newer one refused', async () => {
    await install()
    await connections().query(`UPDATE millrace.meta SET value = '${TABLE_CHANGES.length + 1}' WHERE name = 'schema'`)
    await install()
    await serves()
    await connections().query(`UPDATE millrace.meta SET value = '99' WHERE name = 'schema'`)
    await expectRefusal(install(), 'version 99')
  })

  it.each([
    ['commits that a power failure would lose', '-c synchronous_commit=off', /synchronous_commit is off/],
    ['read-only transactions', '-c default_transaction_read_only=on', /default_transaction_read_only/],
    [
      'another isolation',
      '-c default_transaction_isolation=serializable',
      /default_transaction_isolation is serializable/,
    ],
  ])('is refused on %s', async (_what, options, message) => {
    await expectRefusal(installSchema(connections('test', options), { mayLoseCommits: false }), message)
  })

  it('waits with a change for a long report without keeping requests waiting behind it', async () => {
    await install()
    const [pool, requests] = [connections(), connections()]
    await pool.query(`ALTER TABLE millrace.receipts
      ADD CONSTRAINT receipts_account_fkey FOREIGN KEY (account) REFERENCES millrace.accounts (row),
      ADD CONSTRAINT receipts_node_fkey FOREIGN KEY (node) REFERENCES millrace.nodes (row)`)
    // The seventh change drops them.
    await pool.query("UPDATE millrace.meta SET value = '6' WHERE name = 'schema'")
    const report = await pool.connect()
    await report.query('BEGIN')
    await report.query('SELECT count(*) FROM millrace.receipts')
    const installed = install()
    await until(async () => {
      const waits = "SELECT FROM pg_locks WHERE relation = 'millrace.receipts'::regclass AND NOT granted"
      return (await requests.query(waits)).rowCount === 1
    })
    // It waits for the change, which waits for the report.
    await requests.query('SELECT count(*) FROM millrace.receipts')
    await report.query('COMMIT')
    report.release()
    await installed
    expect(await everything()).toMatchObject({ version: String(TABLE_CHANGES.length) })
  })

  it('is refused in a database of another encoding', async () => {
    const latin = await createEmptyDatabase(`ENCODING 'LATIN1' TEMPLATE template0`)
    try {
      await expectRefusal(install(latin.connect() as PostgresConnections), 'LATIN1')
    } finally {
      await latin.drop()
    }
  })

  it.each([
    ['an old server', { version: 14 }, 'PostgreSQL 14'],
    ['a replica', { is_replica: true }, 'replica'],
    ['a server without fsync', { fsync: 'off' }, 'fsync is off'],
  ])('is refused on %s', async (_what, over, message) => {
    const answer = {
      version: 15,
      encoding: 'UTF8',
      is_replica: false,
      is_read_only: false,
      isolation: 'read committed',
      commits: 'on',
      fsync: 'on',
    }
    const pool = {
      query: () => Promise.resolve({ rows: [{ ...answer, ...over }], rowCount: 1 }),
      connect: () => Promise.reject(new Error('nothing may be changed')),
    } satisfies PostgresPool & PostgresConnections
    await expectRefusal(installSchema(pool), message)
  })
})
