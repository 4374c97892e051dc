import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { SeriesName, UsageLevel } from './usage-levels.ts'
import { USAGE_SUMS } from './usage-migration.ts'
import type { UsageSums } from './usage-totals.ts'

export interface UsageSeries extends Omit<SeriesName, 'level'> {
  readonly series: number
  readonly last_at: number
}

/** Which series of a level: all that are of this key, this model, this kind, where one is named. */
export interface SeriesFilter {
  readonly account: number
  readonly level: UsageLevel
  readonly key?: number | undefined
  readonly model?: string | undefined
  readonly kind?: string | undefined
}

export async function listSeries(
  file: SqliteFile,
  { account, level, key, model, kind }: SeriesFilter,
): Promise<UsageSeries[]> {
  const sql = `SELECT series, key, model, kind, last_at FROM usage_series WHERE account = ? AND level = ?
    ${key === undefined ? '' : 'AND key = ?'} ${model === undefined ? '' : 'AND model = ?'} ${kind === undefined ? '' : 'AND kind = ?'}`
  const named = [key, model, kind].filter((each) => each !== undefined)
  return (await file.all(sql, [account, level, ...named])) as unknown as UsageSeries[]
}

/** What a series had come to before a quarter of an hour. Where it had come to nothing, there is none. */
export interface UsageBefore extends UsageSums {
  readonly series: number
  readonly before: number
}

/** However long a range is, what was used in it is the difference of two rows, and each is found by two steps into the index. */
const BEFORE = `SELECT named.value AS series, ends.value AS before, ${USAGE_SUMS.join(', ')}
  FROM json_each(?) AS named CROSS JOIN json_each(?) AS ends CROSS JOIN usage
    ON usage.series = named.value
    AND usage.quarter = (SELECT MAX(quarter) FROM usage WHERE series = named.value AND quarter < ends.value)`

export const readUsageBefore = async (
  file: SqliteFile,
  series: readonly number[],
  quarters: readonly number[],
): Promise<UsageBefore[]> =>
  (await file.all(BEFORE, [JSON.stringify(series), JSON.stringify(quarters)])) as unknown as UsageBefore[]

const LAST_OF_KEYS = `SELECT usage_series.key AS key, last_at FROM json_each(?2) AS keys
  CROSS JOIN usage_series ON account = ?1 AND level = 'key' AND usage_series.key = keys.value`

/** When a request of each of these keys last ended; none for keys that nobody has used. */
export async function lastUsedOf(
  file: SqliteFile,
  account: number,
  keys: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await file.all(LAST_OF_KEYS, [account, JSON.stringify(keys)])
  return new Map(rows.map((row) => [row.key as number, row.last_at as number]))
}
