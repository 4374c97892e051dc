import { sql } from 'kysely'
import type { LedgerDb } from '../../src/db/tables.ts'
import { onPostgres } from './server-on-postgres.ts'

/** Room that is left for everything else, and what one of the writes that are to fail asks for: twice as much. */
const ROOM_BYTES = 4_000_000
const PAGES_MAX = 1_073_741_823

/**
 * From now on such writes of the ledger (`INSERT ON receipts`) fail as on a full disk, with SQLite's own SQLITE_FULL: each of
 * them asks for more pages than the file may have. Returns how to make room again.
 */
export async function fillDiskFor(db: LedgerDb, ...writes: readonly string[]): Promise<() => Promise<void>> {
  const run = <Row>(text: string) => sql<Row>`${sql.raw(text)}`.execute(db)
  const names = writes.map((write) => `full_disk_${write.replaceAll(' ', '_')}`)
  if (onPostgres) return fillPostgresDisk(run, writes, names)
  const pragma = async (name: string): Promise<number> =>
    Number(Object.values((await run<object>(`PRAGMA ${name}`)).rows[0]!)[0])
  const pages = (await pragma('page_count')) + Math.ceil(ROOM_BYTES / (await pragma('page_size')))
  await pragma(`max_page_count = ${pages}`)
  // Of this connection only: what the disk keeps is whole.
  for (const [place, write] of writes.entries())
    await run(`CREATE TEMP TRIGGER ${names[place]} BEFORE ${write}
      BEGIN INSERT INTO meta (name, value) VALUES ('ballast', hex(zeroblob(${ROOM_BYTES}))); END`)
  return async () => {
    for (const name of names) await run(`DROP TRIGGER ${name}`)
    await pragma(`max_page_count = ${PAGES_MAX}`)
  }
}

/** With the code of PostgreSQL for a full disk. */
async function fillPostgresDisk(
  run: (text: string) => Promise<unknown>,
  writes: readonly string[],
  names: readonly string[],
) {
  await run(`CREATE OR REPLACE FUNCTION millrace.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`)
  for (const [place, write] of writes.entries()) {
    const [event, table] = write.split(' ON ')
    await run(`CREATE TRIGGER ${names[place]} BEFORE ${event} ON millrace.${table}
      FOR EACH ROW EXECUTE FUNCTION millrace.full_disk()`)
  }
  return async () => {
    for (const [place, write] of writes.entries())
      await run(`DROP TRIGGER ${names[place]} ON millrace.${write.split(' ON ')[1]}`)
  }
}
