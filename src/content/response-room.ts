import type { AccountRow } from '../model/ids.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'

/** Ended at a time, so that whoever wants to keep or read one waits for a few only. */
const ENDED_AT_ONCE = 50
const LINKS_AT_ONCE = 5000
/** Later than anything expires. */
const EVER = Number.MAX_SAFE_INTEGER

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

const END = 'DELETE FROM responses WHERE response = ? AND children = 0'
const END_FOR_ROOM = `${END} AND (SELECT bytes FROM state_size WHERE one = 1) > ?`

interface GoingRow {
  readonly response: number
  readonly items: number
}

async function listToGo(file: SqliteFile, until: number): Promise<number[]> {
  const rows = (await file.all(TO_GO, [until, ENDED_AT_ONCE])) as unknown as GoingRow[]
  let links = 0
  const few = rows.filter(({ items }, at) => {
    links += items
    return at === 0 || links <= LINKS_AT_ONCE
  })
  return few.map(({ response }) => response)
}

/** Ends a few of what has expired. Returns how many; none when there is nothing left. */
export async function endExpired(file: SqliteFile, now: number): Promise<number> {
  const going = await listToGo(file, now)
  if (going.length === 0) return 0
  const [ended = 0] = await file.atomic([{ sql: END, rows: going.map((response) => [response]) }])
  return ended
}

/** False when there would not be enough room with everything gone that may go. */
export async function makeRoom(file: SqliteFile, bytes: number, bytesMax: number): Promise<boolean> {
  for (;;) {
    const [size] = await file.all('SELECT bytes FROM state_size WHERE one = 1', [])
    if ((size?.bytes as number) + bytes <= bytesMax) return true
    const going = await listToGo(file, EVER)
    if (going.length === 0) return false
    const [ended = 0] = await file.atomic([
      { sql: END_FOR_ROOM, rows: going.map((response) => [response, bytesMax - bytes]) },
    ])
    if (ended === 0) return false
  }
}

/** A response of which nothing has to be kept but that others were built on it. */
const NOT_SHOWN = 'UPDATE responses SET expires_at = 0'

/** Not shown from now on. It goes with the next sweep on which nothing is built. False when there was none to be seen. */
export async function hide(
  file: SqliteFile,
  { account, id, now }: { account: AccountRow; id: string; now: number },
): Promise<boolean> {
  const sql = `${NOT_SHOWN} WHERE account = ? AND id = ? AND expires_at > ?`
  const [changed = 0] = await file.atomic([{ sql, rows: [[account, id, now]] }])
  return changed > 0
}

/** Ended, whatever it was doing: one that runs would be kept for its end. */
const ENDED_STATUS = "status = CASE status WHEN 'in_progress' THEN 'failed' ELSE status END"

/** Not shown, and no reason to charge for anything. */
export async function disown(file: SqliteFile, { account, id }: { account: AccountRow; id: string }): Promise<void> {
  const sql = `${NOT_SHOWN}, ${ENDED_STATUS}, facts = NULL WHERE account = ? AND id = ?`
  await file.atomic([{ sql, rows: [[account, id]] }])
}

const HIDDEN_AT_ONCE = 500

/** All of an account, a slice at a time; none of them is running any more, whatever it was. */
export async function hideAll(file: SqliteFile, account: AccountRow): Promise<void> {
  for (let after = ''; ; ) {
    const rows = await file.all('SELECT response, id FROM responses WHERE account = ? AND id > ? ORDER BY id LIMIT ?', [
      ...[account, after],
      HIDDEN_AT_ONCE,
    ])
    if (rows.length === 0) return
    const sql = `${NOT_SHOWN}, ${ENDED_STATUS} WHERE response = ?`
    await file.atomic([{ sql, rows: rows.map(({ response }) => [response as number]) }])
    after = rows.at(-1)?.id as string
  }
}
