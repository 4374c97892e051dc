import type { KeyKind } from '../../model/caller.ts'
import type { AccountId } from '../../model/ids.ts'
import { RUN_TAG } from '../../model/run.ts'
import { type AtomicStatement, changeRows, findRow, type SqlStore, type SqlValue } from '../sql-store.ts'
import { findOwner, insertOwners, OWNER_OF, type OwnerRow } from './sealing.ts'

/** The key, model and kind of a series. A key has one kind, so its series name both. */
interface SeriesName {
  readonly level: UsageLevel
  /** 0: any. */
  readonly key: number
  /**
   * Empty: any. Of the levels with tags a tag (`repo:millrace`), those beyond what is counted (`repo:`), or all of a name (`repo`); also
   * the owners of keys (`:team:3`).
   */
  readonly model: string
  readonly kind: KeyKind | ''
}

type UsageLevel = 'all' | 'kind' | 'model' | 'kind+model' | 'key' | 'key+model' | TagLevel
type TagLevel = 'tag' | 'kind+tag' | 'key+tag'

/** Every series that a request with these counts in. */
export const seriesOf = (of: {
  readonly key: number
  readonly model: string
  readonly kind: KeyKind
  readonly counted?: readonly string[]
  readonly person?: number | null
  readonly team?: number | null
}): SeriesName[] => {
  const all = { key: 0, model: '', kind: '' } as const
  const { key, model, kind, counted = [] } = of
  return [
    ...ownersOf(of).map((owner): SeriesName => ({ ...all, level: 'tag', model: owner })),
    ...counted.flatMap((tag): SeriesName[] => [
      { ...all, level: 'tag', model: tag },
      { ...all, level: 'kind+tag', kind, model: tag },
      { level: 'key+tag', key, kind, model: tag },
    ]),
    { ...all, level: 'all' },
    { ...all, level: 'kind', kind },
    { ...all, level: 'model', model },
    { ...all, level: 'kind+model', kind, model },
    { ...all, level: 'key', key, kind },
    { level: 'key+model', key, model, kind },
  ]
}

/** Every request that was counted with the owner of its key: a range in which these are all has all of its people and teams. */
export const COUNTED_WITH_OWNER = ':'
/** The name of the series of people or of teams. Tags of clients begin with a letter. */
export const ownerName = (of: 'person' | 'team') => `:${of}`

/** A key belongs to one person and one team for life. */
function ownersOf(of: { readonly person?: number | null; readonly team?: number | null }): string[] {
  if (of.person === undefined) return []
  const named = (['person', 'team'] as const).flatMap((owner) =>
    of[owner] == null ? [] : [ownerName(owner), `${ownerName(owner)}:${of[owner]}`],
  )
  return [COUNTED_WITH_OWNER, ...named]
}

/** The level whose series distinguish what is filtered by. A key implies its kind. */
export function levelOf(by: { key: boolean; model: boolean; kind: boolean; tag?: boolean }): UsageLevel {
  const { key, model, kind, tag = false } = by
  if (tag) return key ? 'key+tag' : kind ? 'kind+tag' : 'tag'
  if (key) return model ? 'key+model' : 'key'
  if (kind) return model ? 'kind+model' : 'kind'
  return model ? 'model' : 'all'
}

export const USAGE_COUNTS = [
  ...(['requests', 'failed', 'uncached_input', 'cached_input', 'cache_write', 'output', 'reasoning'] as const),
] as const
export const USAGE_AMOUNTS = ['wallet_nano', 'plan_nano'] as const

/** The columns of `usage` beside series and quarter. */
export const USAGE_SUMS = [...USAGE_COUNTS, ...USAGE_AMOUNTS]

export type UsageSums = Readonly<Record<(typeof USAGE_COUNTS)[number], number>> &
  Readonly<Record<(typeof USAGE_AMOUNTS)[number], bigint>>

/** Receipts of one account, key, model and set of tags that closed in one quarter of an hour. */
export interface ClosedUsage extends UsageSums {
  readonly account: AccountId
  /** Quarters since 1970. */
  readonly quarter: number
  readonly key: number
  readonly model: string
  readonly kind: KeyKind
  /** As the receipt has them. */
  readonly tags?: string | null
  /** Of the key. Without them they are not counted. */
  readonly person?: number | null
  readonly team?: number | null
  readonly last_at: number
}

/** Counts and amounts in the order of `USAGE_SUMS`. */
type Sums = readonly (number | bigint)[]

/** New usage of a series, by quarters of an hour in their order. */
interface SeriesUsage {
  readonly account: AccountId
  readonly name: SeriesName
  readonly quarters: { readonly quarter: number; sums: Sums }[]
  lastAt: number
}

/** Every request counts in one series of each level. */
function sumBySeries(closed: readonly (ClosedUsage & { readonly counted?: readonly string[] })[]): SeriesUsage[] {
  const all = new Map<string, SeriesUsage>()
  for (const usage of [...closed].sort((first, second) => first.quarter - second.quarter)) {
    const { account, quarter, last_at } = usage
    const sums = USAGE_SUMS.map((sum) => usage[sum])
    for (const name of seriesOf(usage)) {
      const id = `${account} ${name.level} ${name.key} ${name.kind} ${name.model}`
      const series = all.get(id) ?? { account, name, quarters: [], lastAt: 0 }
      all.set(id, series)
      series.lastAt = Math.max(series.lastAt, last_at)
      const last = series.quarters.at(-1)
      if (last?.quarter === quarter) last.sums = addSums(last.sums, sums)
      else series.quarters.push({ quarter, sums })
    }
  }
  return [...all.values()]
}

const addSums = (first: Sums, second: Sums): Sums =>
  // Each place has the same type in both.
  first.map((sum, index) => ((sum as number) + (second[index] as number)) as number)

/** Tags of an account, and runs of it, that begin to be counted in one day of UTC. What has been counted before goes on. */
export const NEW_TAGS_A_DAY = 500
const QUARTERS_A_DAY = 96

const FIND_TAGS = `SELECT owners.id AS account, usage_series.model AS tag FROM json_each(?) AS list
  CROSS JOIN owners ON owners.id = list.value ->> 0
  CROSS JOIN usage_series ON account = owners.owner AND level = 'tag' AND usage_series.key = 0 AND model = list.value ->> 1 AND kind = ''`
const COUNT_TAGS = `SELECT COUNT(*) AS tags FROM (SELECT 1 FROM usage_series
  WHERE account = ${OWNER_OF('?')} AND level = 'tag' AND last_at >= ?
    AND CASE WHEN substr(model, 1, ${RUN_TAG.length + 1}) = '${RUN_TAG}:' THEN 1 ELSE 0 END = ?
    AND instr(model, ':') BETWEEN 2 AND length(model) - 1 LIMIT ${NEW_TAGS_A_DAY}) AS used`

/**
 * Names the series of each receipt's tags. Clients choose their tags, so each account has a bound: beyond it a new value counts among the
 * others of its name, and a new name is not counted. Runs have a bound of their own, because each of them is a new value.
 */
async function withCountedTags(file: SqlStore, closed: readonly ClosedUsage[]) {
  if (!closed.some(({ tags }) => tags != null)) return closed
  const read = [...closed]
    .sort((first, second) => first.quarter - second.quarter)
    .map((usage) => ({ usage, tags: usage.tags == null ? [] : (JSON.parse(usage.tags) as string[]) }))
  const asked = new Map(
    read.flatMap(({ usage: { account }, tags }) =>
      tags.flatMap((tag) => [tag, nameOfTag(tag)].map((name) => [`${account} ${name}`, [account, name]] as const)),
    ),
  )
  const rows = await file.all<{ account: string; tag: string }>(FIND_TAGS, [JSON.stringify([...asked.values()])])
  const known = new Set(rows.map(({ account, tag }) => `${account} ${tag}`))
  /** By account, day, and whether it is a run. */
  const used = new Map<string, number>()
  const mayBegin = async (account: AccountId, quarter: number, name: string): Promise<boolean> => {
    const day = Math.floor(quarter / QUARTERS_A_DAY)
    const ofRuns = name === RUN_TAG ? 1 : 0
    const id = `${account} ${day} ${ofRuns}`
    const found =
      used.get(id) ?? (await file.all<{ tags: number }>(COUNT_TAGS, [account, day * DAY_MS, ofRuns]))[0]!.tags
    used.set(id, found + 1)
    return found < NEW_TAGS_A_DAY
  }
  const named = []
  for (const { usage, tags } of read) {
    const counted: string[] = []
    for (const tag of tags) {
      const name = nameOfTag(tag)
      const [ofTag, ofName] = [`${usage.account} ${tag}`, `${usage.account} ${name}`]
      const isNew = !known.has(ofTag)
      const isCounted = !isNew || (await mayBegin(usage.account, usage.quarter, name))
      if (isCounted) known.add(ofTag).add(ofName)
      if (known.has(ofName)) counted.push(name, isCounted ? tag : `${name}:`)
    }
    named.push({ ...usage, counted })
  }
  return named
}

const DAY_MS = 86_400_000
const nameOfTag = (tag: string): string => tag.slice(0, tag.indexOf(':'))

/** How far an account is counted: the movement of the last receipt, 0 for none, and when that closed. */
export interface CountedUpTo {
  readonly movement: number
  readonly closedAt: number
}

interface CountedAccount extends CountedUpTo {
  readonly account: AccountId
}

const FIND_UPTO = `SELECT owners.id AS account, movement, closed_at AS "closedAt" FROM json_each(?) list
  CROSS JOIN owners ON owners.id = list.value CROSS JOIN usage_upto ON usage_upto.account = owners.owner`

export async function findCountedUpTo(
  file: SqlStore,
  accounts: readonly AccountId[],
): Promise<ReadonlyMap<AccountId, CountedUpTo>> {
  const rows = await file.all<CountedAccount>(FIND_UPTO, [JSON.stringify(accounts)])
  return new Map(rows.map(({ account, ...upTo }) => [account, upTo]))
}

const LIST_UPTO = `SELECT usage_upto.account AS owner, owners.id AS account, movement, closed_at AS "closedAt"
  FROM usage_upto CROSS JOIN owners ON owners.owner = usage_upto.account
  WHERE usage_upto.account > ? ORDER BY usage_upto.account LIMIT ?`

/** In pages. The ledger may no longer have these accounts. */
export const listCountedUpTo = (
  file: SqlStore,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<(CountedAccount & { readonly owner: OwnerRow })[]> => file.all(LIST_UPTO, [after, limit])

const COLUMNS = USAGE_SUMS.join(', ')

/** An existing series, by its place among the requested ones. */
type NewestRow = { readonly place: number; readonly series: number } & (
  | ({ readonly quarter: number } & UsageSums)
  | { readonly quarter: null }
)

/** The existing series, with the newest row of each. */
const FIND_NEWEST = `SELECT list.key AS place, usage_series.series AS series, quarter, ${COLUMNS}
  FROM json_each(?) AS list
  CROSS JOIN owners ON owners.id = list.value ->> 0
  CROSS JOIN usage_series ON account = owners.owner AND level = list.value ->> 1 AND usage_series.key = CAST(list.value ->> 2 AS BIGINT)
    AND model = list.value ->> 3 AND kind = list.value ->> 4
  LEFT JOIN usage ON usage.series = usage_series.series
    AND quarter = (SELECT MAX(quarter) FROM usage WHERE usage.series = usage_series.series)`

const NAME_SERIES = `INSERT INTO usage_series (series, account, level, key, model, kind, last_at) VALUES (?1, ${OWNER_OF('?2')}, ?3, ?4, ?5, ?6, ?7)
  ON CONFLICT (series) DO UPDATE SET
    last_at = CASE WHEN usage_series.last_at > excluded.last_at THEN usage_series.last_at ELSE excluded.last_at END
  WHERE usage_series.account = excluded.account AND usage_series.level = excluded.level
    AND usage_series.key = excluded.key AND usage_series.model = excluded.model AND usage_series.kind = excluded.kind`

const VALUES = `(?, ?, ${USAGE_SUMS.map(() => '?').join(', ')})`
const SET_TOTAL = `INSERT INTO usage (series, quarter, ${COLUMNS}) VALUES ${VALUES}
  ON CONFLICT (series, quarter) DO UPDATE SET ${USAGE_SUMS.map((sum) => `${sum} = excluded.${sum}`).join(', ')}`

/** A quarter begins with the total of its series before it. */
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
 * Adds closed receipts and how far they are counted, in one commit. Throws, and changes nothing, if a slice does not continue
 * where the file is, because it would count receipts twice or skip some. The rows of an account change in no other way, so
 * what is read here first is unchanged at the commit.
 */
export async function addUsage(
  file: SqlStore,
  slices: readonly { readonly account: AccountId; readonly from: CountedUpTo; readonly to: CountedUpTo }[],
  closed: readonly ClosedUsage[],
): Promise<void> {
  const usage = sumBySeries(await withCountedTags(file, closed))
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
    // Another node may have given the number to another series meanwhile; then nothing is counted.
    { sql: NAME_SERIES, rows: totals.map(({ named }) => named), expectChanges: 1 },
    { sql: SET_TOTAL, several: { sql: SET_TOTAL, each: VALUES }, rows: totals.flatMap(({ rows }) => rows) },
    { sql: BEGIN_LATE, rows: late.map(([series, quarter]) => [series!, quarter!]) },
    { sql: ADD_LATE, rows: late },
  ]
  await file.atomic(statements)
}

/**
 * For each series its row of `usage_series`, the rows of its newest quarter and new ones, and usage before its newest
 * quarter, if a clock was wrong: that is added to every later row.
 */
async function continueTotals(file: SqlStore, usage: readonly SeriesUsage[]) {
  const names = usage.map(({ account, name: { level, key, model, kind } }) => [account, level, key, model, kind])
  const newest = await file.all<NewestRow>(FIND_NEWEST, [JSON.stringify(names)])
  const found = new Map(newest.map((row) => [row.place, row]))
  let last = found.size < usage.length ? (await findRow<{ last: number }>(file, LAST_SERIES))!.last : 0
  return usage.map((series, place) => {
    const row = found.get(place)
    const id = row?.series ?? ++last
    const named: SqlValue[] = [id, ...names[place]!, series.lastAt]
    let total: Sums = row === undefined || row.quarter === null ? NOTHING_USED : USAGE_SUMS.map((sum) => row[sum])
    const since = row?.quarter ?? 0
    const rows = series.quarters
      .filter(({ quarter }) => quarter >= since)
      .map(({ quarter, sums }) => {
        total = addSums(total, sums)
        return [id, quarter, ...total] satisfies SqlValue[]
      })
    const late = series.quarters.filter(({ quarter }) => quarter < since)
    return { named, rows, late: late.map(({ quarter, sums }): SqlValue[] => [id, quarter, ...sums]) }
  })
}

const LAST_SERIES = 'SELECT COALESCE(MAX(series), 0) AS last FROM usage_series'

const NOTHING_USED: Sums = [...USAGE_COUNTS.map(() => 0), ...USAGE_AMOUNTS.map(() => 0n)]

const SERIES_OF = 'SELECT series FROM usage_series WHERE account = ? ORDER BY series'

/** Deletes an account's usage to count it again. Series by series, so that reads do not wait for all of them. */
export async function forgetUsage(file: SqlStore, account: AccountId): Promise<void> {
  const owner = await findOwner(file, account)
  if (owner === undefined) return
  // No receipt closed at -1: if this stops halfway, the rest fits no ledger.
  await changeRows(file, 'UPDATE usage_upto SET closed_at = -1 WHERE account = ?', [owner])
  for (const { series } of await file.all<{ series: number }>(SERIES_OF, [owner])) {
    await changeRows(file, 'DELETE FROM usage WHERE series = ?', [series])
  }
  // Last, so that an interrupted deletion is found again.
  await file.atomic([
    { sql: 'DELETE FROM usage_series WHERE account = ?', rows: [[owner]] },
    { sql: 'DELETE FROM usage_upto WHERE account = ?', rows: [[owner]] },
  ])
}

export interface UsageSeries extends Omit<SeriesName, 'level'> {
  readonly series: number
  readonly last_at: number
}

/** The series of a level with this key, model and kind, where given. */
export interface SeriesFilter {
  readonly account: AccountId
  readonly level: UsageLevel
  /** Rows of keys; all without them. */
  readonly keys?: readonly number[] | undefined
  readonly model?: string | undefined
  readonly kind?: string | undefined
  /** Of the levels with tags: the values of this name. */
  readonly tagName?: string | undefined
}

const SERIES_COLUMNS = 'series, key, model, kind, last_at'

function conditionsOf({ account, level, keys, model, kind, tagName }: SeriesFilter) {
  const names = Object.entries({ model, kind }).filter(([, value]) => value !== undefined) as [string, SqlValue][]
  const ofKeys = keys === undefined ? [] : ['key IN (SELECT CAST(value AS BIGINT) FROM json_each(?))']
  const ofTags = tagName === undefined ? [] : [`substr(model, 1, ${tagName.length + 1}) = ?`]
  const conditions = [
    `account = ${OWNER_OF('?')}`,
    'level = ?',
    ...ofKeys,
    ...ofTags,
    ...names.map(([name]) => `${name} = ?`),
  ]
  const list = keys === undefined ? [] : [JSON.stringify(keys)]
  return {
    sql: conditions.join(' AND '),
    values: [
      account,
      level,
      ...list,
      ...(tagName === undefined ? [] : [`${tagName}:`]),
      ...names.map(([, value]) => value),
    ],
  }
}

/** Series used since then, newest keys first. */
export function listSeries(
  file: SqlStore,
  filter: SeriesFilter,
  { since, limit }: { readonly since: number; readonly limit: number },
): Promise<UsageSeries[]> {
  const { sql, values } = conditionsOf(filter)
  const list = `SELECT ${SERIES_COLUMNS} FROM usage_series WHERE ${sql} AND last_at >= ?
    ORDER BY key DESC, model DESC, kind DESC LIMIT ?`
  return file.all<UsageSeries>(list, [...values, since, limit])
}

/** The total of a series before a quarter of an hour; absent where it is zero. */
interface UsageBefore extends UsageSums {
  readonly series: number
  readonly before: number
}

/** The usage of any range is the difference of two rows, each found by two index lookups. */
const BEFORE = `SELECT usage.series AS series, CAST(ends.value AS BIGINT) AS before, ${USAGE_SUMS.join(', ')}
  FROM json_each(?) AS named CROSS JOIN json_each(?) AS ends CROSS JOIN usage
    ON usage.series = CAST(named.value AS BIGINT)
    AND usage.quarter = (SELECT MAX(quarter) FROM usage WHERE series = CAST(named.value AS BIGINT) AND quarter < CAST(ends.value AS BIGINT))`

export const readUsageBefore = (
  file: SqlStore,
  series: readonly number[],
  quarters: readonly number[],
): Promise<UsageBefore[]> => file.all<UsageBefore>(BEFORE, [JSON.stringify(series), JSON.stringify(quarters)])

const LAST_OF_KEYS = `SELECT usage_series.key AS key, last_at FROM json_each(?2) AS keys
  CROSS JOIN usage_series ON account = ${OWNER_OF('?1')} AND level = 'key' AND usage_series.key = CAST(keys.value AS BIGINT)`

/** When the last request of each of these keys ended; absent for unused keys. */
export async function lastUsedOf(
  file: SqlStore,
  account: AccountId,
  keys: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await file.all<{ key: number; last_at: number }>(LAST_OF_KEYS, [account, JSON.stringify(keys)])
  return new Map(rows.map((row) => [row.key, row.last_at]))
}
