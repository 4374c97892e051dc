import { sql } from 'kysely'
import type { LedgerDb } from '../../src/db/tables.ts'

/** Room that is left for everything else, and what one of the writes that are to fail asks for: twice as much. */
const ROOM_BYTES = 4_000_000
const PAGES_MAX = 1_073_741_823

/**
 * From now on such writes of the ledger (`INSERT ON receipts`) fail as on a full disk, with SQLite's own SQLITE_FULL: each of
 * them asks for more pages than the file may have. Returns how to make room again.
 */
export async function fillDiskFor(db: LedgerDb, ...writes: readonly string[]): Promise<() => Promise<void>> {
  const run = <Row>(text: string) => sql<Row>`${sql.raw(text)}`.execute(db)
  const pragma = async (name: string): Promise<number> =>
    Number(Object.values((await run<object>(`PRAGMA ${name}`)).rows[0]!)[0])
  const pages = (await pragma('page_count')) + Math.ceil(ROOM_BYTES / (await pragma('page_size')))
  await pragma(`max_page_count = ${pages}`)
  const names = writes.map((write) => `full_disk_${write.replaceAll(' ', '_')}`)
  // Of this connection only: what the disk keeps is whole.
  for (const [place, write] of writes.entries())
    await run(`CREATE TEMP TRIGGER ${names[place]} BEFORE ${write}
      BEGIN INSERT INTO meta (name, value) VALUES ('ballast', hex(zeroblob(${ROOM_BYTES}))); END`)
  return async () => {
    for (const name of names) await run(`DROP TRIGGER ${name}`)
    await pragma(`max_page_count = ${PAGES_MAX}`)
  }
}
