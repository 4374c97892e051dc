import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { LedgerDb } from './tables.ts'

const INSERT = `INSERT INTO waiting_ends (request_id, ending) VALUES (?, ?)
  ON CONFLICT (request_id) DO UPDATE SET ending = excluded.ending`
const DELETE = `DELETE FROM waiting_ends WHERE request_id = ?`

/** Ends of turns whose accounts do not add up, as the journal had them. */
export const waitingEnds = (db: LedgerDb, file: SqliteFile) => ({
  async read(): Promise<string[]> {
    const rows = await db.selectFrom('waiting_ends').select('ending').execute()
    return rows.map(({ ending }) => ending)
  },
  async add(requestIds: readonly string[], endings: readonly string[]): Promise<void> {
    await file.atomic([{ sql: INSERT, rows: requestIds.map((requestId, place) => [requestId, endings[place]!]) }])
  },
  async remove(requestIds: readonly string[]): Promise<void> {
    await file.atomic([{ sql: DELETE, rows: requestIds.map((requestId) => [requestId]) }])
  },
})
