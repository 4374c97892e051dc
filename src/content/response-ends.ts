import type { SqliteFile, SqlValue } from '../sqlite/sqlite-file.ts'
import type { OwnerRow } from './owners.ts'

/**
 * What may go, those that expire first at the front: responses on which nothing was built, and behind each of them those
 * that only it was built on. So a chain goes from its end, and never loses its middle.
 */
const TO_GO = `WITH RECURSIVE going (response, parent, items, first, depth) AS (
    SELECT response, parent, items, expires_at, 0 FROM (
      SELECT response, parent, items, expires_at FROM responses
      WHERE children = 0 AND status <> 'in_progress' AND expires_at <= ?1 ORDER BY expires_at LIMIT ?2)
    UNION ALL
    SELECT r.response, r.parent, r.items, going.first, going.depth + 1
    FROM going CROSS JOIN responses r ON r.response = going.parent
    WHERE r.children = 1 AND r.status <> 'in_progress' AND r.expires_at <= ?1 AND going.depth < ?2
  )
  SELECT response, items FROM going ORDER BY first, depth LIMIT ?2`

export interface GoingRow {
  readonly response: number
  /** How many links go with it. */
  readonly items: number
}

export const listToGo = (file: SqliteFile, until: number, limit: number): Promise<GoingRow[]> =>
  file.all<GoingRow>(TO_GO, [until, limit])

const END = 'DELETE FROM responses WHERE response = ? AND children = 0'

/** Returns how many ended: none of those that something was built on meanwhile. */
export const endResponses = (file: SqliteFile, going: readonly GoingRow[]): Promise<number> =>
  change(file, END, ...going.map(({ response }) => [response]))

/** One after the other, as long as all of them take more than this. */
export const endWhileMoreThan = (file: SqliteFile, going: readonly GoingRow[], bytes: number): Promise<number> =>
  change(
    file,
    `${END} AND (SELECT bytes FROM state_size WHERE one = 1) > ?`,
    ...going.map(({ response }) => [response, bytes]),
  )

/** What all responses take. */
export async function findStoredBytes(file: SqliteFile): Promise<number> {
  const [size] = await file.all<{ bytes: number }>('SELECT bytes FROM state_size WHERE one = 1', [])
  return size!.bytes
}

/** A response of which nothing has to be kept but that others were built on it. */
const NOT_SHOWN = 'UPDATE responses SET expires_at = 0'
/** Ended, whatever it was doing: one that runs would be kept for its end. */
const ENDED_STATUS = "status = CASE status WHEN 'in_progress' THEN 'failed' ELSE status END"

interface Named {
  readonly owner: OwnerRow
  /** The digest of its id. */
  readonly id: string
}

/** Not shown from now on. It goes with the next sweep on which nothing is built. False when there was none to be seen. */
export const hideResponse = async (
  file: SqliteFile,
  { owner, id, now }: Named & { readonly now: number },
): Promise<boolean> =>
  (await change(file, `${NOT_SHOWN} WHERE account = ? AND id = ? AND expires_at > ?`, [owner, id, now])) > 0

/** Not shown, and no reason to charge for anything. */
export const disownResponse = (file: SqliteFile, { owner, id }: Named): Promise<number> =>
  change(file, `${NOT_SHOWN}, ${ENDED_STATUS}, facts = NULL WHERE account = ? AND id = ?`, [owner, id])

const ALL_OF_ACCOUNT = 'SELECT response, id FROM responses WHERE account = ? AND id > ? ORDER BY id LIMIT ?'
const HIDDEN_AT_ONCE = 500

/** All of an account, a slice at a time; none of them is running any more, whatever it was. */
export async function hideAll(file: SqliteFile, owner: OwnerRow): Promise<void> {
  for (let after = ''; ; ) {
    const rows = await file.all<{ response: number; id: string }>(ALL_OF_ACCOUNT, [owner, after, HIDDEN_AT_ONCE])
    if (rows.length === 0) return
    const hidden = rows.map(({ response }) => [response])
    await change(file, `${NOT_SHOWN}, ${ENDED_STATUS} WHERE response = ?`, ...hidden)
    after = rows.at(-1)!.id
  }
}

/** What a dead process has left running. Returns how many. */
export const failRunning = (file: SqliteFile): Promise<number> =>
  change(file, "UPDATE responses SET status = 'failed' WHERE status = 'in_progress'", [])

/** Runs a statement for each of these rows, and returns how many rows of the file it has changed. */
async function change(file: SqliteFile, sql: string, ...rows: SqlValue[][]): Promise<number> {
  const [changed = 0] = await file.atomic([{ sql, rows }])
  return changed
}
