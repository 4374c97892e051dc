import type { AccountId } from '../model/ids.ts'
import type { AtomicStatement, SqliteFile, SqlValue } from '../sqlite/sqlite-file.ts'
import { findOwner, insertOwners, OWNER_OF, type OwnerRow } from './owners.ts'
import {
  addSums,
  type ClosedUsage,
  type SeriesUsage,
  type Sums,
  sumBySeries,
  USAGE_AMOUNTS,
  USAGE_COUNTS,
  USAGE_SUMS,
  type UsageSums,
} from './usage-series.ts'

/** How far an account is counted: the number of the last receipt, 0 for none, and when that closed. */
export interface CountedUpTo {
  readonly movement: number
  readonly closedAt: number
}

/** What the receipts between two of them come to. */
export interface CountedSlice {
  readonly account: AccountId
  readonly from: CountedUpTo
  readonly to: CountedUpTo
}

interface CountedAccount extends CountedUpTo {
  readonly account: AccountId
}

const FIND_UPTO = `SELECT owners.id AS account, movement, closed_at AS closedAt FROM json_each(?) list
  CROSS JOIN owners ON owners.id = list.value CROSS JOIN usage_upto ON usage_upto.account = owners.owner`

/** Only accounts of which something is counted. */
export async function findCountedUpTo(
  file: SqliteFile,
  accounts: readonly AccountId[],
): Promise<ReadonlyMap<AccountId, CountedUpTo>> {
  const rows = await file.all<CountedAccount>(FIND_UPTO, [JSON.stringify(accounts)])
  return new Map(rows.map(({ account, ...upTo }) => [account, upTo]))
}

const LIST_UPTO = `SELECT usage_upto.account AS owner, owners.id AS account, movement, closed_at AS closedAt
  FROM usage_upto CROSS JOIN owners ON owners.owner = usage_upto.account
  WHERE usage_upto.account > ? ORDER BY usage_upto.account LIMIT ?`

/** All accounts of which something is counted, in pages; whether the ledger still has them is not known here. */
export const listCountedUpTo = (
  file: SqliteFile,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<(CountedAccount & { readonly owner: OwnerRow })[]> => file.all(LIST_UPTO, [after, limit])

const COLUMNS = USAGE_SUMS.join(', ')

/** A series that is there, by its place among those that are asked for. */
type NewestRow = { readonly place: number; readonly series: number } & (
  | ({ readonly quarter: number } & UsageSums)
  | { readonly quarter: null }
)

/** The series that are there, as they are named, with the newest row of each. */
const FIND_NEWEST = `SELECT list.key AS place, usage_series.series AS series, quarter, ${COLUMNS}
  FROM json_each(?) AS list
  CROSS JOIN owners ON owners.id = list.value ->> 0
  CROSS JOIN usage_series ON account = owners.owner AND level = list.value ->> 1 AND usage_series.key = list.value ->> 2
    AND model = list.value ->> 3 AND kind = list.value ->> 4
  LEFT JOIN usage ON usage.series = usage_series.series
    AND quarter = (SELECT MAX(quarter) FROM usage WHERE usage.series = usage_series.series)`

const NAME_SERIES = `INSERT INTO usage_series (series, account, level, key, model, kind, last_at) VALUES (?1, ${OWNER_OF('?2')}, ?3, ?4, ?5, ?6, ?7)
  ON CONFLICT (series) DO UPDATE SET last_at = MAX(last_at, excluded.last_at)`

const VALUES = `(?, ?, ${USAGE_SUMS.map(() => '?').join(', ')})`
const SET_TOTAL = `INSERT INTO usage (series, quarter, ${COLUMNS}) VALUES ${VALUES}
  ON CONFLICT (series, quarter) DO UPDATE SET ${USAGE_SUMS.map((sum) => `${sum} = excluded.${sum}`).join(', ')}`

/** A quarter of an hour begins with what its series had come to before it. */
const BEGIN_LATE = `INSERT INTO usage (series, quarter, ${COLUMNS})
  SELECT ?1, ?2, ${USAGE_SUMS.map((sum) => `COALESCE(before.${sum}, 0)`).join(', ')}
    FROM (SELECT 1) AS one LEFT JOIN usage AS before ON before.series = ?1
      AND before.quarter = (SELECT MAX(quarter) FROM usage WHERE series = ?1 AND quarter <= ?2)
    WHERE TRUE
  ON CONFLICT DO NOTHING`
const ADD_LATE = `UPDATE usage SET ${USAGE_SUMS.map((sum, index) => `${sum} = ${sum} + ?${index + 3}`).join(', ')}
  WHERE series = ?1 AND quarter >= ?2`

const BEGIN_ACCOUNT = `INSERT INTO usage_upto (account, movement, closed_at) VALUES (${OWNER_OF('?')}, 0, 0)
  ON CONFLICT DO NOTHING`
const GO_ON = `UPDATE usage_upto SET movement = ?, closed_at = ? WHERE account = ${OWNER_OF('?')} AND movement = ?`

/**
 * Adds what has closed, and says in the same step how far that goes. Whoever comes with a slice that does not go on from
 * where the file is has counted something twice or left something out: nothing of it is done, and it throws. As the rows of
 * an account change in no other way, what is read here before is still so when it is added to.
 */
export async function addUsage(
  file: SqliteFile,
  slices: readonly CountedSlice[],
  closed: readonly ClosedUsage[],
): Promise<void> {
  const usage = sumBySeries(closed)
  const totals = await continueTotals(file, usage)
  const late = totals.flatMap((series) => series.late)
  const statements: AtomicStatement[] = [
    insertOwners(slices.map(({ account }) => account)),
    { sql: BEGIN_ACCOUNT, rows: slices.map(({ account }) => [account]) },
    {
      sql: GO_ON,
      rows: slices.map(({ account, from, to }) => [to.movement, to.closedAt, account, from.movement]),
      expectChanges: 1,
    },
    { sql: NAME_SERIES, rows: totals.map(({ named }) => named) },
    { sql: SET_TOTAL, several: { sql: SET_TOTAL, each: VALUES }, rows: totals.flatMap(({ rows }) => rows) },
    { sql: BEGIN_LATE, rows: late.map(([series, quarter]) => [series!, quarter!]) },
    { sql: ADD_LATE, rows: late },
  ]
  await file.atomic(statements)
}

interface SeriesTotals {
  /** A row of `usage_series`. */
  readonly named: SqlValue[]
  /** Of its newest quarter, and of those that come now. */
  readonly rows: SqlValue[][]
  /** What closed in a quarter before its newest one, should a clock ever have been wrong: every later row gets as much more. */
  readonly late: SqlValue[][]
}

async function continueTotals(file: SqliteFile, usage: readonly SeriesUsage[]): Promise<SeriesTotals[]> {
  const names = usage.map(({ account, name: { level, key, model, kind } }) => [account, level, key, model, kind])
  const newest = await file.all<NewestRow>(FIND_NEWEST, [JSON.stringify(names)])
  const found = new Map(newest.map((row) => [row.place, row]))
  let last = found.size < usage.length ? await findLastSeries(file) : 0
  return usage.map((series, place) => {
    const row = found.get(place)
    const id = row?.series ?? ++last
    const named = [id, ...names[place]!, series.lastAt]
    let total: Sums = row === undefined || row.quarter === null ? NOTHING_USED : USAGE_SUMS.map((sum) => row[sum])
    const since = row?.quarter ?? 0
    const rows = series.quarters
      .filter(({ quarter }) => quarter >= since)
      .map(({ quarter, sums }) => {
        total = addSums(total, sums)
        return [id, quarter, ...total]
      })
    const late = series.quarters.filter(({ quarter }) => quarter < since)
    return { named, rows, late: late.map(({ quarter, sums }) => [id, quarter, ...sums]) }
  })
}

/** The number that was given last; 0 where there is none. */
async function findLastSeries(file: SqliteFile): Promise<number> {
  const [row] = await file.all<{ last: number | null }>('SELECT MAX(series) AS last FROM usage_series', [])
  return row?.last ?? 0
}

const NOTHING_USED: Sums = [...USAGE_COUNTS.map(() => 0), ...USAGE_AMOUNTS.map(() => 0n)]

const SERIES_OF = 'SELECT series FROM usage_series WHERE account = ? ORDER BY series'

/** So that it can be counted from the first receipt. Series by series, so that nobody waits behind all of them. */
export async function forgetUsage(file: SqliteFile, account: AccountId): Promise<void> {
  const owner = await findOwner(file, account)
  if (owner === undefined) return
  // No receipt closed then: should this end in its middle, the rest is foreign to any books that are put back.
  await file.atomic([{ sql: 'UPDATE usage_upto SET closed_at = -1 WHERE account = ?', rows: [[owner]] }])
  for (const { series } of await file.all<{ series: number }>(SERIES_OF, [owner])) {
    await file.atomic([{ sql: 'DELETE FROM usage WHERE series = ?', rows: [[series]] }])
  }
  // Last, because one that is not whole has to be found again.
  await file.atomic([
    { sql: 'DELETE FROM usage_series WHERE account = ?', rows: [[owner]] },
    { sql: 'DELETE FROM usage_upto WHERE account = ?', rows: [[owner]] },
  ])
}
