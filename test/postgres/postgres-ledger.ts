import pg from 'pg'
import { inject } from 'vitest'
import { installSchema } from '../../src/db/postgres/install.ts'
import type { PostgresConnections, PostgresPool } from '../../src/db/postgres/pool.ts'
import { FUNCTIONS_SCHEMA, TABLES_SCHEMA } from '../../src/db/postgres/schema.ts'
import type { VerifyReport } from '../../src/ledger/ledger.ts'
import { proveOnPostgres } from '../../src/ledger/postgres/proof.ts'
import { secureRandom } from '../../src/lib/random-id.ts'
import { type AccountRow, mintAccountId } from '../../src/model/ids.ts'
import { ONE_STATEMENT_PROOF } from './one-statement-proof.ts'

/** Undefined: this machine has no PostgreSQL, which the run has reported. */
export const postgres = inject('postgres')

/** A database of its own on the server of this run, with an empty ledger. */
export interface PostgresLedgerState {
  /** Another pool of connections to it, as another node has one. */
  connect(connections?: number, name?: string): pg.Pool
  readonly pool: pg.Pool
  addAccount(): Promise<AccountRow>
  /** The database's clock stands at this moment from now on, or goes on by so much before the real one. */
  setClock(at: { readonly micros: number } | { readonly aheadMs: number }): Promise<void>
  violations(): Promise<readonly string[]>
  close(): Promise<void>
}

const PRICE = {
  ...{ input: '1000000', cached_input: '100000', cache_write: '1000000', output: '5000000' },
  ...{ per_request: '0', tiers: [] },
}

let made = 0

/** On the server of this run. */
export interface EmptyDatabase {
  readonly database: string
  /** Another pool of connections to it, as another node has one. */
  connect(connections?: number, name?: string, options?: string): pg.Pool
  /** Leaves the database there. */
  close(): Promise<void>
  drop(): Promise<void>
}

export async function createEmptyDatabase(settings = ''): Promise<EmptyDatabase> {
  const { host, user } = postgres!
  const database = `books_${process.pid}_${++made}`
  const admin = new pg.Pool({ host, user, database: 'postgres', max: 1 })
  await admin.query(`CREATE DATABASE ${database} ${settings}`)
  const pools: pg.Pool[] = []
  const close = async () => {
    await Promise.all(pools.map((each) => each.end()))
    await admin.end()
  }
  return {
    database,
    close,
    connect(connections = 4, name = 'test', options = '') {
      const pool = new pg.Pool({ host, user, database, max: connections, application_name: name, options })
      // A connection that is killed while idle must not end the process.
      pool.on('error', () => {})
      pools.push(pool)
      return pool
    },
    async drop() {
      await Promise.all(pools.map((each) => each.end()))
      await admin.query(`DROP DATABASE ${database} WITH (FORCE)`)
      await admin.end()
    },
  }
}

let template: Promise<string> | undefined

/** Installing the schema takes longer than copying it. */
async function createTemplate(): Promise<string> {
  const { connect, close, database } = await createEmptyDatabase()
  // Of the server of this run, which has fsync off.
  await installSchema(connect(1) as PostgresConnections, { mayLoseCommits: true })
  await close()
  return database
}

export async function createPostgresLedgerState(): Promise<PostgresLedgerState> {
  template ??= createTemplate()
  const { connect, drop } = await createEmptyDatabase(`TEMPLATE ${await template}`)
  // Nodes name the schemas of what they call, tests do not.
  const pool = connect(4, 'test', `-c search_path=${FUNCTIONS_SCHEMA},${TABLES_SCHEMA}`)
  await pool.query('INSERT INTO prices VALUES ($1, 1, $2, 0)', ['demo', JSON.stringify(PRICE)])
  return {
    connect,
    pool,
    async addAccount() {
      const id = mintAccountId(secureRandom)
      const { rows } = await pool.query('SELECT add_account($1, $2) AS row', [id, `${id}@example.com`])
      return Number(rows[0].row) as AccountRow
    },
    async setClock(at) {
      const micros = 'micros' in at ? `${at.micros}` : `${REAL_MICROS} + ${at.aheadMs} * 1000::bigint`
      await pool.query(
        `CREATE OR REPLACE FUNCTION ledger_micros() RETURNS bigint LANGUAGE sql AS $$ SELECT (${micros})::bigint $$`,
      )
    },
    async violations() {
      const { rows } = await pool.query(ONE_STATEMENT_PROOF)
      const proofs = [rows[0].report, await proveOnPostgres(pool as PostgresPool, { whole: true })]
      return proofs.flatMap(brokenRules)
    },
    close: drop,
  }
}

/** With how often each is broken. */
export const brokenRules = ({ checks }: Pick<VerifyReport, 'checks'>): string[] =>
  checks.filter(({ violations }) => violations > 0).map(({ name, violations }) => `${name}: ${violations}`)

const REAL_MICROS = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint'
