import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openContent } from '../../src/db/content/open-content.ts'
import { MOVED_TABLES } from '../../src/db/move/tables.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { BODY_KINDS } from '../../src/db/postgres/bodies.ts'
import type { SqlStore } from '../../src/db/sql-store.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { createPostgresLedgerState, type PostgresLedgerState, postgres } from './postgres-ledger.ts'

/** What does not move, with why in db/move/tables.ts, and what each database has alone, which a move computes. */
const OF_FILES_ALONE = [
  ...[
    'marks',
    'waiting_ends',
    'proved_rows',
    'proved_balances',
    'proved_sums',
    'of_ledger',
    'migrations',
    'sign_on_uses',
  ],
  ...['spend_counters.row', 'spend_counters.first_receipt', 'spend_counters.carried_nano'],
]
const OF_POSTGRES_ALONE = [
  ...[
    'marks',
    'nodes',
    'jobs',
    'signals',
    'builds',
    'call_seals',
    'limit_slices',
    'sign_on_uses',
    'limits',
    'usage_entries',
    'proved_accounts',
    'bodies',
  ],
  ...['buckets.granted_nano', 'buckets.movements', 'receipts.node', 'receipts.limits', 'receipts.closing'],
  ...Object.keys(BODY_KINDS).map((table) => `${table}.day`),
]
/** Columns that PostgreSQL has in `bodies`. */
const IN_BODIES = Object.keys(BODY_KINDS).map((table) => `${table}.sealed`)

const moved = MOVED_TABLES.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`)).sort()

describe.skipIf(!postgres)('the tables that move', () => {
  let ledger: PostgresLedgerState
  let folder: string

  beforeAll(async () => {
    ledger = await createPostgresLedgerState()
    folder = await mkdtemp(join(tmpdir(), 'millrace-tables-'))
  })
  afterAll(async () => {
    await ledger.close()
    await rm(folder, { recursive: true })
  })

  const movedOf = (columns: readonly string[], alone: readonly string[]): string[] =>
    columns.filter((column) => !alone.includes(column) && !alone.includes(column.split('.')[0]!)).sort()

  it('are all columns of the files but those that are named here', async () => {
    const database = await openDatabase({ path: join(folder, 'ledger.db'), clock: systemClock })
    const content = await openContent({ path: join(folder, 'content.db'), clock: systemClock, onDeath: undefined })
    const columns = [...(await columnsOf(database.file)), ...(await columnsOf(content)), 'answers.rowid']
    await content.close()
    await database.close()
    expect(movedOf(columns, OF_FILES_ALONE)).toEqual(moved)
  })

  it('are all columns of PostgreSQL but those that are named here', async () => {
    const { rows } = await ledger.pool.query(
      "SELECT table_name || '.' || column_name AS name FROM information_schema.columns WHERE table_schema = 'millrace'",
    )
    expect(
      movedOf(
        rows.map(({ name }) => name),
        OF_POSTGRES_ALONE,
      ),
    ).toEqual(moved.filter((name) => !IN_BODIES.includes(name)))
  })
})

const columnsOf = async (file: SqlStore): Promise<string[]> =>
  (
    await file.all<{ name: string }>(
      `SELECT tables.name || '.' || columns.name AS name FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns
        WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite%'`,
      [],
    )
  ).map(({ name }) => name)
