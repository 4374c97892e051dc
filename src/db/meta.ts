import type { SqlStore } from './sql-store.ts'
import type { LedgerDb } from './tables.ts'

/** The random id of the ledger. */
export const LEDGER_ID = 'ledger_id'
/** The id of the key that the ledger was begun with (app/key-ring.ts). */
export const SEALED_BY = 'sealed_by'
/** A move has not filled this database yet: nothing starts on it. */
export const MOVING = 'moving'
export const UNFINISHED_MOVE =
  'Not all of it is here, so nothing starts on it. Run the same move again (db move, with the storage that it moves from); ' +
  'until it has ended, keep using that storage.'

export async function findMeta(db: LedgerDb, name: string): Promise<string | undefined> {
  const row = await db.selectFrom('meta').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value
}

/** Sets it once: returns the value that is there, which may be that of another node. */
export async function addMeta(db: LedgerDb, name: string, value: string): Promise<string> {
  const insert = db.insertInto('meta').values({ name, value })
  await insert.onConflict((conflict) => conflict.column('name').doNothing()).execute()
  return (await findMeta(db, name)) ?? value
}

const ROOM = 'room'
/** Enough for some hundred requests. On a full disk a small row would still fit into an existing page. */
const ROOM_BYTES = 256 * 1024

const TAKE_ROOM = `INSERT INTO meta (name, value) VALUES ('${ROOM}', ?)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value`

const GIVE_BACK = `DELETE FROM meta WHERE name = '${ROOM}'`

/**
 * Throws unless the file takes writes again. Two commits, because space that is freed in the same commit is never requested
 * from the disk. The freed space stays in the file for the next rows.
 */
export async function proveWritable(file: SqlStore): Promise<void> {
  await file.atomic([{ sql: TAKE_ROOM, rows: [['0'.repeat(ROOM_BYTES)]] }])
  await file.atomic([{ sql: GIVE_BACK, rows: [[]] }])
}

/** A position of a ledger. A ledger restored from an older backup has not reached it, or has other rows there. */
export interface LedgerMark {
  /** 0: none. */
  readonly receipt: number
  readonly requestId: string
  /** The newest transfer of dollars; 0: none. */
  readonly transfer: number
  readonly transferAt: number
}

export const NO_MARK: LedgerMark = { receipt: 0, requestId: '', transfer: 0, transferAt: 0 }

export async function findLedgerId(db: LedgerDb): Promise<string> {
  const id = await findMeta(db, LEDGER_ID)
  if (id === undefined) throw new Error('ledger.db has lost its identity: restore it from a backup')
  return id
}

export async function findNewestMark(db: LedgerDb): Promise<LedgerMark> {
  const newest = await db
    .selectFrom('receipts')
    .select(['row', 'request_id'])
    .where('row', '=', ({ selectFrom }) =>
      selectFrom('receipts as last').select(({ fn }) => fn.max('last.row').as('row')),
    )
    .executeTakeFirst()
  return newest === undefined ? NO_MARK : { ...NO_MARK, receipt: newest.row, requestId: newest.request_id }
}

/** Whether the ledger has the rows of this mark. */
export async function hasReached(db: LedgerDb, mark: LedgerMark): Promise<boolean> {
  if (mark.receipt > 0) {
    const receipt = await db
      .selectFrom('receipts')
      .select('request_id')
      .where('row', '=', mark.receipt)
      .executeTakeFirst()
    if (receipt?.request_id !== mark.requestId) return false
  }
  if (mark.transfer === 0) return true
  const transfer = await db.selectFrom('transfers').select('at').where('row', '=', mark.transfer).executeTakeFirst()
  return transfer?.at === mark.transferAt
}
