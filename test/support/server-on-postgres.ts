import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import { openPostgres, type PostgresDatabase } from '../../src/db/postgres/open-database.ts'
import type { PostgresPool } from '../../src/db/postgres/pool.ts'
import { FUNCTIONS_SCHEMA } from '../../src/db/postgres/schema.ts'

/** Where the servers of this run keep their data; undefined: in SQLite files. */
const server = inject('postgres')

export const onPostgres = server !== undefined

export const postgresUrl = (database: string): string =>
  `postgres://${server!.user}@localhost/${database}?host=${server!.host}`

let made = 0
let template: Promise<string> | undefined

/** Runs SQL as the owner of everything. */
export async function asAdmin(sql: string, database = 'postgres'): Promise<void> {
  const client = new pg.Client({ connectionString: postgresUrl(database) })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}

/** Installing the schema takes longer than copying it. */
async function createTemplate(): Promise<string> {
  const name = `template_${process.pid}`
  await asAdmin(`CREATE DATABASE ${name}`)
  const opened = await openPostgres({ url: postgresUrl(name), mayLoseCommits: true, onTrouble() {} })
  await opened.close()
  return name
}

const NAME_FILE = 'postgres-database'

/** A folder whose server uses the database of another one: the next node. */
export const useDatabaseOf = async (other: string, folder: string): Promise<void> =>
  writeFileSync(join(folder, NAME_FILE), readFileSync(join(other, NAME_FILE), 'utf8'))

/** A folder whose server uses this database. */
export const useDatabase = (database: string, folder: string): void => writeFileSync(join(folder, NAME_FILE), database)

/** The database of a data folder: that of an earlier server in it, or a new one. */
export async function databaseOf(folder: string): Promise<string> {
  const file = join(folder, NAME_FILE)
  try {
    return readFileSync(file, 'utf8')
  } catch {
    template ??= createTemplate()
    const name = `server_${process.pid}_${++made}`
    await asAdmin(`CREATE DATABASE ${name} TEMPLATE ${await template}`)
    writeFileSync(file, name)
    return name
  }
}

export const dropDatabase = (database: string): Promise<void> => asAdmin(`DROP DATABASE ${database} WITH (FORCE)`)

const REAL_MICROS = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint'

/** A server's database whose clock a test sets. */
export interface TestPostgres {
  readonly opened: PostgresDatabase
  /** The clock of the database decides, so it has to go on with that of the server. The lease of the server goes on with it. */
  advance(ahead: number, by: number): void
}

/** Opens it as a server does. What the ledger asks waits for a clock that is being set, and the clock for it. */
export async function openTestPostgres(
  options: Parameters<typeof openPostgres>[0],
  { isStill, ahead: aheadAtFirst }: { readonly isStill: boolean; readonly ahead: number },
): Promise<TestPostgres> {
  const opened = await openPostgres({ ...options, mayLoseCommits: true })
  const { ledgerPool } = opened
  const { rows } = await ledgerPool.query(`SELECT ${REAL_MICROS} AS now`)
  const now = isStill ? String(rows[0]!.now) : REAL_MICROS
  const setClock = (ahead: number, by: number) =>
    ledgerPool.query(
      `UPDATE millrace.nodes SET lease_until = lease_until + ${Math.round(by)};
       CREATE OR REPLACE FUNCTION ${FUNCTIONS_SCHEMA}.ledger_micros() RETURNS bigint LANGUAGE sql AS $$
         SELECT ${now} + ${Math.round(ahead * 1000)} $$`,
    )
  let clockSet: Promise<unknown> = isStill || aheadAtFirst > 0 ? setClock(aheadAtFirst, 0) : Promise.resolve()
  const running = new Set<Promise<unknown>>()
  const waiting = (pool: PostgresPool): PostgresPool => ({
    query: async (text, values) => {
      await clockSet
      const query = pool.query(text, values)
      running.add(query)
      return query.finally(() => running.delete(query))
    },
  })
  return {
    opened: { ...opened, ledgerPool: waiting(ledgerPool), leasePool: waiting(opened.leasePool) },
    advance(ahead, by) {
      // A renewal that had read the old time would leave a lease that has ended by the new one: the server answers 503.
      clockSet = clockSet.then(() => Promise.allSettled([...running])).then(() => setClock(ahead, by))
    },
  }
}
