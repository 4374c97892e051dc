import { findSliceStart } from '../store/movements.ts'
import type { LedgerDb } from '../store/tables.ts'
import { countByBucket, findPlanClosingTime } from '../store/windows.ts'

/** About two milliseconds of the thread that also records every settle. */
const SLICE_REQUESTS = 1000
/** So many are counted for a page; a window that has more says so by telling none. */
const SLICES = 3

/** A window that is counted for: its bucket, and from when requests can stand on it. */
export interface CountedWindow {
  readonly bucket: number
  readonly start: number
}

/**
 * How many requests have held on each window, by its bucket. All are counted in one pass from those that run and the last
 * that ended back, for as long as that is little work: a window that begins before where the pass has come to is not in the
 * answer.
 */
export async function countOnWindows(
  db: LedgerDb,
  account: number,
  windows: readonly CountedWindow[],
): Promise<ReadonlyMap<number, number>> {
  if (windows.length === 0) return new Map()
  const earliest = Math.min(...windows.map(({ start }) => start))
  const counts = new Map<number, number>()
  let reached = Number.NEGATIVE_INFINITY
  for (let [slice, before] = [0, Number.MAX_SAFE_INTEGER]; slice < SLICES; slice++) {
    const from = await findSliceStart(db, account, { kinds: ['builder'], before, requests: SLICE_REQUESTS })
    const found = await countByBucket(db, account, { from: from ?? 0, before, running: slice === 0 })
    for (const [bucket, requests] of found) {
      counts.set(bucket, (counts.get(bucket) ?? 0) + requests)
    }
    reached = from === undefined ? Number.NEGATIVE_INFINITY : ((await findPlanClosingTime(db, account, from)) ?? 0)
    if (from === undefined || reached < earliest) break
    before = from
  }
  const whole = windows.filter(({ start }) => reached < start)
  return new Map(whole.map(({ bucket }) => [bucket, counts.get(bucket) ?? 0]))
}
