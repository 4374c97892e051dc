import type { AccountId } from '../model/ids.ts'
import type { SqliteFile, SqlValue } from '../sqlite/sqlite-file.ts'
import { OWNER_OF } from './owners.ts'
import { type SeriesName, USAGE_SUMS, type UsageLevel, type UsageSums } from './usage-series.ts'

export interface UsageSeries extends Omit<SeriesName, 'level'> {
  readonly series: number
  readonly last_at: number
}

/** Which series of a level: all that are of this key, this model, this kind, where one is named. */
export interface SeriesFilter {
  readonly account: AccountId
  readonly level: UsageLevel
  readonly key?: number | undefined
  readonly model?: string | undefined
  readonly kind?: string | undefined
}

const COLUMNS = 'series, key, model, kind, last_at'

function conditionsOf({ account, level, key, model, kind }: SeriesFilter) {
  const names = Object.entries({ key, model, kind }).filter(([, value]) => value !== undefined) as [string, SqlValue][]
  const sql = [`account = ${OWNER_OF('?')}`, 'level = ?', ...names.map(([name]) => `${name} = ?`)].join(' AND ')
  return { sql, values: [account, level, ...names.map(([, value]) => value)] }
}

/** The one that is whole in a filter: what it does not name is looked at by none of its level. */
export async function findSeries(file: SqliteFile, filter: SeriesFilter): Promise<UsageSeries | undefined> {
  const { sql, values } = conditionsOf(filter)
  const [row] = await file.all<UsageSeries>(`SELECT ${COLUMNS} FROM usage_series WHERE ${sql} LIMIT 1`, values)
  return row
}

/** Those that were used since then, of the newest keys first. */
export function listSeries(
  file: SqliteFile,
  filter: SeriesFilter,
  { since, limit }: { readonly since: number; readonly limit: number },
): Promise<UsageSeries[]> {
  const { sql, values } = conditionsOf(filter)
  const list = `SELECT ${COLUMNS} FROM usage_series WHERE ${sql} AND last_at >= ?
    ORDER BY key DESC, model DESC, kind DESC LIMIT ?`
  return file.all<UsageSeries>(list, [...values, since, limit])
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

export const readUsageBefore = (
  file: SqliteFile,
  series: readonly number[],
  quarters: readonly number[],
): Promise<UsageBefore[]> => file.all<UsageBefore>(BEFORE, [JSON.stringify(series), JSON.stringify(quarters)])

const LAST_OF_KEYS = `SELECT usage_series.key AS key, last_at FROM json_each(?2) AS keys
  CROSS JOIN usage_series ON account = ${OWNER_OF('?1')} AND level = 'key' AND usage_series.key = keys.value`

/** When a request of each of these keys last ended; none for keys that nobody has used. */
export async function lastUsedOf(
  file: SqliteFile,
  account: AccountId,
  keys: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await file.all<{ key: number; last_at: number }>(LAST_OF_KEYS, [account, JSON.stringify(keys)])
  return new Map(rows.map((row) => [row.key, row.last_at]))
}
