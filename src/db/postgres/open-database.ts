import { Kysely } from 'kysely'
import type pg from 'pg'
import { createStoreDialect } from '../kysely-dialect.ts'
import { findLedgerId, MOVING, UNFINISHED_MOVE } from '../meta.ts'
import type { SqlStore } from '../sql-store.ts'
import type { LedgerDb, LedgerTables } from '../tables.ts'
import { sweepBodies } from './bodies.ts'
import { checkServer, installSchema, PostgresUnusable, tidyBuilds } from './install.ts'
import type { PostgresConnections, PostgresPool } from './pool.ts'
import { FUNCTIONS_SCHEMA, TABLES_SCHEMA } from './schema.ts'
import { forgetSignals, listenToSignals, type Signal } from './signals.ts'
import { createPostgresStore, storeTypes } from './sql-store.ts'

interface PostgresOptions {
  readonly url: string
  /** A connection failed. The next query opens another one. */
  readonly onTrouble: (error: unknown) => void
  /** A change of the tables has to wait for another session. */
  readonly onLockWait?: (() => void) | undefined
  /** The operator has said so. */
  readonly mayLoseCommits?: boolean | undefined
}

/** One PostgreSQL database with everything that an SQLite folder has in two files. */
export interface PostgresDatabase {
  readonly kind: 'postgres'
  /** The random id of this ledger. */
  readonly ledger: string
  readonly db: LedgerDb
  /** Through connections of its own, so that no request waits behind reports and audits. */
  readonly lowPriorityDb: LedgerDb
  /** Lists of statements take effect one after the other. */
  readonly file: SqlStore
  readonly content: SqlStore
  /** Calls the ledger's functions. */
  readonly ledgerPool: PostgresPool
  /** For the lease of this node and its marks, which must not wait behind requests. */
  readonly leasePool: PostgresPool
  /** For proofs. */
  readonly proofPool: PostgresPool
  /** Calls back with what other nodes have changed. Returns how to stop. */
  listen(onSignals: (signals: readonly Signal[]) => void): Promise<() => Promise<void>>
  /** True for one of all nodes an interval: that one does the job. */
  claimJob(name: string, intervalMs: number): Promise<boolean>
  forgetSignals(): Promise<void>
  /** Carries on what outlives its day, and drops days that nothing is in any more. */
  sweepBodies(now: number): Promise<void>
  /** Drops what only former builds needed. */
  tidyBuilds(): Promise<void>
  close(): Promise<void>
}

/** Each is bounded, so that reports cannot take the connections of requests. */
const POOLS = {
  ledger: { max: 6, query_timeout: 10_000 },
  lease: { max: 1, query_timeout: 10_000 },
  people: { max: 4, query_timeout: 10_000 },
  content: { max: 6, query_timeout: 30_000 },
  reports: { max: 2, query_timeout: 60_000 },
  proofs: { max: 1, query_timeout: 60_000 },
} as const
const CONNECT_TIMEOUT_MS = 5000

/** Connects and brings the schema to this version. Rejects with PostgresUnusable, which tells the operator what to do. */
export async function openPostgres(options: PostgresOptions): Promise<PostgresDatabase> {
  // Only a node that uses PostgreSQL loads its driver.
  const { default: driver } = await import('pg')
  const pools: pg.Pool[] = []
  const open = (name: keyof typeof POOLS, types?: pg.CustomTypesConfig): pg.Pool => {
    const pool = new driver.Pool({
      connectionString: options.url,
      application_name: `millrace ${name}`,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      // A connection that is not used does not keep a command from ending.
      allowExitOnIdle: true,
      // PostgreSQL believes lists to be long, and would compile a query for longer than it runs.
      onConnect: async (client) => void (await client.query('SET jit = off')),
      ...POOLS[name],
      ...(types && { types }),
    })
    pool.on('error', options.onTrouble)
    pools.push(pool)
    return pool
  }
  const close = async () => void (await Promise.all(pools.map((pool) => pool.end())))
  try {
    const types = storeTypes(driver.types) as pg.CustomTypesConfig
    const ledgerPool = open('ledger')
    await installSchema(ledgerPool as PostgresConnections, options)
    await refuseUnfinishedMove(ledgerPool as PostgresPool)
    const { rows } = await ledgerPool.query<{ version: string }>("SELECT current_setting('server_version') AS version")
    const name = `PostgreSQL ${rows[0]?.version.split(' ')[0]}`
    const store = (pool: pg.Pool, isolation: 'serializable' | 'read-committed') =>
      createPostgresStore({ pool: pool as PostgresConnections, driver: name, isolation })
    const file = store(open('people', types), 'serializable')
    const reports = store(open('reports', types), 'serializable')
    const content = store(open('content', types), 'read-committed')
    const db: LedgerDb = new Kysely<LedgerTables>({ dialect: createStoreDialect(file) })
    return {
      kind: 'postgres',
      ledger: await findLedgerId(db),
      db,
      lowPriorityDb: new Kysely<LedgerTables>({ dialect: createStoreDialect(reports) }),
      file,
      content,
      ledgerPool: ledgerPool as PostgresPool,
      leasePool: open('lease') as PostgresPool,
      proofPool: open('proofs') as PostgresPool,
      listen: (onSignals) =>
        listenToSignals({
          pool: ledgerPool as PostgresPool,
          connect: async () => {
            const client = new driver.Client({
              connectionString: options.url,
              application_name: 'millrace signals',
              connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
              keepAlive: true,
            })
            // An error after one of `connect` would end the process.
            client.on('error', () => {})
            await client.connect()
            return client
          },
          onSignals,
          onTrouble: options.onTrouble,
        }),
      claimJob: async (job, intervalMs) => {
        const claimed = await ledgerPool.query(`SELECT ${FUNCTIONS_SCHEMA}.claim_job($1, $2) AS claimed`, [
          job,
          intervalMs,
        ])
        return claimed.rows[0]?.claimed === true
      },
      tidyBuilds: () => tidyBuilds(ledgerPool as PostgresPool),
      forgetSignals: () => forgetSignals(ledgerPool as PostgresPool),
      sweepBodies: (now) => sweepBodies(content, now),
      close,
    }
  } catch (error) {
    await close()
    throw error instanceof PostgresUnusable ? error : unusable(error)
  }
}

async function refuseUnfinishedMove(pool: PostgresPool): Promise<void> {
  const { rows } = await pool.query(`SELECT FROM ${TABLES_SCHEMA}.meta WHERE name = $1`, [MOVING])
  if (rows.length > 0) throw new PostgresUnusable(`A ledger was being moved into this database. ${UNFINISHED_MOVE}`)
}

/** Connections of one process: those of all pools, and the one that listens to signals. */
const CONNECTIONS_PER_PROCESS = Object.values(POOLS).reduce((sum, { max }) => sum + max, 1)

export type PostgresInspection =
  | { readonly kind: 'unreachable'; readonly message: string }
  | {
      readonly kind: 'reached'
      readonly version: string
      /** Why the server would not start on it. */
      readonly unsuitable: string | undefined
      /** Without those that PostgreSQL reserves for administrators. */
      readonly connectionsMax: number
      readonly connectionsPerProcess: number
    }

/** Connects once and changes nothing. */
export async function inspectPostgres(
  url: string,
  options: Pick<PostgresOptions, 'mayLoseCommits'>,
): Promise<PostgresInspection> {
  const { default: driver } = await import('pg')
  const client = new driver.Client({
    connectionString: url,
    application_name: 'millrace doctor',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: CONNECT_TIMEOUT_MS,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ version: string; connections: number }>(
      `SELECT current_setting('server_version') AS version, current_setting('max_connections')::integer
        - current_setting('superuser_reserved_connections')::integer AS connections`,
    )
    const unsuitable = await checkServer(client as PostgresPool, options).then(
      () => undefined,
      (error: Error) => error.message,
    )
    return {
      kind: 'reached',
      version: rows[0]!.version.split(' ')[0]!,
      unsuitable,
      connectionsMax: rows[0]!.connections,
      connectionsPerProcess: CONNECTIONS_PER_PROCESS,
    }
  } catch (error) {
    const known = unusable(error)
    return {
      kind: 'unreachable',
      // A driver's message may quote the address, which may have a password in it.
      message:
        known instanceof PostgresUnusable ? known.message : 'PostgreSQL cannot be reached. Check storage.database.',
    }
  } finally {
    await client.end().catch(() => {})
  }
}

/** Without the address, which may have a password in it. `named` is where the operator wrote it. */
export function unusable(cause: unknown, named = 'storage.database'): unknown {
  const { code, message } = cause as { code?: string; message?: string }
  switch (code) {
    case 'ECONNREFUSED':
    case 'ENOENT':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'ETIMEDOUT':
      return new PostgresUnusable(`PostgreSQL cannot be reached (${code}). Check ${named}, and that it runs.`, {
        cause,
      })
    case '28P01':
    case '28000':
      return new PostgresUnusable(`PostgreSQL refuses the user or the password of ${named}.`, { cause })
    case '3D000':
      return new PostgresUnusable(`The database that ${named} names does not exist. Create it first.`, {
        cause,
      })
    case '42501':
      return new PostgresUnusable(
        `The user of ${named} lacks a right: ${message}. It must own its database, or start once as its owner.`,
        { cause },
      )
    default:
      return cause
  }
}
