import { setTimeout as pause } from 'node:timers/promises'
import { LedgerUnusable } from '../open-database.ts'
import { inTransaction, type PostgresConnections, type PostgresPool } from './pool.ts'
import { CREATE_FUNCTIONS, ENTRIES, FUNCTIONS_SCHEMA, TABLE_CHANGES, TABLES_SCHEMA } from './schema.ts'

/** The database cannot be used. The message tells the operator what to do. */
export class PostgresUnusable extends LedgerUnusable {
  override readonly name = 'PostgresUnusable'
}

/** The oldest version that the tests run on. */
const VERSION_MIN = 15

interface InstallOptions {
  /** The operator has said that a charge may be lost with the power. */
  readonly mayLoseCommits?: boolean | undefined
  /** Called when a change has to wait for another session. */
  readonly onLockWait?: (() => void) | undefined
}

/**
 * Brings the database to the schema of this build, and refuses one that it would not keep money in. Nodes that start at once wait
 * for each other; one that is killed leaves each change done or not begun, and the next start goes on from there.
 */
export async function installSchema(pool: PostgresConnections, options: InstallOptions = {}): Promise<void> {
  await checkServer(pool, options)
  let tries = 0
  /** A change that met a report, VACUUM or an admission of another node is tried again. */
  const notYet = async (error: unknown): Promise<false> => {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== LOCK_NOT_AVAILABLE && code !== DEADLOCK_DETECTED) throw error
    if (tries === LOCK_TRIES) throw new PostgresUnusable(TABLES_LOCKED)
    if (tries === 0) options.onLockWait?.()
    tries += 1
    await pause(LOCK_PAUSE_MS)
    return false
  }
  for (let isDone = false; !isDone; ) isDone = await inTransaction(pool, BEGIN, changeOnce).catch(notYet)
}

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK_DETECTED = '40P01'
/**
 * A session that asks for a table that a long report reads keeps the requests of other nodes waiting behind itself. VACUUM gives way to a wait
 * that is longer than deadlock_timeout.
 */
const WAIT_FOR_LOCKS = `SELECT set_config('lock_timeout',
  (extract(epoch FROM current_setting('deadlock_timeout')::interval) * 1000 + 500)::integer::text, true)`
const LOCK_PAUSE_MS = 1000
/** About five minutes. */
const LOCK_TRIES = 120
const TABLES_LOCKED =
  'The tables cannot be changed: another session keeps them locked. Find it in pg_stat_activity, end it, and start again.'

// What is looked at after the lock must be newer than the wait for it.
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED'

/** Applies the next change. True when there was none. */
async function changeOnce(transaction: PostgresPool): Promise<boolean> {
  // Held until the transaction ends, which also works behind a pooler that lends connections for one transaction.
  await transaction.query('SELECT pg_advisory_xact_lock(hashtext($1))', [TABLES_SCHEMA])
  const version = await findVersion(transaction)
  // The next version is made so that this one can live with it: a node may start again while others are upgraded.
  if (version > TABLE_CHANGES.length + 1)
    throw new PostgresUnusable(
      `The schema "${TABLES_SCHEMA}" has version ${version}; this Millrace knows ${TABLE_CHANGES.length}. Start a newer Millrace.`,
    )
  const change = TABLE_CHANGES[version]
  if (change !== undefined) {
    if (version === 0) await transaction.query(`CREATE SCHEMA IF NOT EXISTS ${TABLES_SCHEMA}`)
    await transaction.query(`${WAIT_FOR_LOCKS}; SET LOCAL search_path = ${TABLES_SCHEMA}; ${change}`)
    await transaction.query(
      `INSERT INTO ${TABLES_SCHEMA}.meta (name, value) VALUES ('schema', $1)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      [String(version + 1)],
    )
    return false
  }
  if (!(await hasFunctions(transaction))) await transaction.query(CREATE_FUNCTIONS)
  return true
}

/** A node of the previous version may be started again for so long. */
const BUILD_KEPT_DAYS = 30

/** Notes that this build is in use, and drops the functions of those that no node has used for long. */
export async function tidyBuilds(pool: PostgresPool): Promise<void> {
  await pool.query(
    `INSERT INTO ${TABLES_SCHEMA}.builds (functions, seen_at) VALUES ($1, now())
      ON CONFLICT (functions) DO UPDATE SET seen_at = excluded.seen_at`,
    [FUNCTIONS_SCHEMA],
  )
  const { rows } = await pool.query(
    `SELECT functions FROM ${TABLES_SCHEMA}.builds WHERE seen_at < now() - make_interval(days => $1)
      AND NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = functions AND NOT pg_has_role(nspowner, 'USAGE'))`,
    [BUILD_KEPT_DAYS],
  )
  for (const { functions } of rows) {
    await pool.query(`DROP SCHEMA IF EXISTS "${functions}" CASCADE`)
    await pool.query(`DELETE FROM ${TABLES_SCHEMA}.builds WHERE functions = $1`, [functions])
  }
}

/** 0: nothing is there yet. */
async function findVersion(db: PostgresPool): Promise<number> {
  const { rows: tables } = await db.query('SELECT tablename FROM pg_tables WHERE schemaname = $1', [TABLES_SCHEMA])
  if (tables.length === 0) return 0
  const version = tables.some(({ tablename }) => tablename === 'meta') ? await readVersion(db) : undefined
  if (version === undefined)
    throw new PostgresUnusable(
      `The schema "${TABLES_SCHEMA}" of this database has tables that are not Millrace's. Name a database of its own.`,
    )
  if (!tables.some(({ tablename }) => tablename === 'bodies'))
    throw new PostgresUnusable(
      `The schema "${TABLES_SCHEMA}" was made by an early development build, whose contents lie elsewhere. Name an empty database.`,
    )
  return version
}

async function readVersion(db: PostgresPool): Promise<number | undefined> {
  // As a whole row, because another program's table has other columns.
  const { rows } = await db.query(`SELECT to_jsonb(meta) AS found FROM ${TABLES_SCHEMA}.meta`)
  const found = rows.map((row) => row.found as { readonly name?: unknown; readonly value?: unknown })
  const version = Number(found.find(({ name }) => name === 'schema')?.value)
  return Number.isInteger(version) && version > 0 ? version : undefined
}

async function hasFunctions(db: PostgresPool): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT (SELECT count(*)::integer FROM pg_proc WHERE pronamespace = place.oid AND proconfig IS NOT NULL) AS entries
      FROM pg_namespace AS place WHERE nspname = $1`,
    [FUNCTIONS_SCHEMA],
  )
  if (rows.length === 0) return false
  if (rows[0]?.entries === ENTRIES) return true
  throw new PostgresUnusable(`The schema "${FUNCTIONS_SCHEMA}" is incomplete. Drop it, and start again.`)
}

/** Refuses a server that would not keep money. */
export async function checkServer(db: PostgresPool, { mayLoseCommits = false }: InstallOptions): Promise<void> {
  const { rows } = await db.query(`SELECT current_setting('server_version_num')::integer / 10000 AS version,
    current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_replica,
    current_setting('transaction_read_only') = 'on' AS is_read_only,
    current_setting('default_transaction_isolation') AS isolation,
    current_setting('synchronous_commit') AS commits, current_setting('fsync') AS fsync`)
  const { version, encoding, is_replica, is_read_only, isolation, commits, fsync } = rows[0]!
  if (Number(version) < VERSION_MIN)
    throw new PostgresUnusable(`This is PostgreSQL ${version}; Millrace needs ${VERSION_MIN} or newer.`)
  if (encoding !== 'UTF8')
    throw new PostgresUnusable(`The encoding of this database is ${encoding}. Create it with the encoding UTF8.`)
  if (is_replica) throw new PostgresUnusable('This server is a replica. Name the primary server.')
  if (is_read_only)
    throw new PostgresUnusable('Transactions are read-only here. Set default_transaction_read_only to off.')
  if (isolation !== 'read committed')
    throw new PostgresUnusable(
      `default_transaction_isolation is ${isolation}. Set it to read committed for the role or the database of Millrace.`,
    )
  const lossy = commits === 'off' ? 'synchronous_commit' : fsync === 'off' ? 'fsync' : undefined
  if (lossy !== undefined && !mayLoseCommits)
    throw new PostgresUnusable(
      `${lossy} is off: a power failure would lose charges. Set ${lossy} to on, or storage.may_lose_commits to true.`,
    )
}
