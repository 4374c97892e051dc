import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { endResponses, endWhileMoreThan, findStoredBytes, type GoingRow, listToGo } from './response-ends.ts'

/** Ended at a time, so that whoever wants to keep or read one waits for a few only. */
const ENDED_AT_ONCE = 50
const LINKS_AT_ONCE = 5000
/** Later than anything expires. */
const EVER = Number.MAX_SAFE_INTEGER

/** False when there would not be enough room with everything gone that may go. */
export async function makeRoom(file: SqliteFile, bytes: number, bytesMax: number): Promise<boolean> {
  for (;;) {
    if ((await findStoredBytes(file)) + bytes <= bytesMax) return true
    const going = await listFewToGo(file, EVER)
    if (going.length === 0 || (await endWhileMoreThan(file, going, bytesMax - bytes)) === 0) return false
  }
}

/** Ends a few of what has expired. Returns how many; none when there is nothing left. */
export async function endExpired(file: SqliteFile, now: number): Promise<number> {
  const going = await listFewToGo(file, now)
  return going.length === 0 ? 0 : endResponses(file, going)
}

async function listFewToGo(file: SqliteFile, until: number): Promise<GoingRow[]> {
  let links = 0
  return (await listToGo(file, until, ENDED_AT_ONCE)).filter(({ items }, at) => {
    links += items
    return at === 0 || links <= LINKS_AT_ONCE
  })
}
