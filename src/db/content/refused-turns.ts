import type { KeyKind } from '../../model/caller.ts'
import type { ProblemCode } from '../../model/problem.ts'
import type { SqlStore } from '../sql-store.ts'

/** Turns of one key refused for the same reason in a quarter of an hour. */
export interface RefusedTurns {
  readonly account: string
  readonly key: string
  readonly kind: KeyKind
  readonly code: ProblemCode
  /** Quarters since 1970. */
  readonly quarter: number
  readonly count: number
}

const ANY_KEY = ''

/** The update changes nothing. With several nodes it makes the second one wait, and then see what the first has added. */
const NAME = `INSERT INTO refused_series (account, key, kind, code) VALUES (?, ?, ?, ?)
  ON CONFLICT (account, key, kind, code) DO UPDATE SET code = excluded.code`
const SERIES = '(SELECT series FROM refused_series WHERE account = ?1 AND key = ?2 AND kind = ?3 AND code = ?4)'
/** A quarter begins with the total of its series before it. */
const BEGIN = `INSERT INTO refused_turns (series, quarter, total)
  SELECT named.series, ?5, COALESCE((SELECT total FROM refused_turns AS earlier
      WHERE earlier.series = named.series AND earlier.quarter <= ?5 ORDER BY earlier.quarter DESC LIMIT 1), 0)
    FROM (SELECT ${SERIES} AS series) AS named WHERE TRUE
  ON CONFLICT DO NOTHING`
/** Also adds to later quarters, which exist if a clock was wrong. */
const ADD = `UPDATE refused_turns SET total = total + ?6 WHERE series = ${SERIES} AND quarter >= ?5`

/** Each turn counts for its key and for all keys of its kind. */
export async function addRefusedTurns(file: SqlStore, refused: readonly RefusedTurns[]): Promise<void> {
  // In one order, so that two nodes do not wait for each other.
  const names = refused
    .flatMap(({ account, key, kind, code, quarter, count }) =>
      [ANY_KEY, key].map((of) => ({ name: [account, of, kind, code], quarter, count })),
    )
    .sort((a, b) => (a.name.join() < b.name.join() ? -1 : 1))
  await file.atomic([
    { sql: NAME, rows: names.map(({ name }) => name) },
    { sql: BEGIN, rows: names.map(({ name, quarter }) => [...name, quarter]) },
    { sql: ADD, rows: names.map(({ name, quarter, count }) => [...name, quarter, count]) },
  ])
}

/** Series handled in one commit, so that reads do not wait for more. */
const SERIES_AT_ONCE = 200

const NAMES = 'SELECT series FROM refused_series WHERE series > ? ORDER BY series LIMIT ?'
/** The last quarter before stays, because later usage is the difference to it. */
const FORGET_EARLIER = `DELETE FROM refused_turns WHERE series = ?1 AND quarter <
  (SELECT MAX(quarter) FROM refused_turns WHERE series = ?1 AND quarter < ?2)`
const FORGET_PAST = `DELETE FROM refused_turns WHERE series = ?1 AND NOT EXISTS
  (SELECT 1 FROM refused_turns AS later WHERE later.series = ?1 AND later.quarter >= ?2)`
const FORGET_NAME = `DELETE FROM refused_series WHERE series = ?1 AND NOT EXISTS
  (SELECT 1 FROM refused_turns WHERE series = ?1)`

/** Deletes the details before a quarter. Later totals do not change. */
export async function forgetRefusedTurns(file: SqlStore, before: number): Promise<void> {
  for (let after = 0; ; ) {
    const named = await file.all<{ series: number }>(NAMES, [after, SERIES_AT_ONCE])
    const series = named.map((row) => row.series)
    if (series.length === 0) return
    const rows = series.map((each) => [each, before])
    await file.atomic([
      { sql: FORGET_EARLIER, rows },
      { sql: FORGET_PAST, rows },
      { sql: FORGET_NAME, rows: series.map((each) => [each]) },
    ])
    after = series.at(-1)!
  }
}

export interface RefusedFilter {
  readonly account: string
  /** Ids of keys; all without it. */
  readonly keys?: readonly string[] | undefined
  readonly kind?: KeyKind | undefined
}

/** The total of a reason before a quarter of an hour; absent where it is zero. */
interface RefusedBefore {
  readonly code: ProblemCode
  readonly before: number
  readonly total: number
}

const BEFORE = `SELECT code, CAST(ends.value AS BIGINT) AS before, SUM(total) AS total
  FROM refused_series CROSS JOIN json_each(?1) AS ends CROSS JOIN refused_turns
    ON refused_turns.series = refused_series.series AND refused_turns.quarter =
      (SELECT MAX(quarter) FROM refused_turns WHERE series = refused_series.series AND quarter < CAST(ends.value AS BIGINT))
  WHERE account = ?2 AND refused_series.key IN (SELECT value FROM json_each(?3)) AND kind IN (SELECT value FROM json_each(?4))
  GROUP BY code, ends.value`

const KINDS: readonly KeyKind[] = ['wallet', 'builder']

export function readRefusedBefore(
  file: SqlStore,
  { account, keys = [ANY_KEY], kind }: RefusedFilter,
  quarters: readonly number[],
): Promise<RefusedBefore[]> {
  const kinds = JSON.stringify(kind === undefined ? KINDS : [kind])
  return file.all<RefusedBefore>(BEFORE, [JSON.stringify(quarters), account, JSON.stringify(keys), kinds])
}
