import type { LedgerDb, MarksTable } from './tables.ts'

/** How far the running streams of every node had got when it last wrote it down. */
export const findMarks = (db: LedgerDb): Promise<MarksTable[]> => db.selectFrom('marks').selectAll().execute()
