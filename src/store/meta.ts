import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { LedgerDb } from './tables.ts'

/** What the database remembers about itself, by name. */
export async function findMeta(db: LedgerDb, name: string): Promise<string | undefined> {
  const row = await db.selectFrom('meta').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value
}

export async function setMeta(db: LedgerDb, name: string, value: string): Promise<void> {
  await db
    .insertInto('meta')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

const ROOM = 'room'
/** Some hundred requests' worth. A small row would fit into a page that is there, on a disk that is full. */
const ROOM_BYTES = 256 * 1024

const TAKE_ROOM = `INSERT INTO meta (name, value) VALUES ('${ROOM}', ?)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`

const GIVE_BACK = `DELETE FROM meta WHERE name = '${ROOM}'`

/**
 * Throws unless the file takes writes again. Two commits, because room that is given back in the same one was never
 * asked of the disk; what is given back stays with the file, for the rows that come next.
 */
export async function proveWritable(file: SqliteFile): Promise<void> {
  await file.atomic([{ sql: TAKE_ROOM, rows: [['0'.repeat(ROOM_BYTES)]] }])
  await file.atomic([{ sql: GIVE_BACK, rows: [[]] }])
}
