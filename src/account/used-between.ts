import { readUsageBefore } from '../content/read-usage.ts'
import type { UsageSums } from '../content/usage-series.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import { QUARTER_MS } from '../store/usage-slices.ts'
import { NO_USAGE, subtractUsed } from './usage-sums.ts'

/** Rows that one question brings: the thread that answers has others waiting, and so has the one that asks. */
const ROWS_AT_ONCE = 1000

/**
 * What each series came to between each of these instants and the next one, in their order: one less than there are
 * instants. All of them are at full quarters of an hour, because the days and hours of every zone are.
 */
export async function usedBetween(
  content: SqliteFile,
  series: readonly number[],
  instants: readonly number[],
): Promise<ReadonlyMap<number, readonly UsageSums[]>> {
  const quarters = instants.map((at) => Math.floor(at / QUARTER_MS))
  const used = new Map<number, readonly UsageSums[]>()
  const atOnce = Math.max(1, Math.floor(ROWS_AT_ONCE / quarters.length))
  for (let from = 0; from < series.length; from += atOnce) {
    const some = series.slice(from, from + atOnce)
    const rows = await readUsageBefore(content, some, [...new Set(quarters)])
    const found = new Map(rows.map((row) => [`${row.series} ${row.before}`, row]))
    for (const each of some) {
      const before = quarters.map((quarter) => found.get(`${each} ${quarter}`) ?? NO_USAGE)
      used.set(
        each,
        before.slice(1).map((sums, index) => subtractUsed(sums, before[index]!)),
      )
    }
  }
  return used
}
