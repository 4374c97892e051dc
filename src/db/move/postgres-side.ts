import { Kysely } from 'kysely'
import type pg from 'pg'
import { PERIOD_ROWS_FROM } from '../../ledger/state/state.ts'
import { createStoreDialect } from '../kysely-dialect.ts'
import { LEDGER_ID, MOVING, SEALED_BY } from '../meta.ts'
import { BODY_KINDS } from '../postgres/bodies.ts'
import { installSchema } from '../postgres/install.ts'
import { unusable } from '../postgres/open-database.ts'
import type { PostgresConnections, PostgresPool } from '../postgres/pool.ts'
import { TABLE_CHANGES, TABLE_NAMES, TABLES_SCHEMA } from '../postgres/schema.ts'
import { createPostgresStore, storeTypes } from '../postgres/sql-store.ts'
import type { LedgerTables } from '../tables.ts'
import { type BooksReport, MoveRefused, type MoveSource, type MoveTarget } from './move.ts'
import type { TextDatabase, TextRow, Words } from './rows.ts'
import { type ColumnKind, MADE_BY_SCHEMA, MOVED_TABLES, type MovedColumn, type MovedTable } from './tables.ts'

const place = (table: string): string => `${TABLES_SCHEMA}.${table}`

const TEXTS: Readonly<Record<ColumnKind, (column: string) => string>> = {
  number: (column) => `${column}::text`,
  text: (column) => column,
  bytes: (column) => `encode(${column}, 'hex')`,
  truth: (column) => `${column}::integer::text`,
  list: (column) => `'[' || array_to_string(${column}, ',') || ']'`,
  span: (column) => `round(${column})::bigint::text`,
}

const quoted = (column: string): string => `"${column}"`

const isBodied = (table: string): table is keyof typeof BODY_KINDS => table in BODY_KINDS
/** With `sealed`, as in a file. A row that has lost its content is there without it, and refused by the target. */
const withBodies = (table: keyof typeof BODY_KINDS): string =>
  `(SELECT head.*, sealed FROM ${place(table)} AS head
    LEFT JOIN LATERAL ${place('read_bodies')}(head.day, '${table}', head.${BODY_KINDS[table]}) ON true)`

const WORDS: Words = {
  textOf: ({ name, kind }) => TEXTS[kind](quoted(name)),
  named: (table) => (isBodied(table) ? withBodies(table) : place(table)),
  parameter: (number, kind) => (kind === 'number' ? `$${number}::bigint` : `$${number}`),
  // SQLite orders text by its bytes.
  ordered: ({ name, kind }: MovedColumn) => (kind === 'text' ? `${quoted(name)} COLLATE "C"` : quoted(name)),
}

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK_DETECTED = '40P01'
/** There is no such table or schema. */
const IS_MISSING: ReadonlySet<string | undefined> = new Set(['42P01', '3F000'])
const codeOf = (error: unknown): string | undefined => (error as { code?: string }).code

/** The user or the server may have shorter ones. A move takes as long as it needs. */
const NO_TIMEOUTS = `SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
  SET LOCAL search_path = pg_catalog`

interface Connected {
  readonly client: pg.Client
  readonly text: TextDatabase
  close(): Promise<void>
}

interface Place {
  readonly url: string
  /** What the operator wrote it as. */
  readonly named: string
}

async function connect({ url, named }: Place): Promise<Connected> {
  const { default: driver } = await import('pg')
  const types = storeTypes(driver.types) as pg.CustomTypesConfig
  const client = new driver.Client({
    ...{ connectionString: url, application_name: 'millrace move', types },
    ...{ connectionTimeoutMillis: 5000, keepAlive: true },
  })
  // An error between two queries is also that of the next query.
  client.on('error', () => {})
  await client.connect().catch((error: unknown) => {
    throw unusable(error, named)
  })
  const query = async (text: string, values: readonly string[]) =>
    (await client.query({ text, values: [...values], rowMode: 'array' })).rows as TextRow[]
  return { client, text: { words: WORDS, query }, close: () => client.end().catch(() => {}) }
}

const onlyValue = async ({ text }: Connected, sql: string, ...values: string[]): Promise<string | null | undefined> =>
  (await text.query(sql, values, 'ledger'))[0]?.[0]

const BASE_TABLES = TABLE_NAMES.filter((name) => name !== 'usage_entries')

const LIVE_NODES = `SELECT count(*)::text, ceil(max(lease_until) / 1000.0 - extract(epoch FROM clock_timestamp()))::text
  FROM ${place('nodes')} WHERE lease_until > extract(epoch FROM clock_timestamp()) * 1000`

async function refuseLiveNodes({ text }: Connected): Promise<void> {
  const [found] = await text.query(LIVE_NODES, [], 'ledger')
  if (found?.[0] === '0') return
  throw new MoveRefused(
    `This PostgreSQL is in use (nodes and commands: ${found?.[0]}; the last lease ends in ${found?.[1]} s). ` +
      'Stop all nodes, and try again. A node that was killed counts until its lease has ended.',
  )
}

const META = `SELECT value FROM ${place('meta')} WHERE name = $1`

/** Reads one moment of a database on which no node runs, and keeps others from writing meanwhile. */
export async function openPostgresSource(where: Place): Promise<MoveSource> {
  const connected = await connect(where)
  const { client, text, close } = connected
  try {
    // Before the locks, which a node that runs would wait for. It is asked again behind them.
    await refuseLiveNodes(connected).catch((error: unknown) => {
      if (!IS_MISSING.has(codeOf(error))) throw error
    })
    await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ; ${NO_TIMEOUTS}; SET LOCAL lock_timeout = '10s'`)
    await lockForReading(connected)
    await refuseLiveNodes(connected)
    if ((await onlyValue(connected, META, MOVING)) !== undefined)
      throw new MoveRefused('A ledger was being moved into this database, and not all of it is here. Name its storage.')
    const open = await onlyValue(connected, `SELECT count(*)::text FROM ${place('receipts')} WHERE state = 'open'`)
    if (open !== '0')
      throw new MoveRefused(
        `There are open requests (${open}). Start a node, which ends them when their leases are over, stop it, and try again.`,
      )
    return {
      kind: 'postgres',
      text,
      ledger: (await onlyValue(connected, META, LEDGER_ID))!,
      sealedBy: (await onlyValue(connected, META, SEALED_BY)) ?? undefined,
      // Rows of this database have its own time, which a file goes on from.
      latestMs: 0,
      close,
    }
  } catch (error) {
    await close()
    throw error instanceof MoveRefused ? error : unusable(error, where.named)
  }
}

/** Before the first row is read, which is when the moment is fixed. */
async function lockForReading({ client }: Connected): Promise<void> {
  const tables = BASE_TABLES.map(place).join(', ')
  try {
    await client.query(`LOCK TABLE ${tables} IN SHARE MODE`)
    const { rows } = await client.query(META, ['schema'])
    if (Number(rows[0]?.value) === TABLE_CHANGES.length) return
  } catch (error) {
    const code = codeOf(error)
    if (code === LOCK_NOT_AVAILABLE || code === DEADLOCK_DETECTED)
      throw new MoveRefused('Something writes to this PostgreSQL. Stop all nodes, and try again.')
    if (!IS_MISSING.has(code)) throw error
  }
  throw new MoveRefused(
    `This database has no ledger of this version in the schema "${TABLES_SCHEMA}". Start and stop a node of this version once.`,
  )
}

interface TargetOptions extends Place {
  /** Verifies the ledger that these connections reach. */
  readonly prove: (pool: PostgresPool) => Promise<BooksReport>
  readonly mayLoseCommits: boolean
}

/**
 * A database that is empty, or that an earlier move has not filled. Everything is loaded, compared and proved in one transaction;
 * the mark, which is set before it, goes with its commit. So a move that is killed leaves the mark and no rows.
 */
export async function openPostgresTarget(options: TargetOptions): Promise<MoveTarget> {
  await install(options)
  const connected = await connect(options)
  const { client, close } = connected
  let node = ''
  try {
    const isRepeated = (await onlyValue(connected, META, MOVING)) !== undefined
    if (!isRepeated) await refuseRows(connected)
    await client.query(`INSERT INTO ${place('meta')} (name, value) VALUES ($1, '') ON CONFLICT DO NOTHING`, [MOVING])
    await client.query(`BEGIN; ${NO_TIMEOUTS}; SET LOCAL lock_timeout = '10s'`)
    node = await emptyTables(connected)
    const pool = { query: (text, values) => client.query(text, values && [...values]) } as PostgresPool
    const store = createPostgresStore({
      ...{ pool: pool as PostgresConnections, driver: 'PostgreSQL', isolation: 'read-committed' },
    })
    return {
      kind: 'postgres',
      text: connected.text,
      db: new Kysely<LedgerTables>({ dialect: createStoreDialect(store) }),
      nowMs: async () =>
        Number(await onlyValue(connected, 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::text')),
      write: (table, { lines }) => writeLines(client, table, lines, node),
      derive: () => derive(client),
      proveBooks: () => options.prove(pool),
      async finish() {
        await client.query(`DELETE FROM ${place('meta')} WHERE name = $1`, [MOVING])
        await client.query('COMMIT')
      },
      close,
    }
  } catch (error) {
    await close()
    if (codeOf(error) === LOCK_NOT_AVAILABLE)
      throw new MoveRefused(
        'Something else uses the target, perhaps a move that was just killed. Try again in a minute.',
      )
    throw error instanceof MoveRefused ? error : unusable(error, options.named)
  }
}

async function install({ url, named, mayLoseCommits }: TargetOptions): Promise<void> {
  const { default: driver } = await import('pg')
  const pool = new driver.Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 5000 })
  pool.on('error', () => {})
  try {
    await installSchema(pool as PostgresConnections, { mayLoseCommits })
  } catch (error) {
    throw unusable(error, named)
  } finally {
    await pool.end()
  }
}

async function refuseRows(connected: Connected): Promise<void> {
  const names = MOVED_TABLES.map(({ name }) => name).filter((name) => !MADE_BY_SCHEMA.has(name))
  const sql = names.map((name) => `SELECT '${name}' WHERE EXISTS (SELECT FROM ${place(name)})`).join(' UNION ALL ')
  const filled = (await connected.text.query(sql, [], 'ledger')).map(([name]) => name)
  if (filled.length === 0) return
  throw new MoveRefused(
    `The database is not empty: it has rows in ${filled.join(', ')}. Create an empty one, and move there.`,
  )
}

/** Returns the node that all receipts are given. */
async function emptyTables({ client }: Connected): Promise<string> {
  const tables = BASE_TABLES.filter((name) => name !== 'meta')
  await client.query(`TRUNCATE ${tables.map(place).join(', ')} RESTART IDENTITY`)
  await client.query(`DELETE FROM ${place('meta')} WHERE name = ANY ($1)`, [[LEDGER_ID, SEALED_BY]])
  // Counts and signals of the rows are computed below or not wanted: nothing runs here that would have to know of them.
  for (const table of tables) await client.query(`ALTER TABLE ${place(table)} DISABLE TRIGGER USER`)
  await client.query('CREATE TEMP TABLE moved_bodies (kind text, id bigint, sealed bytea) ON COMMIT DROP')
  // A receipt names the node of its hold. That of receipts from a file has ended long ago.
  const { rows } = await client.query(
    `INSERT INTO ${place('nodes')} (started_at, lease_until) VALUES (0, 0) RETURNING row::text AS node`,
  )
  return rows[0]?.node as string
}

/** Columns of PostgreSQL alone, whose value is the same in every row. */
const added = (table: string, node: string): readonly (readonly [column: string, value: string])[] =>
  // What limits a turn counted against matters only while it runs.
  table === 'receipts'
    ? [
        ['node', node],
        ['limits', '[]'],
      ]
    : // Known when all responses are there.
      isBodied(table)
      ? [['day', '0']]
      : []

async function writeLines(client: pg.Client, table: MovedTable, lines: readonly string[], node: string): Promise<void> {
  const extra = added(table.name, node)
  const own = table.columns.map(({ name }) => name).filter((name) => !isBodied(table.name) || name !== 'sealed')
  const columns = [...own, ...extra.map(([name]) => name)].map(quoted).join(', ')
  const end = `${extra.map(([, value]) => `\t${value}`).join('')}\n`
  const heads = isBodied(table.name) ? lines.map((line) => line.slice(0, line.lastIndexOf('\t'))) : lines
  await copyIn(client, `COPY ${place(table.name)} (${columns}) FROM STDIN`, `${heads.join(end)}${end}`)
  if (!isBodied(table.name)) return
  // The number of a row comes first, its content last.
  const bodies = lines.map(
    (line) => `${table.name}\t${line.slice(0, line.indexOf('\t'))}${line.slice(line.lastIndexOf('\t'))}\n`,
  )
  await copyIn(client, 'COPY moved_bodies (kind, id, sealed) FROM STDIN', bodies.join(''))
}

const RESPONSE_EXPIRY = `(SELECT expires_at FROM ${place('responses')} AS responses WHERE responses.response = head.response)`
/** When the content of a row expires. An item is kept for the last response that refers to it. */
const EXPIRIES: Readonly<Record<keyof typeof BODY_KINDS, string>> = {
  answers: 'head.expires_at',
  response_objects: RESPONSE_EXPIRY,
  events: RESPONSE_EXPIRY,
  items: `(SELECT max(expires_at) FROM ${place('response_items')} AS links
    JOIN ${place('responses')} AS responses USING (response) WHERE links.item = head.item)`,
}

/** Puts contents where they expire. */
async function placeBodies(client: pg.Client): Promise<void> {
  for (const [table, expiry] of Object.entries(EXPIRIES))
    await client.query(`UPDATE ${place(table)} AS head SET day = ${place('body_day')}(coalesce(${expiry}, 0))`)
  const tables = Object.keys(BODY_KINDS).map((table) => `SELECT day FROM ${place(table)}`)
  await client.query(
    `SELECT ${place('make_body_days')}(coalesce(json_agg(day::bigint * 86400000), '[]')::text)
      FROM (${tables.join(' UNION ')}) AS days`,
  )
  for (const [table, id] of Object.entries(BODY_KINDS))
    await client.query(
      `INSERT INTO ${place('bodies')} (day, kind, id, sealed) SELECT head.day, moved.kind, moved.id, moved.sealed
        FROM pg_temp.moved_bodies AS moved JOIN ${place(table)} AS head ON head.${id} = moved.id WHERE moved.kind = '${table}'`,
    )
}

/** What a bucket was granted, without what expired; and of a wallet how many movements its account has. */
const DERIVE_BUCKETS = `WITH granted AS (
    SELECT entries.bucket, sum(entries.delta_nano) AS total
      FROM ${place('entries')} AS entries JOIN ${place('transfers')} AS transfers ON transfers.row = entries.transfer
      WHERE transfers.kind <> 'expiry' GROUP BY entries.bucket),
  moved AS (
    SELECT account, max(movement) AS last FROM (SELECT account, movement FROM ${place('receipts')}
      UNION ALL SELECT account, movement FROM ${place('transfers')}) AS movements GROUP BY account)
  UPDATE ${place('buckets')} AS buckets SET granted_nano = coalesce(granted.total, 0),
      movements = CASE buckets.kind WHEN 'wallet' THEN coalesce(moved.last, 0) ELSE 0 END
    FROM ${place('buckets')} AS same LEFT JOIN granted ON granted.bucket = same.row LEFT JOIN moved ON moved.account = same.account
    WHERE same.row = buckets.row AND buckets.kind <> 'system'`

interface NumberSequence {
  readonly name: string
  readonly table: string
  readonly column: string
  readonly where?: string
  readonly first: number
}

const SEQUENCES: readonly NumberSequence[] = [
  {
    name: 'wallet_rows',
    table: 'buckets',
    column: 'row',
    where: `row BETWEEN 101 AND ${PERIOD_ROWS_FROM - 1}`,
    first: 101,
  },
  {
    ...{ name: 'period_rows', table: 'buckets', column: 'row', where: `row >= ${PERIOD_ROWS_FROM}` },
    first: PERIOD_ROWS_FROM,
  },
  { name: 'transfer_rows', table: 'transfers', column: 'row', first: 1 },
]

const IDENTITIES = `SELECT relname AS "table", attname AS "column" FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
  WHERE relnamespace = '${TABLES_SCHEMA}'::regnamespace AND attidentity <> '' AND relkind = 'r'`

async function derive(client: pg.Client): Promise<void> {
  await client.query(DERIVE_BUCKETS)
  await placeBodies(client)
  for (const table of BASE_TABLES) await client.query(`ALTER TABLE ${place(table)} ENABLE TRIGGER USER`)
  for (const each of SEQUENCES) await numberOn(client, `'${place(each.name)}'`, each)
  const { rows } = await client.query<{ table: string; column: string }>(IDENTITIES)
  for (const { table, column } of rows)
    await numberOn(client, `pg_get_serial_sequence('${place(table)}', '${column}')`, { table, column, first: 1 })
  // The first requests are planned by these figures.
  for (const table of BASE_TABLES) await client.query(`ANALYZE ${place(table)}`)
}

/** The next row gets the number behind the highest one, or the first. */
async function numberOn(
  client: pg.Client,
  sequence: string,
  { table, column, where = 'true', first }: Omit<NumberSequence, 'name'>,
): Promise<void> {
  const highest = `SELECT max(${quoted(column)}) AS highest FROM ${place(table)} WHERE ${where}`
  await client.query(
    `SELECT setval(${sequence}, coalesce(highest, ${first}), highest IS NOT NULL) FROM (${highest}) AS found`,
  )
}

/** What a connection of the driver offers for COPY. */
interface CopyConnection {
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/** Sends lines to `COPY … FROM STDIN` and resolves when the server has them. The driver calls these functions in turn. */
function copyIn(client: pg.Client, sql: string, lines: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const query = {
      submit: (connection: unknown) => (connection as CopyConnection).query(sql),
      handleCopyInResponse(connection: CopyConnection) {
        connection.sendCopyFromChunk(Buffer.from(lines))
        connection.endCopyFrom()
      },
      handleCommandComplete() {},
      handleReadyForQuery: () => resolve(),
      handleError: (error: Error) => reject(error),
    }
    client.query(query)
  })
}
