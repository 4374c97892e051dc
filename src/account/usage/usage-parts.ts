import { listSeries, type UsageSeries } from '../../content/read-usage.ts'
import type { UsageSums } from '../../content/usage-series.ts'
import type { SqliteFile } from '../../sqlite/sqlite-file.ts'
import { listKeyNames } from '../../store/keys.ts'
import type { LedgerDb } from '../../store/tables.ts'
import type { UsageArgs, UsageScope } from './usage-scope.ts'
import { moneyOf, NO_USAGE, usedBetween } from './used-between.ts'

/** One of those that a range is divided into, and what was used of it. */
export interface UsagePart {
  readonly series: number
  readonly id: string
  readonly name: string
  readonly used: UsageSums
}

export interface UsageParts {
  readonly parts: readonly UsagePart[]
  /** Otherwise some are left out, and the parts come to less than the whole. */
  readonly areAll: boolean
}

export interface UsagePartsDeps {
  readonly db: LedgerDb
  readonly content: SqliteFile
  /** So many are looked at for a report: whoever makes more keys than that sees the newest of them one by one. */
  readonly partsMax?: number
}

/** The thread that answers also records every settle. */
const NAMES_AT_ONCE = 1000

const PARTS_MAX = 5000

/** What something was used of, the largest by money first, then by requests. */
export async function listUsageParts(
  { db, content, partsMax = PARTS_MAX }: UsagePartsDeps,
  { parts, range }: UsageScope,
  by: UsageArgs['by'],
): Promise<UsageParts> {
  const found = await listSeries(content, parts, { since: range.from, limit: partsMax + 1 })
  const listed = found.slice(0, partsMax)
  const ids = listed.map(({ series }) => series)
  const used = await usedBetween(content, ids, [range.from, range.to])
  const inUse = listed
    .map((series) => ({ series, used: used.get(series.series)?.[0] ?? NO_USAGE }))
    .filter((each) => each.used.requests > 0)
  const names =
    by === 'key'
      ? await namesOfKeys(
          db,
          inUse.map(({ series }) => series.key),
        )
      : undefined
  const named = inUse.map((each) => ({
    series: each.series.series,
    used: each.used,
    ...nameOf(each.series, by, names),
  }))
  return { parts: named.sort(largestFirst), areAll: listed.length === found.length }
}

type Named = Pick<UsagePart, 'id' | 'name'>

function nameOf({ key, model, kind }: UsageSeries, by: UsageArgs['by'], keys?: ReadonlyMap<number, Named>): Named {
  if (by === 'key') return keys?.get(key) ?? { id: `key ${key}`, name: `key ${key}` }
  const name = by === 'model' ? model : kind
  return { id: name, name }
}

async function namesOfKeys(db: LedgerDb, rows: readonly number[]): Promise<ReadonlyMap<number, Named>> {
  const names = new Map<number, Named>()
  for (let from = 0; from < rows.length; from += NAMES_AT_ONCE) {
    const keys = await listKeyNames(db, rows.slice(from, from + NAMES_AT_ONCE))
    for (const { row, id, name } of keys) names.set(row, { id, name })
  }
  return names
}

function largestFirst(first: UsagePart, second: UsagePart): number {
  const money = moneyOf(second.used) - moneyOf(first.used)
  if (money !== 0n) return money > 0n ? 1 : -1
  return second.used.requests - first.used.requests || (first.id < second.id ? -1 : 1)
}
